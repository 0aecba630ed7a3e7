"""Keys of blocks of tokens in JavaScript, against what tells blocks apart.

As in ``keys/chains.py``: a key is of the tokens, of what is before them, and of whose they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kvaudit.analyzers.keys.ecmascript.digests import words_in
from kvaudit.analyzers.keys.ecmascript.seen import seen_at, short
from kvaudit.analyzers.keys.vocabulary import BLOCKS, CHAINED, IDENTITY, TENANT_IN_KEY, TOKENS
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.syntax import LOOPS, function_around, own_nodes
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.core.document import Evidence, Observation
from kvaudit.core.doubt import Doubt

_LOOKS = re.compile(r"%|Math\.(floor|trunc)|\.length\s*(===?|!==?|<)\s*\w*[sS]ize")
"""What drops or tells the rest behind the last full block."""


def hashes_tokens(module: Module, call: Node, fed: Sequence[Node]) -> bool:
    """Whether a digest is of a block of tokens."""
    words = set().union(*(words_in(module, one) for one in fed))
    if not any(TOKENS.fullmatch(word) for word in words):
        return False
    around = function_around(call)
    named = around.get("name") if around is not None else None
    spoken = words | ({snake_case(module.text(named))} if named is not None else set())
    return any(BLOCKS.fullmatch(word) for word in spoken)


def chain_faults(module: Module, call: Node, fed: Sequence[Node]) -> Iterator[Observation]:
    """Yield what is wrong with the keys of blocks that a function makes."""
    function = function_around(call)
    if function is None:
        return
    known = {snake_case(module.text(n)) for n in function.walk() if n.kind == "identifier"}
    what = f"{short(module, fed[0])} has the tokens and what is before them, and no"
    if not any(IDENTITY.fullmatch(word) for word in known):
        why = "model, adapter or version: KV of one model is taken for that of another"
        yield _perhaps(module, fed[0], "chain-without-model", f"{what} {why}")
    if not any(TENANT_IN_KEY.fullmatch(word) for word in known):
        why = "tenant or salt: one tenant can tell by the time whether another sent a prefix"
        yield _perhaps(module, fed[0], "chain-without-tenant", f"{what} {why}")
    unseen = () if _is_chained(module, call, fed) else (Doubt.NO_CHAIN,)
    for one in (*_tail(module, function), *_falsy(module, function)):
        yield replace(one, unseen=unseen)


def _is_chained(module: Module, call: Node, fed: Sequence[Node]) -> bool:
    """Whether what is hashed holds the digest that was made before."""
    words = {module.text(n) for one in fed for n in _with_given(module, one)}
    for around in call.ancestors():
        left = around.get("left") if around.kind == "assignment_expression" else None
        if left is not None and module.text(left) in words:
            return True
    return False


def _with_given(module: Module, root: Node) -> Iterator[Node]:
    """Yield the names in an expression, and in what its local names were given."""
    for node in root.walk():
        if node.kind == "identifier":
            yield node
            value = module.declared_as(node)
            if value is not None and not value.start <= root.start < value.end:
                yield from (n for n in value.walk() if n.kind == "identifier")


def _perhaps(module: Module, node: Node, kind: str, detail: str) -> Observation:
    return seen_at(module, node, kind, detail, evidence=Evidence.NAME)


def _tail(module: Module, function: Node) -> Iterator[Observation]:
    """Yield ``tokens.slice(i, i + size)`` in steps of a size through all of a list."""
    for loop in own_nodes(function):
        if loop.kind not in LOOPS or _LOOKS.search(module.text(function)):
            continue
        step = re.search(r"(\w+)\s*\+=\s*([\w.]+)", module.text(loop))
        if step is None or ".length" not in module.text(loop):
            continue
        at, size = re.escape(step[1]), re.escape(step[2])
        cut = re.compile(rf"\.(slice|subarray)\(\s*{at}\s*,\s*{at}\s*\+\s*{size}\s*\)$")
        for node in loop.walk():
            if node.kind == "call_expression" and cut.search(module.text(node)):
                yield seen_at(
                    module,
                    node,
                    "partial-block-hashed",
                    f"{short(module, node)} is shorter at the end, and gets a key like a full "
                    "block",
                )
                return


def _falsy(module: Module, function: Node) -> Iterator[Observation]:
    """Yield ``seed || 0``: a seed or parent of which 0 or an empty text counts as none."""
    for node in own_nodes(function):
        left, right = node.get("left"), node.get("right")
        if node.kind != "binary_expression" or left is None or right is None:
            continue
        joined = module.text(node)[left.end - node.start : right.start - node.start].strip()
        if joined != "||" or right.kind not in ("number", "string"):
            continue
        name = snake_case(module.text(left))
        if left.kind in ("identifier", "member_expression") and CHAINED.fullmatch(name):
            yield seen_at(
                module,
                node,
                "falsy-seed",
                f"{short(module, node)} takes a real {module.text(left)} that is 0 or empty for "
                "none",
            )
