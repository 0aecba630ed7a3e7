"""What a key is made of: a form that is not fixed, a clock, folded text, a secret."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kvaudit.analyzers.keys.labels import is_free, label_of
from kvaudit.analyzers.keys.scopes import Scope, core, walk
from kvaudit.analyzers.keys.seen import seen_at, short
from kvaudit.analyzers.keys.vocabulary import (
    FREE_TEXT,
    MAPPING,
    SECRET,
    VOLATILE_CALL,
    VOLATILE_NAME,
    WHOLE,
)
from kvaudit.analyzers.naming import snake_case
from kvaudit.core.document import Observation


def form_faults(scope: Scope, root: ast.AST) -> Iterator[Observation]:
    """Yield what in the expressions of a key differs for equal requests, or is equal for others."""
    parts = [*parts_of(scope, root)]
    called = {id(node.func) for node in parts if isinstance(node, ast.Call)}
    for node in parts:
        if isinstance(node, ast.Call):
            yield from _of_call(scope, node)
        elif isinstance(node, ast.Name | ast.Attribute) and id(node) not in called:
            yield from _of_name(scope, node)
        elif isinstance(node, ast.Subscript) and _is_beginning(node, parts):
            yield seen_at(
                scope,
                node,
                "folded-key",
                f"{short(scope, node)} makes prompts equal that differ behind it",
            )


def _is_beginning(node: ast.Subscript, parts: Sequence[ast.AST]) -> bool:
    """Whether a key holds the beginning of a text, and the whole of it nowhere."""
    if not _is_cut(node):
        return False
    cuts = (one for one in parts if isinstance(one, ast.Subscript) and _is_cut(one))
    inside = {id(inner) for cut in cuts for inner in ast.walk(cut)}
    name = label_of(node.value)
    return not any(
        isinstance(other, ast.Name | ast.Attribute)
        and id(other) not in inside
        and label_of(other) == name
        for other in parts
    )


def _is_cut(node: ast.Subscript) -> bool:
    cut = node.slice
    if not (isinstance(cut, ast.Slice) and cut.lower is None and cut.step is None):
        return False
    return isinstance(cut.upper, ast.Constant | ast.Name) and is_free(node.value)


def parts_of(scope: Scope, root: ast.AST, seen: set[str] | None = None) -> Iterator[ast.AST]:
    """Yield the nodes of an expression, and of what its local names were given.

    An item of a list is not followed into it: what else was put there says nothing of the item.
    """
    seen = set() if seen is None else seen
    for node in walk(scope.module, root):
        yield node
        if isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            values = [one for one in scope.given(node.id) if one not in scope.iterated]
            for value in values:
                if value is not root and not (len(values) > 1 and is_fresh(scope, value)):
                    yield from parts_of(scope, value, seen)


def is_fresh(scope: Scope, value: ast.expr) -> bool:
    """Whether a value is nothing but new, which a key is given where the cache is to be missed."""
    inner = list(walk(scope.module, value))
    called = {
        id(name) for node in inner if isinstance(node, ast.Call) for name in ast.walk(node.func)
    }
    drawn = any(
        isinstance(node, ast.Call) and VOLATILE_CALL.fullmatch(scope.module.dotted(node.func))
        for node in inner
    )
    return drawn and not any(isinstance(n, ast.Name) and id(n) not in called for n in inner)


def _of_call(scope: Scope, node: ast.Call) -> Iterator[Observation]:
    name = scope.module.dotted(node.func)
    last = name.rsplit(".", 1)[-1]
    if name.endswith("json.dumps") or name == "dumps":
        if not _is_sorted(node) and node.args and _any_order(scope, node.args[0]):
            yield seen_at(
                scope,
                node,
                "unsorted-key-json",
                f"{short(scope, node)} keeps the order in which keys were set",
            )
        elif _prints_objects(scope, node):
            yield seen_at(
                scope,
                node,
                "object-in-key",
                f"{short(scope, node)} writes objects of any class with their address in memory",
            )
    elif name in ("pickle.dumps", "cloudpickle.dumps", "dill.dumps", "marshal.dumps"):
        yield seen_at(
            scope, node, "object-in-key", f"{short(scope, node)} has no form that stays the same"
        )
    elif name in ("str", "repr") and node.args and _may_be_mapping(scope, node.args[0]):
        yield seen_at(
            scope,
            node,
            "object-in-key",
            f"{short(scope, node)} has the order of its keys, or an address in it",
        )
    elif last in ("lower", "casefold", "upper") and _is_prompt(scope, node):
        yield seen_at(
            scope,
            node,
            "folded-key",
            f"{short(scope, node)} makes prompts equal that ask for different things",
        )
    elif VOLATILE_CALL.fullmatch(name) and name != "id":
        yield seen_at(
            scope, node, "volatile-key", f"{short(scope, node)} differs with every request"
        )
    elif name == "id" and len(node.args) == 1 and _is_hashed(scope):
        yield seen_at(scope, node, "volatile-key", f"{short(scope, node)} is an address in memory")


def _is_hashed(scope: Scope) -> bool:
    """Whether a function makes a digest: a key within a process may well be an address."""
    return any("hash" in scope.module.dotted(call.func).lower() for call in scope.calls())


def _of_name(scope: Scope, node: ast.Name | ast.Attribute) -> Iterator[Observation]:
    name = snake_case(node.id if isinstance(node, ast.Name) else node.attr)
    if VOLATILE_NAME.fullmatch(name):
        if isinstance(node, ast.Name) and scope.given(node.id):
            return
        yield seen_at(
            scope, node, "volatile-key", f"{short(scope, node)} is another with every request"
        )


def secrets(scope: Scope, key: ast.expr) -> Iterator[Observation]:
    """Yield secrets that stand in a key as they are, where no digest is around them."""
    if not isinstance(key, ast.JoinedStr | ast.BinOp):
        return
    for node in _unhashed(scope, key):
        name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
        if SECRET.fullmatch(snake_case(name)):
            yield seen_at(
                scope,
                node,
                "secret-in-key",
                f"{short(scope, node)} is readable for whoever may list the keys",
            )


def _unhashed(scope: Scope, key: ast.expr) -> Iterator[ast.AST]:
    stack: list[ast.AST] = [key]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call):
            continue
        if isinstance(node, ast.Name | ast.Attribute):
            yield node
        elif isinstance(node, ast.JoinedStr):
            stack += [p for p in scope.module.formatted(node) if isinstance(p, ast.expr)]
        else:
            stack += list(ast.iter_child_nodes(node))


def _is_sorted(node: ast.Call) -> bool:
    return any(
        word.arg is None
        or (word.arg == "sort_keys" and getattr(word.value, "value", True) is not False)
        for word in node.keywords
    )


def _prints_objects(scope: Scope, node: ast.Call) -> bool:
    """Whether JSON of arguments of any kind falls back on the text form of what it cannot write."""
    falls_back = any(
        word.arg == "default" and getattr(word.value, "id", "") in ("str", "repr")
        for word in node.keywords
    )
    written = core(scope, node.args[0]) if node.args else node
    names = {inner.id for inner in ast.walk(written) if isinstance(inner, ast.Name)}
    return falls_back and bool(names & {"args", "kwargs", "params"})


def _any_order(scope: Scope, given: ast.expr) -> bool:
    """Whether a value may hold mappings whose order somebody else decides."""
    if isinstance(given, ast.Name) and given.id not in scope.params:
        made = scope.given(given.id)
        if made and isinstance(made[0], ast.Dict):
            return _any_order(scope, made[0])
    if isinstance(given, ast.BinOp):
        return _any_order(scope, given.left) or _any_order(scope, given.right)
    if isinstance(given, ast.Call) and getattr(given.func, "id", "") in ("list", "tuple", "dict"):
        return any(_any_order(scope, one) for one in given.args)
    if isinstance(given, ast.Dict):
        return None in given.keys or any(_is_mapping(value) for value in given.values)
    if isinstance(given, ast.List | ast.Tuple):
        return any(_is_mapping(item) for item in given.elts)
    return _is_mapping(given)


def _may_be_mapping(scope: Scope, given: ast.expr) -> bool:
    """The same, of a name that is given no tuple or text here."""
    made = scope.given(given.id) if isinstance(given, ast.Name) else ()
    fixed = ast.Tuple | ast.JoinedStr | ast.Constant
    return _is_mapping(given) and not any(isinstance(one, fixed) for one in made)


def _is_mapping(given: ast.expr) -> bool:
    if isinstance(given, ast.Name):
        return MAPPING.fullmatch(snake_case(given.id)) is not None or given.id in WHOLE
    if isinstance(given, ast.Attribute):
        return MAPPING.fullmatch(snake_case(given.attr)) is not None
    return isinstance(given, ast.Call) and getattr(given.func, "attr", "") in (
        "model_dump", "dict", "to_dict", "items",
    )  # fmt: skip


def _is_prompt(scope: Scope, node: ast.Call) -> bool:
    if not isinstance(node.func, ast.Attribute):
        return False
    names = [
        snake_case(inner.id if isinstance(inner, ast.Name) else inner.attr)
        for inner in walk(scope.module, node.func.value)
        if isinstance(inner, ast.Name | ast.Attribute)
    ]
    return any(FREE_TEXT.fullmatch(name) or name in ("query", "text") for name in names)
