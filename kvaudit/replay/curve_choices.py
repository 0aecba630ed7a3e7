"""The capacities of a curve that are worth naming: its knee, and one that is enough."""

from __future__ import annotations

from collections.abc import Sequence

from kvaudit.core.curve import Choice, Exactness
from kvaudit.replay.curve_pass import CurvePass, Hits
from kvaudit.replay.curve_points import Pair

KEPT = 0.95
"""The recommended capacity keeps this share of the hits of a cache without a bound."""
KNEE = (
    "where hits over capacity stand highest above the straight line from no cache to the least "
    "one that loses nothing: from here on a block brings less than blocks do on average"
)
RECOMMENDED = f"the least capacity that keeps {KEPT:.0%} of the hit tokens of an unbounded cache"
NO_OUTPUT = "generated text taken as never hit"
OF_THESE = "of the capacities replayed, "


def marks(own: CurvePass, first_request: int) -> list[int]:
    """Return knee and recommended capacity by one pass: exact, or else an estimate."""
    _, tokens, _ = own.curves(first_request)
    if not tokens.total:
        return []
    both = tokens.knee(), tokens.least_capacity(_kept(tokens.total))
    return [max(capacity, own.largest_request_blocks) for capacity in both]


def choices(pair: Pair, points: Sequence[Hits]) -> tuple[Choice | None, Choice | None]:
    """Return knee and recommended capacity; None where nothing is hit.

    Where one pass is exact they are of all capacities, else of the ``points``, which should
    hold `marks` and a cache without a bound.
    """
    own, first = pair.own, pair.counted.first
    if own.is_exact(own.largest_request_blocks):
        found = own.hits(marks(own, first), pair.counted)
        if not found:
            return None, None
        knee, enough = found
        return _choice(pair, knee, KNEE), _choice(pair, enough, RECOMMENDED)
    bounded = sorted(
        (p for p in points if p.capacity_blocks is not None), key=lambda p: p.capacity_blocks or 0
    )
    total = max((p.hit_tokens for p in points), default=0)
    if not bounded or not total:
        return None, None
    full = next(p.capacity_blocks for p in bounded if p.hit_tokens == bounded[-1].hit_tokens) or 1

    def height(point: Hits) -> float:
        return point.hit_tokens / total - (point.capacity_blocks or 0) / full

    keeping = _least_that_keeps(bounded, _kept(total))
    return (
        _choice(pair, max(bounded, key=height), OF_THESE + KNEE),
        _choice(pair, keeping, OF_THESE + RECOMMENDED) if keeping is not None else None,
    )


def _least_that_keeps(bounded: Sequence[Hits], hit_tokens: int) -> Hits | None:
    """Return the first point from which on none hits less; a larger cache may, in some engines."""
    enough = None
    for point in reversed(bounded):
        if point.hit_tokens < hit_tokens:
            break
        enough = point
    return enough


def _choice(pair: Pair, hits: Hits, definition: str) -> Choice:
    blocks = hits.capacity_blocks
    assert blocks is not None
    exactness = Exactness.REPLAYED if hits.replayed else Exactness.EXACT
    if pair.spelled is not None:
        exactness, definition = Exactness.BOUNDS, f"{definition}; {NO_OUTPUT}"
    return Choice(
        capacity_blocks=blocks,
        capacity_tokens=pair.sizes.tokens(blocks) or 0,
        capacity_bytes=pair.sizes.bytes(blocks),
        hit_tokens=hits.hit_tokens,
        hit_rate=pair.rate(hits.hit_tokens),
        exactness=exactness,
        definition=definition,
    )


def _kept(total: int) -> int:
    return -(-total * round(100 * KEPT) // 100)
