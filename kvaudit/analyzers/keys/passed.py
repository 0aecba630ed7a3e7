"""What a cache is told of a request, and leaves out of the key.

``get(prompt, model)`` of a cache that makes its key of the prompt alone: the model was there to be
put in, and another model's answer is found. No call of a model need stand beside it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvaudit.analyzers.keys.answers import File
from kvaudit.analyzers.keys.entries import fills
from kvaudit.analyzers.keys.instances import parted_by_model
from kvaudit.analyzers.keys.kept import kept_under
from kvaudit.analyzers.keys.lookups import key_words, lookups_of, makers, model_calls
from kvaudit.analyzers.keys.proof import uses
from kvaudit.analyzers.keys.scopes import Scope, core
from kvaudit.analyzers.keys.seen import seen_at, short
from kvaudit.analyzers.keys.vocabulary import CONTEXT, MODEL, PARAMETERS, PROMPT, TEXT, WHOLE
from kvaudit.analyzers.keys.whole import is_whole
from kvaudit.analyzers.naming import snake_case
from kvaudit.core.document import Observation
from kvaudit.core.doubt import Doubt

_MODELS = frozenset(("model", "model_name", "model_id", "llm_model", "deployment"))
_FIELDS = {
    name: pattern
    for name, pattern in {**PARAMETERS, **CONTEXT}.items()
    if name in ("temperature", "top_p", "seed", "response_format", "system prompt", "tools")
}


def passed_over(scope: Scope, file: File) -> Iterator[Observation]:
    """Yield parameters of a cache's functions that its key lacks."""
    given = {snake_case(name): name for name in scope.params}
    wanted = [word for word in given if word in _MODELS or _field(word) is not None]
    if not wanted:
        return
    asked = lookups_of(scope)
    if model_calls(scope, asked):
        return  # what that is given counts, and not what stands in the head
    keys = [one.keys[0] for one in asked] + [call.args[0] for call in fills(scope)]
    for key in keys:
        known = key_words(scope, [key], file.every)
        if not _is_of_text(scope, key, known, file):
            continue
        unseen = [*uses(kept_under(scope, key, file))]
        unseen += [] if is_whole(scope, key, file) else [Doubt.PARTLY]
        for kind, names in _lacking(wanted, known, scope).items():
            told_of = (ast.dump(core(scope, key)), kind, *names)
            if told_of in file.told:
                continue
            file.told.add(told_of)
            listed = ", ".join(given[name] for name in names)
            verb = "is" if len(names) == 1 else "are"
            told = f"{listed} {verb} given to {scope.name} and not in the key, {short(scope, key)}"
            yield seen_at(scope, key, kind, told, unseen=unseen)
        return


def _is_of_text(scope: Scope, key: ast.expr, known: set[str], file: File) -> bool:
    """Whether a key is made here, of a text and not of a whole request."""
    made = core(scope, key)
    if isinstance(made, ast.Name | ast.Attribute) or known & (WHOLE | {"locals", "vars"}):
        return False
    is_made = isinstance(made, ast.JoinedStr | ast.BinOp | ast.Tuple) or any(
        True for _ in makers(scope, key, file.every)
    )
    return (is_made or isinstance(made, ast.Call)) and any(
        PROMPT.fullmatch(word) or TEXT.fullmatch(word) for word in known
    )


def _field(word: str) -> str | None:
    return next((name for name, field in _FIELDS.items() if field.fullmatch(word)), None)


def _lacking(wanted: list[str], known: set[str], scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    has_model = any(MODEL.fullmatch(word) for word in known) or parted_by_model(scope.module)
    for word in wanted:
        name = _field(word)
        if word in _MODELS and not has_model:
            found.setdefault("key-without-model", []).append(word)
        elif name is not None and not any(_FIELDS[name].fullmatch(other) for other in known):
            kind = "key-without-context" if name in CONTEXT else "key-without-parameters"
            found.setdefault(kind, []).append(word)
    return found
