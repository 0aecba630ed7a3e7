"""What a key is made of: a hash of one process, few bits, a form that is not fixed, a clock."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kvaudit.analyzers.keys.digests import Digest
from kvaudit.analyzers.keys.scopes import Scope, walk
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
from kvaudit.core.document import Evidence, Observation

_SHORT_BITS, _TINY_BITS = 64, 32
_THIRTY_TWO = re.compile(
    r"zlib\.\w+|binascii\.crc32|(.*\.)?(xxh32(_hexdigest)?|fnv1a_32)|mmh3\.hash"
)
_STORE = re.compile(r"redis|memcache|valkey|\.set(ex)?\(|\.get\(|open\(|sqlite|http|disk", re.I)


def builtin_hash(scope: Scope, digest: Digest, *, tokens: bool) -> Iterator[Observation]:
    """Yield Python's own hash where it names what is cached."""
    if not digest.builtin:
        return
    source = scope.module.source.text
    if tokens:
        why = "has 64 bits that anyone can make collide, and serves the KV of other tokens then"
    else:
        why = "differs in each process for text, and equal values are never compared"
    shared = tokens or _STORE.search(source) is not None
    yield seen_at(
        scope,
        digest.call,
        "builtin-hash" if shared else "builtin-hash-in-process",
        f"{short(scope, digest.call)} {why}",
        evidence=Evidence.DATAFLOW if shared else Evidence.NAME,
    )


def short_digest(scope: Scope, digest: Digest) -> Iterator[Observation]:
    """Yield digests of which too few bits are kept to tell prompts apart."""
    if _THIRTY_TWO.fullmatch(digest.function):
        yield seen_at(
            scope, digest.call, "short-digest", f"{short(scope, digest.call)} has 32 bits"
        )
        return
    for node in scope.nodes:
        bits = _kept_bits(node)
        if bits is not None and bits < _SHORT_BITS and _comes_from(scope, node, digest):
            yield seen_at(
                scope,
                node,
                "short-digest",
                f"{short(scope, node)} keeps {bits} bits",
                graver=bits < _TINY_BITS,
            )


def _kept_bits(node: ast.AST) -> int | None:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        upper = node.slice.upper
        if node.slice.lower is None and isinstance(upper, ast.Constant):
            called = node.value.func if isinstance(node.value, ast.Call) else None
            per = {"hexdigest": 4, "digest": 8}.get(getattr(called, "attr", ""), 4)
            return upper.value * per if isinstance(upper.value, int) else None
    if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant):
        value = node.right.value
        if isinstance(value, int) and isinstance(node.op, ast.BitAnd):
            return value.bit_length()
        if isinstance(value, int) and isinstance(node.op, ast.Mod) and value > 1024:
            return (value - 1).bit_length()
    return None


def _comes_from(scope: Scope, node: ast.AST, digest: Digest) -> bool:
    """Whether what is cut is a digest: the call itself, or a name that was given it."""
    cut = node.value if isinstance(node, ast.Subscript) else getattr(node, "left", node)
    for inner in walk(scope.module, cut):
        if inner is digest.call:
            return True
        if isinstance(inner, ast.Name):
            for value in scope.given(inner.id):
                if any(below is digest.call for below in ast.walk(value)):
                    return True
    return False


def form_faults(scope: Scope, root: ast.AST) -> Iterator[Observation]:
    """Yield what in the expressions of a key differs for equal requests, or is equal for others."""
    parts = [*_parts(scope, root)]
    called = {id(node.func) for node in parts if isinstance(node, ast.Call)}
    for node in parts:
        if isinstance(node, ast.Call):
            yield from _of_call(scope, node)
        elif isinstance(node, ast.Name | ast.Attribute) and id(node) not in called:
            yield from _of_name(scope, node)


def _parts(scope: Scope, root: ast.AST, seen: set[str] | None = None) -> Iterator[ast.AST]:
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
                    yield from _parts(scope, value, seen)


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
        elif _prints_objects(node):
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
    elif name in ("str", "repr") and node.args and _is_mapping(node.args[0]):
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
    elif name == "id" and len(node.args) == 1:
        yield seen_at(scope, node, "volatile-key", f"{short(scope, node)} is an address in memory")


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


def _prints_objects(node: ast.Call) -> bool:
    """Whether JSON of arguments of any kind falls back on the text form of what it cannot write."""
    falls_back = any(
        word.arg == "default" and getattr(word.value, "id", "") in ("str", "repr")
        for word in node.keywords
    )
    names = (
        {inner.id for inner in ast.walk(node.args[0]) if isinstance(inner, ast.Name)}
        if node.args
        else set()
    )
    return falls_back and bool(names & {"args", "kwargs", "key_data", "params", "self"})


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
