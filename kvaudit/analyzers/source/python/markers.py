"""Cache markers: where they stand, how many there are, and whether anybody reads the write."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from kvaudit.analyzers.sizes import estimate_tokens
from kvaudit.analyzers.source.prompt_names import Called, called
from kvaudit.analyzers.source.python.code import ONE_SHOT, nodes, observe, parents, short
from kvaudit.analyzers.source.python.drafts import Draft, is_marked
from kvaudit.analyzers.source.python.engine import Engine, Unit
from kvaudit.analyzers.source.python.messages import text_of_block
from kvaudit.analyzers.source.python.values import Part, Value, inner_values
from kvaudit.core.document import Observation, Origin, Position, Volatility

MIN_FIXED_TOKENS = 256
"""Less fixed text than this is not worth a marker of its own."""

_MARK = ("cache_control", "cachePoint", "cache_point")
_COUNTS = re.compile(
    r"len\(|== ?|<|>|\bnot in\b|last|first|remaining|count|index|\bi\b", re.IGNORECASE
)


def observed(engine: Engine, unit: Unit, drafts: Sequence[Draft]) -> Iterator[Observation]:
    """Yield what is wrong with the markers that a function sets."""
    yield from _in_loops(engine, unit)
    yield from _on_mixed_blocks(engine, unit, drafts)
    yield from _lifetimes(drafts)


_MAPS = (ast.ListComp, ast.GeneratorExp)


@lru_cache(maxsize=8)
def _says(text: str, words: tuple[str, ...]) -> bool:
    """Whether a word stands in a file; kept, since every function of the file asks."""
    return any(word in text for word in words)


def _in_loops(engine: Engine, unit: Unit) -> Iterator[Observation]:
    if not _says(engine.module.source.text, _MARK):
        return
    above = parents(engine, unit)
    for node in nodes(engine, unit):
        if isinstance(node, ast.Assign) and any(_is_marker(t) for t in node.targets):
            loop = _unguarded_loop(engine, node, above)
            if loop is not None:
                detail = f"{short(engine, node)} is set on every round"
                yield observe(engine, node, "too-many-markers", detail, position=Position.SYSTEM)
        elif isinstance(node, _MAPS) and _marks_each(node):
            detail = f"{short(engine, node)} marks every block"
            yield observe(engine, node, "too-many-markers", detail, position=Position.SYSTEM)


def _is_marker(target: ast.expr) -> bool:
    if isinstance(target, ast.Subscript):
        return isinstance(target.slice, ast.Constant) and target.slice.value in _MARK
    return isinstance(target, ast.Attribute) and target.attr in _MARK


def _marks_each(node: ast.ListComp | ast.GeneratorExp) -> bool:
    rows = node.generators[0]
    limited = bool(rows.ifs) or _is_slice(rows.iter) or isinstance(rows.iter, ast.List)
    return isinstance(node.elt, ast.Dict) and _dict_is_marked(node.elt) and not limited


def _dict_is_marked(node: ast.Dict) -> bool:
    marks = [
        v
        for k, v in zip(node.keys, node.values, strict=True)
        if isinstance(k, ast.Constant) and k.value in _MARK
    ]
    return bool(marks) and not any(isinstance(v, ast.Constant | ast.IfExp) for v in marks)


def _unguarded_loop(
    engine: Engine, node: ast.Assign, above: dict[ast.AST, ast.AST]
) -> ast.For | None:
    """Return the loop that sets a marker on each round; None where something limits it."""
    if isinstance(node.value, ast.Constant):
        return None
    at: ast.AST = node
    while at in above:
        outer = above[at]
        if (
            isinstance(outer, ast.If)
            and at in outer.body
            and _COUNTS.search(engine.module.written(outer.test))
        ):
            return None
        if isinstance(outer, ast.For):
            ends = any(isinstance(inner, ast.Break | ast.Return) for inner in ast.walk(outer))
            names = {n.id for n in ast.walk(outer.target) if isinstance(n, ast.Name)}
            uses = {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            fixed = isinstance(outer.iter, ast.List | ast.Tuple)
            if ends or _is_slice(outer.iter) or fixed or not names & uses:
                return None
            return outer
        at = outer
    return None


def _is_slice(node: ast.expr) -> bool:
    return any(
        isinstance(inner, ast.Subscript) and isinstance(inner.slice, ast.Slice)
        for inner in ast.walk(node)
    )


def _on_mixed_blocks(engine: Engine, unit: Unit, drafts: Sequence[Draft]) -> Iterator[Observation]:
    told: set[int] = set()
    for draft in drafts:
        before: list[Part] = []
        marked_before = False
        for entry in draft.entries:
            parts = [p for p in entry.value.printed if p.text != ""]
            if entry.marked and parts:
                told |= {id(p) for p in parts}
                if entry.position in (Position.TOOLS, Position.SYSTEM):
                    yield from _mixed(parts, [] if marked_before else before)
                yield from _one_shot(unit, parts)
                marked_before = True
            before += parts
    for name, value in _named_blocks(unit):
        for block in _marked_blocks(value):
            parts = [p for p in text_of_block(block).printed if p.text != ""]
            if parts and not any(id(p) in told for p in parts):
                told |= {id(p) for p in parts}
                if called(name) in (Called.SYSTEM, Called.PROMPT, Called.CONTEXT):
                    yield from _mixed(parts, [])


def _named_blocks(unit: Unit) -> Iterator[tuple[str, Value]]:
    yield from unit.env.items()
    for _, value in unit.returns:
        yield unit.name, value


def _marked_blocks(value: Value, depth: int = 4) -> Iterator[Value]:
    if is_marked(value):
        yield value
    for inner in inner_values(value) if depth else ():
        yield from _marked_blocks(inner, depth - 1)


def _mixed(parts: Sequence[Part], before: Sequence[Part]) -> Iterator[Observation]:
    """Yield a block that is marked as one though it holds both fixed and changing text."""
    changing = [part for part in parts if _is_changing(part)]
    if not changing:
        return
    first = changing[0]
    at = list(parts).index(first)
    fixed = sum(_size(part) for part in parts[:at])
    behind = sum(_size(part) for part in parts[at + 1 :])
    if fixed >= MIN_FIXED_TOKENS:
        kind, detail = (
            "static-and-dynamic-in-one-block",
            "stands in one marked block with fixed text",
        )
    elif first.volatility >= Volatility.TURN and (
        behind >= MIN_FIXED_TOKENS or sum(_size(part) for part in before) >= MIN_FIXED_TOKENS
    ):
        kind, detail = "marker-on-volatile", "changes under the marker, so nobody reads the write"
    elif behind >= MIN_FIXED_TOKENS:
        kind, detail = (
            "static-and-dynamic-in-one-block",
            "stands in one marked block with fixed text",
        )
    else:
        return
    yield Observation(
        kind=kind,
        source=first.source,
        span=first.span,
        detail=f"{first.expression} {detail}",
        evidence=first.evidence,
        position=Position.SYSTEM,
        lost_tokens=fixed + behind,
        trail=first.trail,
    )


def _is_changing(part: Part) -> bool:
    return (
        part.text is None
        and part.volatility >= Volatility.IDENTITY
        and part.origin is not Origin.UNKNOWN
    )


def _size(part: Part) -> int:
    if part.text is not None:
        return estimate_tokens(part.text)
    return part.tokens or 0 if part.volatility <= Volatility.DEPLOY else 0


def _one_shot(unit: Unit, parts: Sequence[Part]) -> Iterator[Observation]:
    """Yield a marker on a call that is made once for each text."""
    if not ONE_SHOT.search(unit.name) or sum(_size(p) for p in parts) >= MIN_FIXED_TOKENS:
        return
    own = next((p for p in parts if p.text is None and p.volatility > Volatility.DEPLOY), None)
    if own is not None:
        yield Observation(
            kind="one-shot-write",
            source=own.source,
            span=own.span,
            detail=f"{own.expression} is sent once, in {unit.name}",
            position=Position.NEWEST,
        )


def _lifetimes(drafts: Sequence[Draft]) -> Iterator[Observation]:
    for draft in drafts:
        shorter = False
        for entry in draft.entries:
            if entry.ttl is None or not entry.marked:
                continue
            if entry.ttl == "1h" and shorter and entry.at is not None:
                yield Observation(
                    kind="lifetime-order",
                    source=entry.at[0],
                    span=entry.at[1],
                    detail="a marker of an hour stands behind one of five minutes",
                )
            shorter = shorter or entry.ttl != "1h"
