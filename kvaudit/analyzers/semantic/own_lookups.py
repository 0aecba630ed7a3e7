"""Look-ups of one's own: embed the question, take the nearest entry, compare with a threshold.

The nearest is what a store's search gives, or what a loop over all entries finds.

What a look-up filters by, and which guard it asks, stands in it or is given to it; a function that
has neither, and no parameter that could bring it, serves whatever lies near.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kvaudit.analyzers.keys.instances import from_outside
from kvaudit.analyzers.keys.scopes import Scope, values_given, walk
from kvaudit.analyzers.keys.scopes import words as words_in
from kvaudit.analyzers.keys.seen import seen_at, short
from kvaudit.analyzers.keys.vocabulary import TEXT
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.semantic.lookup_lacks import lacks_of_limit, lacks_of_search
from kvaudit.analyzers.semantic.lookup_words import (
    ANSWER,
    BEST,
    CACHE,
    EMBEDS,
    FOUND_ANSWER,
    LIKENESS,
    LOOKS_NEAR,
    REMOVES,
    SCORE,
    SEARCHES,
    STORES,
    THRESHOLD,
)
from kvaudit.analyzers.source.python.module import Function
from kvaudit.core.document import Observation


def lookup_faults(scope: Scope) -> Iterator[Observation]:
    """Yield what a look-up of one's own leaves out."""
    if scope.node is None:
        return
    search = next((call for call in scope.calls() if _is_search(scope, call)), None)
    scanned = search is None
    search = search or _scan(scope)
    compared = next((node for node in scope.nodes if _compares(node)), None)
    if search is None or compared is None:
        return
    words = _words(scope)
    about = {snake_case(scope.name), snake_case(scope.owner.name) if scope.owner else ""}
    if any(CACHE.fullmatch(word) for word in about):
        if not any(ANSWER.fullmatch(word) for word in words) and not _is_cache_alone(about):
            return
    elif not (_is_near(about) and _gives_stored_answer(scope)):
        return
    given = words if scanned else _given(scope, search)
    what, of_class = short(scope, search), _words_of_class(scope)
    of_object = scope.owner is not None and _root(search) not in scope.params
    for lack in lacks_of_search(
        what,
        given,
        words | of_class,
        of_object=of_object,
        from_outside=_is_given(scope, search),
        passed_over_by=_passed_over_by(scope),
    ):
        yield seen_at(scope, search, lack.kind, lack.detail, unseen=lack.unseen)
    yield from _text_scope(scope, search)
    what, names = short(scope, compared), _names_in(compared)
    for lack in lacks_of_limit(what, names, words | of_class, _text(scope)):
        yield seen_at(scope, compared, lack.kind, lack.detail, unseen=lack.unseen)
    yield from _last_message(scope, search)
    yield from _removal(scope, search)


def _is_given(scope: Scope, search: ast.Call) -> bool:
    """Whether a search is of a store that the object was given: ``self.store.search(...)``."""
    store = search.func.value if isinstance(search.func, ast.Attribute) else None
    return (
        scope.owner is not None
        and isinstance(store, ast.Attribute)
        and isinstance(store.value, ast.Name)
        and store.value.id == "self"
        and store.attr in from_outside(scope.owner)
    )


def _root(search: ast.Call) -> str:
    """Return the name that a search starts from: ``store`` in ``store.index.search(...)``."""
    node: ast.expr = search.func
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return getattr(node, "id", "")


def _text(scope: Scope) -> str:
    """Return a look-up as it is written, with its class."""
    node = scope.owner or scope.node
    return scope.module.written(node) if node is not None else ""


def _passed_over_by(scope: Scope) -> set[str]:
    """Return the names by which entries that were found are passed over."""
    tests = [
        node.test
        for node in scope.nodes
        if isinstance(node, ast.If) and any(isinstance(one, ast.Continue) for one in node.body)
    ]
    for node in scope.nodes:
        tests += node.ifs if isinstance(node, ast.comprehension) else []
    return set().union(*map(_names_in, tests))


def _is_near(about: set[str]) -> bool:
    return any(LOOKS_NEAR.fullmatch(word) for word in about)


def _gives_stored_answer(scope: Scope) -> bool:
    """Whether what is found near is asked for its answer, and that is returned."""
    return any(
        isinstance(node, ast.Attribute) and FOUND_ANSWER.fullmatch(snake_case(node.attr))
        for returned in scope.returned()
        for node in ast.walk(returned)
    )


def _removal(scope: Scope, search: ast.Call) -> Iterator[Observation]:
    """Yield a class of a cache that has no way to take out an entry."""
    if scope.owner is None:
        return
    methods = [one.name for one in ast.walk(scope.owner) if isinstance(one, Function)]
    stores = any(STORES.fullmatch(name) for name in methods)
    if stores and not any(REMOVES.fullmatch(name) for name in methods):
        yield seen_at(
            scope,
            search,
            "no-removal",
            f"{scope.owner.name} stores answers, and no method takes out one that is wrong",
        )


def _is_cache_alone(about: set[str]) -> bool:
    return any("semantic" in word for word in about)


def _is_search(scope: Scope, call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in SEARCHES:
        return False
    given = values_given(call)
    return any(EMBEDS.fullmatch(word) for value in given for word in words_in(scope, value))


def _scan(scope: Scope) -> ast.Call | None:
    """Return where a question is compared with one stored entry after the other."""
    called = {_called(call) for call in scope.calls()}
    if not any(EMBEDS.fullmatch(name) for name in called):
        return None
    if not any(TEXT.fullmatch(snake_case(name)) for name in scope.params):
        return None
    likeness = (call for call in scope.calls() if LIKENESS.fullmatch(_called(call)))
    return next((call for call in likeness if len(call.args) + len(call.keywords) > 1), None)


def _called(call: ast.Call) -> str:
    return snake_case(getattr(call.func, "id", getattr(call.func, "attr", "")))


def _words_of_class(scope: Scope) -> set[str]:
    """Return the names in the class of a look-up: what it stores, it stores somewhere else."""
    found: set[str] = set()
    for node in ast.walk(scope.owner) if scope.owner is not None else ():
        if isinstance(node, ast.Name | ast.Attribute):
            found.add(snake_case(getattr(node, "id", getattr(node, "attr", ""))))
        elif isinstance(node, ast.arg | ast.keyword) and node.arg:
            found.add(snake_case(node.arg))
    return found


def _compares(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Compare) and len(node.ops) == 1):
        return False
    if not isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        return False
    names = _names_in(node)
    if any(map(BEST.fullmatch, names)) and not any(map(THRESHOLD.fullmatch, names)):
        return False
    names |= {
        snake_case(inner.value)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
    }
    return any(SCORE.fullmatch(n) or THRESHOLD.fullmatch(n) for n in names)


def _words(scope: Scope) -> set[str]:
    found = {snake_case(name) for name in scope.params}
    for node in scope.nodes:
        if isinstance(node, ast.Name | ast.Attribute):
            found.add(snake_case(getattr(node, "id", getattr(node, "attr", ""))))
        elif isinstance(node, ast.keyword) and node.arg:
            found.add(snake_case(node.arg))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(snake_case(node.value))
    return found


def _given(scope: Scope, search: ast.Call) -> set[str]:
    """Return the names in a search's arguments, and of what it is asked of."""
    found = set()
    for node in walk(scope.module, search):
        if isinstance(node, ast.keyword) and node.arg:
            found.add(snake_case(node.arg))
        elif isinstance(node, ast.Name | ast.Attribute):
            found.add(snake_case(getattr(node, "id", getattr(node, "attr", ""))))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(snake_case(node.value))
    return found


def _text_scope(scope: Scope, search: ast.Call) -> Iterator[Observation]:
    """Yield tenants that are only written into the text that is embedded."""
    for node in scope.nodes:
        if not (isinstance(node, ast.Call) and node.args):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        text = node.args[0]
        if not EMBEDS.fullmatch(snake_case(name)) or not isinstance(text, ast.JoinedStr):
            continue
        for part in walk(scope.module, text):
            inner = getattr(part, "id", getattr(part, "attr", ""))
            if inner and re.fullmatch(r"(\w+_)?(tenant|user|org|account)(_id|_name)?", inner):
                yield seen_at(
                    scope,
                    text,
                    "isolation-by-text",
                    f"{inner} is part of the text, which makes it a little less near, no more",
                )
                return


def _names_in(root: ast.AST) -> set[str]:
    return {
        snake_case(getattr(node, "id", getattr(node, "attr", "")))
        for node in ast.walk(root)
        if isinstance(node, ast.Name | ast.Attribute)
    }


def _last_message(scope: Scope, search: ast.Call) -> Iterator[Observation]:
    for node in scope.nodes:
        if not (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.UnaryOp)
            and isinstance(node.slice.op, ast.USub)
        ):
            continue
        name = snake_case(getattr(node.value, "id", getattr(node.value, "attr", "")))
        if re.fullmatch(r"(\w+_)?(messages|history|turns)", name):
            yield seen_at(
                scope,
                node,
                "last-message-only",
                f"{short(scope, node)} is all that is embedded of a conversation",
            )
            return
