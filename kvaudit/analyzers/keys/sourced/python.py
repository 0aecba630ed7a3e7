"""The keys of answers that a Python file builds.

A function that is called a key and returns one is told by its own line; elsewhere it is the digest
that is called a key, or what a cache is asked for before a model.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kvaudit.analyzers.keys.digests import (
    Digest,
    digests_of,
    fed_words,
    hashes_tokens,
    is_key,
    speaks_of_prompts,
    speaks_of_text,
)
from kvaudit.analyzers.keys.lookups import lookups_of, model_calls
from kvaudit.analyzers.keys.scopes import Scope, core, scopes_of, words
from kvaudit.analyzers.keys.sourced.fields import is_called_a_key, is_of_a_question, whole_calls
from kvaudit.analyzers.keys.sourced.flow import Flow
from kvaudit.analyzers.keys.sourced.reference import BuiltKey
from kvaudit.analyzers.keys.vocabulary import KEY_NAME, PLAIN_KEY
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.python.module import Module
from kvaudit.core.sources import Source


def built_keys(source: Source) -> list[BuiltKey]:
    """Return the keys that a file builds, in its order. Raises `Unreadable`."""
    module = Module(source)
    every = scopes_of(module)
    flow = Flow(every)
    makers = {one.name for one in every if _is_maker(one)}
    found = []
    known = set()
    """What a class reads and writes under is one key."""
    for scope in every:
        for at, exprs in _keys_in(scope, makers):
            references = whole_calls(flow.into(scope, exprs))
            told = (scope.owner, frozenset(one.words for one in references))
            if told not in known and is_of_a_question(references):
                known.add(told)
                line = at.lineno
                found.append(
                    BuiltKey(source=source, line=line, function=scope.name, references=references)
                )
    return sorted(found, key=lambda one: one.line)


def _keys_in(
    scope: Scope, makers: set[str]
) -> Iterator[tuple[ast.expr | ast.stmt, Sequence[ast.expr]]]:
    """Yield what each key of a function is made of, and where it stands."""
    if _is_maker(scope):
        assert scope.node is not None
        yield scope.node, scope.returned()
        return
    asked = lookups_of(scope)
    if asked and model_calls(scope, asked):
        key = asked[0].keys
        if not all(_is_made_by(scope, one, makers) for one in key):
            yield key[0], key
        return
    for digest in digests_of(scope):
        if is_key(scope, digest) and not hashes_tokens(scope, digest):
            found = fed_words(scope, digest)
            held = _held_by_key(scope, digest)
            if held is not None and speaks_of_prompts(scope, found):
                yield digest.call, [held]
                return


def _held_by_key(scope: Scope, digest: Digest) -> ast.expr | None:
    """Return the variable that is called a key and holds a digest, which may add to it."""
    for name, values in scope.assigned.items():
        held = [one for one in values if any(node is digest.call for node in ast.walk(one))]
        if held and KEY_NAME.fullmatch(snake_case(name)):
            return ast.copy_location(ast.Name(id=name, ctx=ast.Load()), held[0])
    return None


def _is_maker(scope: Scope) -> bool:
    """Whether a function returns a key of what a model is asked, and is called so."""
    name = snake_case(scope.name)
    if scope.node is None or not is_called_a_key(name):
        return False
    returned = scope.returned()
    if (
        not returned
        or model_calls(scope, ())
        or any(hashes_tokens(scope, one) for one in digests_of(scope))
    ):
        return False
    found = {word for expr in returned for word in words(scope, expr)}
    if PLAIN_KEY.fullmatch(name) and speaks_of_text(found):
        return True
    return speaks_of_prompts(scope, found)


def _is_made_by(scope: Scope, key: ast.expr, makers: set[str]) -> bool:
    """Whether a key is what a function of the file returns, and nothing more."""
    made = core(scope, key)
    while isinstance(made, ast.Await):
        made = made.value
    if not isinstance(made, ast.Call):
        return False
    return getattr(made.func, "id", getattr(made.func, "attr", "")) in makers
