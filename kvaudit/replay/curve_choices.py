"""The capacities of a curve that are worth naming: its knee, and one that is enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
DOUBLINGS = 4
"""Of the least LRU that loses nothing, where another policy loses some even there."""
NARROW = 0.02
WITHIN = f"to within {NARROW:.0%}, "


def marks(own: CurvePass, first_request: int) -> list[int]:
    """Return knee and recommended capacity by one pass: exact, or else an estimate."""
    _, tokens, _ = own.curves(first_request)
    if not tokens.total:
        return []
    both = tokens.knee(), tokens.least_capacity(_kept(tokens.total))
    return [max(capacity, own.largest_request_blocks) for capacity in both]


def choices(pair: Pair, points: Sequence[Hits]) -> tuple[Choice | None, Choice | None]:
    """Return knee and recommended capacity; None where nothing is hit, or no point keeps enough.

    Where one pass is exact they are of all capacities, else of the ``points`` and of those that
    are replayed to narrow the second one down.
    """
    own, first = pair.own, pair.counted.first
    if own.is_exact(own.largest_request_blocks):
        found = own.hits(marks(own, first), pair.counted)
        if not found:
            return None, None
        knee, enough = found
        return _knee(pair, knee, KNEE), _choice(pair, enough, RECOMMENDED)
    return _of_replayed(pair, points)


def _of_replayed(pair: Pair, points: Sequence[Hits]) -> tuple[Choice | None, Choice | None]:
    own, first = pair.own, pair.counted.first
    known = {point.capacity_blocks: point for point in points}
    _, estimate, _ = own.curves(first)
    full = max(estimate.full_capacity, own.largest_request_blocks)

    def replay(*capacities: int | None) -> None:
        missing = [capacity for capacity in capacities if capacity not in known]
        known.update((h.capacity_blocks, h) for h in own.hits(missing, pair.counted))

    replay(*marks(own, first), full, None)
    total = known[None].hit_tokens
    if not total:
        return None, None
    for doubled in (full << n for n in range(1, DOUBLINGS + 1)):
        if _bracket(known, _kept(total))[1] is None:
            replay(doubled)
    while (middle := _between(known, _kept(total))) is not None:
        replay(middle)

    def height(capacity: int) -> float:
        return known[capacity].hit_tokens / total - capacity / full

    bounded = sorted(capacity for capacity in known if capacity is not None)
    _, enough = _bracket(known, _kept(total))
    return (
        _knee(pair, known[max(bounded, key=height)], OF_THESE + KNEE),
        _choice(pair, known[enough], WITHIN + RECOMMENDED) if enough is not None else None,
    )


def _bracket(known: Mapping[int | None, Hits], hit_tokens: int) -> tuple[int, int | None]:
    """Return the largest known capacity that hits less, and the next one, None if there is none.

    A larger cache may hit less in some engines; from the second on none does that is known.
    """
    enough = None
    for capacity in sorted((c for c in known if c is not None), reverse=True):
        if known[capacity].hit_tokens < hit_tokens:
            return capacity, enough
        enough = capacity
    return 0, enough


def _between(known: Mapping[int | None, Hits], hit_tokens: int) -> int | None:
    """Return a capacity to try next, or None where the bracket is narrow enough."""
    less, enough = _bracket(known, hit_tokens)
    if enough is None or enough - less <= max(1, int(NARROW * enough)):
        return None
    return (less + enough) // 2


def _knee(pair: Pair, hits: Hits, definition: str) -> Choice | None:
    """Return the knee; None where hits stay below the line, as under LRU on a loop over a log."""
    return _choice(pair, hits, definition) if hits.hit_tokens else None


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
