"""How well a digest tells prompts apart: a hash of one process, and digests of few bits."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from kvaudit.analyzers.keys.digests import Digest
from kvaudit.analyzers.keys.scopes import Scope, walk
from kvaudit.analyzers.keys.seen import seen_at, short
from kvaudit.analyzers.keys.vocabulary import TOKENS
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.python.module import Module
from kvaudit.core.document import Evidence, Observation

_SHORT_BITS, _TINY_BITS = 64, 32
CUT_BITS = 48
"""At 48 bits, of 100,000 prompts two coincide once in 56,000 caches; at 40 once in 220."""
_THIRTY_TWO = re.compile(
    r"zlib\.\w+|binascii\.crc32|(.*\.)?(xxh32(_hexdigest)?|fnv1a_32)|mmh3\.hash"
)
_STORE = re.compile(
    r"redis|memcache|valkey|sqlite|disk|shelve|boto3|\bopen\(|\.setex\(", re.IGNORECASE
)
"""What other processes read."""


def builtin_hash(scope: Scope, digest: Digest, *, tokens: bool) -> Iterator[Observation]:
    """Yield Python's own hash where it names what is cached."""
    if not digest.builtin:
        return
    if tokens:
        why = "has 64 bits that anyone can make collide, and serves the KV of other tokens then"
        if _compares_tokens(scope.module):
            why = "differs in each process where a text is in it, so that no other can use it"
    else:
        why = "differs in each process for text, and equal values are never compared"
    shared = not _compares_tokens(scope.module) if tokens else _is_read_by_others(scope.module)
    yield seen_at(
        scope,
        digest.call,
        "builtin-hash" if shared else "builtin-hash-in-process",
        f"{short(scope, digest.call)} {why}",
        evidence=Evidence.DATAFLOW if shared else Evidence.NAME,
    )


@lru_cache(maxsize=1)
def _is_read_by_others(module: Module) -> bool:
    return _STORE.search(module.source.text) is not None


@lru_cache(maxsize=1)
def _compares_tokens(module: Module) -> bool:
    """Whether the file compares the tokens themselves, so that a collision serves nothing."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "array_equal":
            sides = node.args
        else:
            continue
        names = [snake_case(getattr(one, "id", getattr(one, "attr", ""))) for one in sides]
        if len(names) > 1 and all(TOKENS.fullmatch(name) for name in names[:2]):
            return True
    return False


def short_digest(scope: Scope, digest: Digest) -> Iterator[Observation]:
    """Yield digests of which too few bits are kept to tell prompts apart."""
    if _THIRTY_TWO.fullmatch(digest.function):
        yield seen_at(
            scope, digest.call, "short-digest", f"{short(scope, digest.call)} has 32 bits"
        )
        return
    for node, bits in _cuts(scope):
        if _comes_from(scope, node, digest):
            yield seen_at(
                scope,
                node,
                "short-digest" if bits < CUT_BITS else "cut-digest",
                f"{short(scope, node)} keeps {bits} bits",
                graver=bits < _TINY_BITS,
            )


@lru_cache(maxsize=1)
def _cuts(scope: Scope) -> list[tuple[ast.AST, int]]:
    """Return what keeps few bits of a value, for all digests of a function."""
    kept = ((node, _kept_bits(node)) for node in scope.nodes)
    return [(node, bits) for node, bits in kept if bits is not None and bits < _SHORT_BITS]


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
    held = scope.holders(digest.call)
    for inner in walk(scope.module, cut):
        if inner is digest.call:
            return True
        if isinstance(inner, ast.Name) and inner.id in held:
            return True
    return False
