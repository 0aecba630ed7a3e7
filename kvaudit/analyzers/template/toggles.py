"""Independent switches in front of fixed text: each multiplies the prefixes there can be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvaudit.analyzers.profile import MIN_STABLE_TOKENS
from kvaudit.analyzers.sizes import estimate_tokens
from kvaudit.analyzers.template.pieces import Item, Piece, Switch
from kvaudit.core.document import Observation, Volatility

MAX_PREFIXES = 8
"""Fewer prefixes than this share well enough."""


def toggles(items: Sequence[Item]) -> Iterator[Observation]:
    """Yield one observation where the switches before the last large fixed text are many."""
    last = _last_fixed(items)
    before = {i.test: i for i in items[: max(last, 0)] if isinstance(i, Switch) and _varies(i)}
    product = 1
    for switch in before.values():
        product *= switch.cases
    if product <= MAX_PREFIXES:
        return
    first = next(iter(before.values()))
    yield Observation(
        kind="conditional-toggles",
        source=first.source,
        span=first.span,
        detail=f"{len(before)} independent branches stand before text that all prompts share, "
        f"which makes up to {product} prefixes",
        evidence=first.value.evidence,
        lost_tokens=sum(
            estimate_tokens(item.text or "")
            for item in items[last:]
            if isinstance(item, Piece) and not item.other_arm
        ),
    )


def _varies(switch: Switch) -> bool:
    """A switch that a deployment sets, or that the template decides itself, is no toggle."""
    return switch.value.volatility >= Volatility.IDENTITY


def _last_fixed(items: Sequence[Item]) -> int:
    """Return the place of the last run of text that is worth sharing, -1 without one."""
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        if not isinstance(item, Piece) or item.other_arm:
            continue
        if estimate_tokens(item.text or "") >= MIN_STABLE_TOKENS:
            return index
    return -1
