"""Keys of blocks of tokens: each is chained to the one before it, and names who may share it.

vLLM (v1/core/kv_cache_utils.py, hash_block_tokens) hashes full blocks only, as (parent, tokens,
extra keys), where the extra keys are adapter, media and salt, and the first parent is a random
root; what is left out here is measured against that.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kvaudit.analyzers.keys.digests import Digest, digests_of, hashes_tokens
from kvaudit.analyzers.keys.scopes import Scope, values_given, walk
from kvaudit.analyzers.keys.seen import seen_at, short
from kvaudit.analyzers.keys.vocabulary import CHAINED, IDENTITY, TENANT_IN_KEY
from kvaudit.analyzers.naming import snake_case
from kvaudit.core.document import Evidence, Observation
from kvaudit.core.doubt import Doubt

_SHARED = re.compile(r"redis|valkey|memcache|\bs3\b|boto3|mooncake|remote|etcd|rpc|socket", re.I)
"""Where blocks go that other processes read."""
_BEFORE = re.compile(r"(\w+_)?(prefix|parent|prev|previous|prior|last)(_\w+)?")
_CALLERS = 3
"""Calls up which a name is looked for that is put beside a digest."""


def block_hashers(every: Sequence[Scope]) -> set[str]:
    """Return the names of the functions that hash tokens."""
    return {
        scope.name
        for scope in every
        if scope.name and any(hashes_tokens(scope, one) for one in digests_of(scope))
    }


def chain_faults(scope: Scope, every: Sequence[Scope], hashers: set[str]) -> Iterator[Observation]:
    """Yield what is wrong with the keys of blocks that a function makes."""
    digests = [one for one in digests_of(scope) if hashes_tokens(scope, one)]
    if digests:
        yield from _who(scope, digests[0], every)
    elif not _calls(scope, hashers):
        return
    made = [(one.call, one.fed) for one in digests]
    made += [(call, values_given(call)) for call in scope.calls() if _names(call) in hashers]
    for node, one in (*_tail(scope), *_falsy(scope)):
        reached = any(_reaches(scope, node, given) for _, given in made)
        yield one if reached else replace(one, unseen=(Doubt.NO_CHAIN,))


def unchained(scope: Scope, digest: Digest) -> tuple[Doubt, ...]:
    """Return that a digest of tokens is not seen to hold the key of what is before them."""
    inside = (node for fed in digest.fed for node in walk(scope.module, fed))
    names = {node.id for node in inside if isinstance(node, ast.Name)}
    before = {
        name
        for name in names & set(scope.params)
        if _BEFORE.fullmatch(snake_case(name)) is not None
    }
    return () if before or not names.isdisjoint(scope.holders(digest.call)) else (Doubt.NO_CHAIN,)


def _reaches(scope: Scope, node: ast.AST, given: Sequence[ast.expr]) -> bool:
    """Whether a value is among what is hashed, itself or through local names."""
    seen: set[str] = set()
    stack: list[ast.AST] = list(given)
    while stack:
        for inner in walk(scope.module, stack.pop()):
            if inner is node:
                return True
            if isinstance(inner, ast.Name) and inner.id not in seen:
                seen.add(inner.id)
                stack += scope.given(inner.id)
    return False


def _names(call: ast.Call) -> str:
    return str(getattr(call.func, "id", getattr(call.func, "attr", "")))


def _who(scope: Scope, digest: Digest, every: Sequence[Scope]) -> Iterator[Observation]:
    """Yield that nothing in a chain says whose blocks they are."""
    known = _identifiers(scope)
    for other in _around(scope, every):
        known |= _identifiers(other)
    node = digest.call.args[-1] if digest.call.args else digest.call
    # One engine has one model, and its tenants are told apart where it is asked; what other
    # engines read is garbage to another model.
    shared = _SHARED.search(scope.module.source.text) is not None
    evidence = Evidence.DATAFLOW if shared else Evidence.NAME
    # A root that a caller gives may be of one model and one tenant.
    unseen = (*unchained(scope, digest), Doubt.PARTLY)
    what = f"{short(scope, digest.call)} has the tokens and what is before them, and no"
    if not any(IDENTITY.fullmatch(word) for word in known):
        yield seen_at(
            scope,
            node,
            "chain-without-model",
            f"{what} model, adapter or version: KV of one model is taken for that of another",
            evidence=evidence,
            unseen=unseen,
        )
    if not any(TENANT_IN_KEY.fullmatch(w) or w.startswith("extra") for w in known):
        yield seen_at(
            scope,
            node,
            "chain-without-tenant",
            f"{what} tenant or salt: one tenant can tell by the time whether another sent a prefix",
            evidence=evidence,
            unseen=unseen,
        )


def _around(scope: Scope, every: Sequence[Scope]) -> set[Scope]:
    """Return what adds to the digest: callers, theirs, and what makes keys for the same class."""
    found: set[Scope] = set()
    names = {scope.name} - {""}
    for _ in range(_CALLERS):
        callers = {one for one in every if one is not scope and _calls(one, names)} - found
        found |= callers
        names = {one.name for one in callers} - {""}
    return found | {
        one for one in every if one.owner and one.owner is scope.owner and "key" in one.name.lower()
    }


def _identifiers(scope: Scope) -> set[str]:
    found = {snake_case(name) for name in scope.params}
    for node in scope.nodes:
        if isinstance(node, ast.Name):
            found.add(snake_case(node.id))
        elif isinstance(node, ast.Attribute):
            found.add(snake_case(node.attr))
        elif isinstance(node, ast.keyword) and node.arg:
            found.add(snake_case(node.arg))
    return found


def _calls(scope: Scope, names: set[str]) -> bool:
    return any(_names(call) in names for call in scope.calls())


def _tail(scope: Scope) -> Iterator[tuple[ast.AST, Observation]]:
    """Yield slices in steps of a block, where the last one may be shorter and nothing looks."""
    for at, size in _steps(scope):
        for node in scope.nodes:
            if _is_slice(node, at, size) and not _looks_at_length(scope, size):
                told = (
                    f"{short(scope, node)} is shorter at the end, and gets a key like a full block"
                )
                yield (
                    node,
                    seen_at(scope, node, "partial-block-hashed", f"{short(scope, node)} {told}"),
                )
                return


def _steps(scope: Scope) -> Iterator[tuple[str, ast.expr]]:
    """Yield the counters that go through all of a list, with the size of their steps."""
    for node in scope.nodes:
        if isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
            called = node.iter
            if (
                isinstance(called, ast.Call)
                and isinstance(called.func, ast.Name)
                and called.func.id == "range"
                and len(called.args) == 3
                and _is_length(scope, called.args[1])
            ):
                yield node.target.id, called.args[2]
        elif isinstance(node, ast.While) and isinstance(node.test, ast.Compare):
            counted = node.test.left
            if isinstance(counted, ast.Name) and _is_length(scope, node.test.comparators[0]):
                for step in node.body:
                    if not (isinstance(step, ast.AugAssign) and isinstance(step.op, ast.Add)):
                        continue
                    if getattr(step.target, "id", "") == counted.id:
                        yield counted.id, step.value


def _is_length(scope: Scope, stop: ast.expr) -> bool:
    if isinstance(stop, ast.Name):
        given = scope.given(stop.id)
        stop = given[0] if len(given) == 1 else stop
    return isinstance(stop, ast.Call) and isinstance(stop.func, ast.Name) and stop.func.id == "len"


def _is_slice(node: ast.AST, at: str, size: ast.expr) -> bool:
    """Whether a node is ``x[i : i + size]`` for the counter of a loop."""
    if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)):
        return False
    lower, upper = node.slice.lower, node.slice.upper
    if not (isinstance(lower, ast.Name) and lower.id == at):
        return False
    while isinstance(upper, ast.Call) and isinstance(upper.func, ast.Name) and upper.args:
        upper = upper.args[0]
    if not (isinstance(upper, ast.BinOp) and isinstance(upper.op, ast.Add)):
        return False
    return ast.dump(size) in (ast.dump(upper.right), ast.dump(upper.left))


def _looks_at_length(scope: Scope, size: ast.expr) -> bool:
    """Whether anything compares a length with the size of a block."""
    wanted = ast.dump(size)
    for node in scope.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.FloorDiv):
            return True
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            inside = [inner for side in sides for inner in walk(scope.module, side)]
            if any(ast.dump(inner) == wanted for inner in inside):
                return True
    return False


def _falsy(scope: Scope) -> Iterator[tuple[ast.AST, Observation]]:
    """Yield a parent or seed of which zero counts as none: ``seed or 0``."""
    for node in scope.nodes:
        tested: ast.expr | None = None
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            if isinstance(node.values[-1], ast.Constant) or len(node.values) == 2:
                tested = node.values[0]
        elif isinstance(node, ast.IfExp):
            tested = node.test
        name = tested.id if isinstance(tested, ast.Name) else None
        name = tested.attr if isinstance(tested, ast.Attribute) else name
        if name is None or not CHAINED.fullmatch(snake_case(name)) or not _is_value(node):
            continue
        told = f"{short(scope, node)} takes a real {name} that is 0 or empty for none"
        yield node, seen_at(scope, node, "falsy-seed", told)


def _is_value(node: ast.AST) -> bool:
    """Whether the alternative is a fixed value, and not another way to get the same."""
    other = node.values[-1] if isinstance(node, ast.BoolOp) else getattr(node, "orelse", None)
    return isinstance(other, ast.Constant) and other.value is not None
