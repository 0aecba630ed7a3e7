"""What reaches the call of a model, and not the key under which its answer is kept."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from kvaudit.analyzers.keys.answers import File, asks_itself, called
from kvaudit.analyzers.keys.elsewhere import words_elsewhere
from kvaudit.analyzers.keys.forms import form_faults
from kvaudit.analyzers.keys.instances import from_outside, instance_missing, parted_by_model
from kvaudit.analyzers.keys.joins import text_faults
from kvaudit.analyzers.keys.kept import kept_under
from kvaudit.analyzers.keys.lookups import (
    LOOKS_UP,
    Helpers,
    Lookup,
    key_words,
    lookups_of,
    lookups_through,
    makers,
    model_calls,
)
from kvaudit.analyzers.keys.newest import last_message
from kvaudit.analyzers.keys.proof import Proof, of_form
from kvaudit.analyzers.keys.sampled import sampled
from kvaudit.analyzers.keys.scopes import Scope, core, values_given, walk
from kvaudit.analyzers.keys.seen import seen_at, short
from kvaudit.analyzers.keys.vocabulary import (
    CONTEXT,
    MODEL,
    PARAMETERS,
    PROMPT,
    TENANT_IN_KEY,
    TENANT_SEEN,
    TEXT,
    WHOLE,
)
from kvaudit.analyzers.naming import snake_case
from kvaudit.core.document import Observation

_IN_MESSAGES = {"system", "history", "context", "images"}
"""What is a part of the messages, where all of them are in the key."""
_FOR_RECORDS = frozenset(("user", "safety_identifier", "metadata", "headers", "extra_headers"))
"""What a provider is told of a request and the model is not."""


def missing_fields(scope: Scope, file: File, helpers: Helpers) -> Iterator[Observation]:
    """Yield keys of answers that lack what the answer depends on."""
    asked = lookups_through(scope, helpers) or lookups_of(scope)
    if not asked:
        return
    calls = model_calls(scope, asked)
    if not calls:
        return
    lookup = asked[0]
    if _is_told_to_the_model(scope, lookup, calls):
        return
    every = file.every
    known = key_words(scope, lookup.keys, every)
    for key in lookup.keys:
        known |= words_elsewhere(scope, key, file)
    if lookup.maker is not None:
        made = lookups_of(lookup.maker)[0]
        known |= key_words(lookup.maker, made.keys, every) - {"kwargs"}
    if not any(PROMPT.fullmatch(w) or TEXT.fullmatch(w) or w in WHOLE for w in known):
        return  # what is kept under a node or a file's name is no answer to a question
    given = _given(scope, calls)
    for name in _made_of_known(scope, calls, known):
        given.pop(name, None)
    proof = _proof(scope, lookup, file)
    place = _place(scope, lookup)
    apart = {snake_case(word.arg or "") for call in calls for word in call.keywords}
    for one, names in _compared(scope, place, known, given, apart):
        yield proof.of_missing(one, names)
    for call, one in _of_helpers(scope, place, known, calls, file):
        yield proof.of_helper(one, call)
    for one in instance_missing(scope, place, known, calls):
        yield proof.of_missing(one, ())
    if lookup.maker is None:
        key = lookup.keys[0]
        joined = [one for text in _texts_of(scope, key, every) for one in text_faults(scope, text)]
        for one in (*joined, *form_faults(scope, key)):
            yield of_form(scope, one, proof.kept)
    for one in last_message(scope, lookup, calls, every):
        yield proof.of_missing(one, ())
    for one, names in _tenant(scope, place, known, given):
        yield proof.of_missing(one, names)
    for call, one in sampled(scope, calls):
        yield proof.of_call(one, call)


def _texts_of(scope: Scope, key: ast.expr, every: Sequence[Scope]) -> list[ast.expr]:
    """Return a key, and what a function of the file is given to make it of."""
    made = core(scope, key)
    by_function = isinstance(made, ast.Call) and any(True for _ in makers(scope, key, every))
    return [key, *(made.args if by_function and isinstance(made, ast.Call) else ())]


def _proof(scope: Scope, lookup: Lookup, file: File) -> Proof:
    if lookup.maker is None:
        kept = kept_under(scope, lookup.keys[0], file)
        method = getattr(getattr(lookup.node, "func", None), "attr", "")
        # A cache that is asked with a whole request makes the key itself, in another file.
        is_request = len(lookup.keys) > 1 and "lookup" not in method
        adds = LOOKS_UP.fullmatch(method) is not None and not _asks_as_given(scope, lookup, file)
        hidden = is_request or adds
        return Proof(scope, lookup.keys, kept, file, hidden=hidden)
    made = lookups_of(lookup.maker)[0]
    kept = kept_under(lookup.maker, made.keys[0], file)
    return Proof(scope, made.keys, kept, file, lookup.maker)


def _asks_as_given(scope: Scope, lookup: Lookup, file: File) -> bool:
    """Whether a method that asks a cache is seen to ask it with what it is given, and no more."""
    made = called(scope, lookup.node, file) if isinstance(lookup.node, ast.Call) else ()
    asked = [(one, each.keys[0]) for one in made for each in lookups_of(one)]
    return bool(asked) and all(
        isinstance(key, ast.Name) and key.id in one.params and not one.given(key.id)
        for one, key in asked
    )


def _of_helpers(
    scope: Scope, place: ast.expr, known: set[str], calls: Sequence[ast.Call], file: File
) -> Iterator[tuple[ast.Call, Observation]]:
    """Yield what methods that are called for the answer give the model from their object."""
    own = from_outside(scope.owner) if scope.owner is not None else set()
    for call in calls if own else ():
        for made in called(scope, call, file):
            held: dict[str, str] = {}
            for inner in made.calls():
                for value in values_given(inner) if asks_itself(made, inner) else ():
                    _note(made, held, value)
            given = {word: name for word, name in held.items() if name.removeprefix("self.") in own}
            if made.owner is scope.owner and made is not scope:
                yield from ((call, one) for one, _ in _compared(scope, place, known, given, set()))


def _is_told_to_the_model(scope: Scope, lookup: Lookup, calls: Sequence[ast.Call]) -> bool:
    """Whether what was found is put into the prompt: a memory, and no cache of answers."""
    held = {
        name
        for name, values in scope.assigned.items()
        if any(lookup.node in ast.walk(value) for value in values)
    }
    given = [value for call in calls for value in values_given(call)]
    return any(
        isinstance(node, ast.Name) and node.id in held for one in given for node in ast.walk(one)
    )


def _place(scope: Scope, lookup: Lookup) -> ast.expr:
    if lookup.maker is not None:
        assert isinstance(lookup.node, ast.Call)
        return lookup.node
    return core(scope, lookup.keys[0])


def _given(scope: Scope, calls: Sequence[ast.Call]) -> dict[str, str]:
    """Return what varies among the arguments of calls: the name in snake case, as written."""
    found: dict[str, str] = {}
    for call in calls:
        for word in call.keywords:
            if word.arg is None:
                _note_spread(scope, found, word.value)
            elif word.arg not in _FOR_RECORDS and not _is_fixed(word.value):
                found[snake_case(word.arg)] = word.arg
                _note(scope, found, word.value)
        for arg in call.args:
            _note(scope, found, arg)
    return found


def _made_of_known(scope: Scope, calls: Sequence[ast.Call], known: set[str]) -> Iterator[str]:
    """Yield arguments whose values are made of what is in the key, or is told of by itself."""
    tables = {**PARAMETERS, **CONTEXT}
    for call in calls:
        for word in call.keywords:
            name = snake_case(word.arg or "")
            inner = _variables(scope, word.value) - {""}
            others = inner - known
            if inner and name not in inner and all(_lacks_one(o, tables, known) for o in others):
                yield name


def _variables(scope: Scope, value: ast.expr, depth: int = 2) -> set[str]:
    """Return the names in a value, but for those that are called; local ones are looked through."""
    found: set[str] = set()
    nodes = list(walk(scope.module, value))
    functions = {id(n) for node in nodes if isinstance(node, ast.Call) for n in ast.walk(node.func)}
    for node in nodes:
        if id(node) in functions:
            continue
        if isinstance(node, ast.Name) and not node.id.isupper():
            given = scope.assigned.get(node.id, ()) if depth and node.id not in scope.params else ()
            for one in given:
                found |= _variables(scope, one, depth - 1)
            found |= set() if given else {snake_case(node.id)}
        elif isinstance(node, ast.Attribute):
            found.add(snake_case(node.attr))
    return found


def _note_spread(scope: Scope, found: dict[str, str], value: ast.expr) -> None:
    """Enter ``**kwargs``: by its own name where it came from outside, else what was put in."""
    name = getattr(value, "id", getattr(value, "attr", ""))
    if isinstance(value, ast.Name) and name not in scope.params and scope.given(name):
        for put_in in scope.given(name):
            _note(scope, found, put_in, 1)
    elif name:
        found[f"**{name}"] = f"**{name}"


def _note(scope: Scope, found: dict[str, str], value: ast.expr, depth: int = 2) -> None:
    """Enter the names in an argument, and those that its local names were made of."""
    for node in walk(scope.module, value):
        if isinstance(node, ast.Name) and not node.id.isupper():
            given = [] if node.id in scope.params else list(scope.given(node.id))
            # What is spelled out here is no more than what it is made of.
            if not (given and isinstance(given[0], ast.List | ast.Dict)):
                found.setdefault(snake_case(node.id), node.id)
            for made in given if depth else ():
                _note(scope, found, made, depth - 1)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            found.setdefault(snake_case(node.attr), scope.module.written(node))


def _is_fixed(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and value.id.isupper())


def _compared(
    scope: Scope, place: ast.expr, known: set[str], given: dict[str, str], apart: set[str]
) -> Iterator[tuple[Observation, Sequence[str]]]:
    """Yield what the model is given and the key lacks; ``apart`` are arguments of their own."""
    whole = bool(known & (WHOLE | {"locals", "vars"}))
    if not whole and not any(MODEL.fullmatch(word) for word in known):
        seen = [given[w] for w in given if w in ("model", "model_name", "model_id", "deployment")]
        if seen and not parted_by_model(scope.module):
            yield _lacks(scope, place, "key-without-model", seen[:1])
    lacking = [] if whole else [given[w] for w in given if _lacks_one(w, PARAMETERS, known)]
    lacking += [
        name for word, name in given.items() if word.startswith("**") and not _has(known, word[2:])
    ]
    if lacking:
        yield _lacks(scope, place, "key-without-parameters", lacking)
    if whole:
        return
    inside = _IN_MESSAGES if known & {"messages", "contents"} else set()
    context = [given[w] for w in given if _lacks_one(w, CONTEXT, known | (inside - apart - {""}))]
    if context:
        adapters = [name for name in context if CONTEXT["adapter"].fullmatch(snake_case(name))]
        others = [name for name in context if name not in adapters]
        if adapters:
            yield _lacks(scope, place, "key-without-adapter", adapters)
        if others:
            yield _lacks(scope, place, "key-without-context", others)


def _has(known: set[str], name: str) -> bool:
    return snake_case(name) in known or bool(known & (WHOLE - {"settings", "config"}))


def _lacks_one(word: str, table: dict[str, re.Pattern[str]], known: set[str]) -> bool:
    """Whether a name is of a field that no name in the key is of."""
    return any(
        field.fullmatch(word) and not any(field.fullmatch(other) for other in known)
        for field in table.values()
    )


def _lacks(
    scope: Scope, place: ast.expr, kind: str, names: Sequence[str]
) -> tuple[Observation, Sequence[str]]:
    listed = ", ".join(dict.fromkeys(names))
    verb = "reaches" if len(set(names)) == 1 else "reach"
    what = f"{listed} {verb} the model and not the key, {short(scope, place)}"
    return seen_at(scope, place, kind, what), names


def _tenant(
    scope: Scope, place: ast.expr, known: set[str], given: dict[str, str]
) -> Iterator[tuple[Observation, Sequence[str]]]:
    if any(TENANT_IN_KEY.fullmatch(word) for word in known) or known & WHOLE:
        return
    seen = [name for name in scope.params if TENANT_SEEN.fullmatch(snake_case(name))]
    if seen:
        used = any(snake_case(name) in given for name in seen)
        found = seen_at(
            scope,
            place,
            "key-without-tenant" if used else "key-without-known-tenant",
            f"{seen[0]} is known here and not in the key, {short(scope, place)}, so that one is "
            "answered with what was said to another",
        )
        yield found, seen[:1]
