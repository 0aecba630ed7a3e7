"""What is looked up and kept under a key: the uses of it that are seen in its file.

A key is followed through local names, through what is returned, to the callers of the function that
makes it, and into functions that it is given to. Files that are named after it count as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from kvaudit.analyzers.keys.answers import File, answers_in, called
from kvaudit.analyzers.keys.carried import Carried, marks_of
from kvaudit.analyzers.keys.digests import names_prompts, speaks_of_text
from kvaudit.analyzers.keys.entries import enter, fills
from kvaudit.analyzers.keys.reach import Mark
from kvaudit.analyzers.keys.scopes import Scope, core, walk, words
from kvaudit.analyzers.keys.use import Kept, callers_of
from kvaudit.analyzers.keys.vocabulary import ANSWER_CACHE
from kvaudit.analyzers.naming import snake_case

__all__ = ["Kept", "kept_under"]

_DEPTH = 3


def kept_under(scope: Scope, key: ast.expr, file: File) -> Kept:
    """Return what is seen to be asked and filled under a key."""
    made_of = words(scope, key)
    kept = Kept(
        of_prompt=names_prompts(scope, made_of),
        words=frozenset(made_of),
        named=speaks_of_text(made_of) and _is_named_after_answers(scope),
    )
    _follow(scope, marks_of(scope, key), file, kept, _DEPTH)
    if kept.asked and not kept.filled and scope.name:
        for other, same in _made_alike(scope, key, file):
            _follow(other, marks_of(other, same), file, kept, _DEPTH)
    return kept


def _made_alike(scope: Scope, key: ast.expr, file: File) -> Iterator[tuple[Scope, ast.expr]]:
    """Yield where another function of the file makes the same key of its parameters, to fill."""
    made = core(scope, key)
    if not any(isinstance(node, ast.Name) and node.id in scope.params for node in ast.walk(made)):
        return
    written = ast.dump(made)
    for other in file.of(scope).every:
        for call in fills(other) if other is not scope and other.name else ():
            if ast.dump(core(other, call.args[0])) == written:
                yield other, call.args[0]


def _is_named_after_answers(scope: Scope) -> bool:
    """Whether a function, its class or its file is called a cache of what models answer."""
    file = PurePosixPath(scope.module.source.path).stem
    called = (scope.name, scope.owner.name if scope.owner is not None else "", file)
    return any(ANSWER_CACHE.fullmatch(snake_case(name)) for name in called)


def _follow(scope: Scope, marks: Iterable[Mark], file: File, kept: Kept, depth: int) -> None:
    if scope in kept.scopes:
        return
    kept.scopes.append(scope)
    carried = Carried.to(file.reach(scope), marks)
    uses = carried.reach.uses_of(carried.marks)
    asked, filled = kept.asked, kept.filled
    for node in uses:
        enter(scope, node, carried, file, kept)
    if kept.asked and not asked and kept.filled == filled:
        kept.answers += [(scope, call) for call in _in_place_of_found(scope, carried, file)]
    if not depth or not file.may_follow(len(uses)):
        return
    for call in (node for node in uses if isinstance(node, ast.Call)):
        for other, name in _handed(scope, call, carried, file):
            _follow(other, {name}, file, kept, depth - 1)
    if scope.name and any(carried.within(value) for value in carried.reach.returned):
        calls: dict[Scope, set[Mark]] = {}
        for caller, call in callers_of(scope, file):
            calls.setdefault(caller, set()).add(call)
        for caller, made in calls.items():
            _follow(caller, made, file, kept, depth - 1)


def _in_place_of_found(scope: Scope, carried: Carried, file: File) -> Iterator[ast.Call]:
    """Yield the models whose answer is given where nothing was found: ``return hit or ask()``."""
    reads = [one.node for one in carried.reach.lookups if any(map(carried.within, one.keys))]
    found = {name for node in reads for name in scope.holders(node)}
    returned = carried.reach.returned
    inside = [node for value in returned for node in walk(scope.module, value)]
    if any(node in reads or getattr(node, "id", None) in found for node in inside):
        for value in returned:
            yield from answers_in(scope, value, file)


def _handed(
    scope: Scope, call: ast.Call, carried: Carried, file: File
) -> Iterator[tuple[Scope, str]]:
    """Yield the functions of the file that are given the key, with their name for it."""
    for other in called(scope, call, file):
        for at, given in enumerate(call.args[: len(other.params)]):
            if carried.within(given):
                yield other, other.params[at]
