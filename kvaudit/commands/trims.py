"""What dropping old messages costs: what is computed again at once, against what is not read later.

Dropping makes prompts shorter, but all that stands behind the gap has to be computed again. Where a
cached token has a price, the shorter prompt pays that back after some turns; where reading from
the cache costs no prefill, as in an engine of one's own, it never does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kvaudit.commands.loss_prices import price_of
from kvaudit.core.why import Cause, DivergenceGroup, Trim, Trims

if TYPE_CHECKING:
    from kvaudit.commands.diagnosis import Diagnosis

_SHOWN = 5


def with_trims(diagnosis: Diagnosis, groups: Sequence[DivergenceGroup]) -> list[DivergenceGroup]:
    """Return the groups, those of trimmed histories with what each trim costs."""
    return [
        replace(group, trims=_trims(diagnosis, number))
        if group.cause is Cause.HISTORY_TRIMMED and number >= 0
        else group
        for group, number in zip(groups, diagnosis.numbers, strict=True)
    ]


def _trims(diagnosis: Diagnosis, number: int) -> Trims:
    found, share = diagnosis.found, _read_share(diagnosis)
    columns = found.columns()
    places = np.flatnonzero(columns["group"] == number)
    kin = columns["prompt"][columns["kin"][places]]
    again = columns["lost"][places]
    removed = np.maximum(kin - columns["shared"][places] - again, 0)
    most = np.argsort(-again, kind="stable")[:_SHOWN].tolist()
    return Trims(
        trims=len(places),
        removed_tokens=int(removed.sum()),
        again_tokens=int(again.sum()),
        read_share=share,
        break_even_turns=_break_even(int(removed.sum()), int(again.sum()), share),
        most=[
            Trim(
                request=found.ids(found.number_of(int(places[at])), -1)[0],
                removed_tokens=int(removed[at]),
                again_tokens=int(again[at]),
                break_even_turns=_break_even(int(removed[at]), int(again[at]), share),
            )
            for at in most
        ],
    )


def _break_even(removed: int, again: int, read_share: float | None) -> int | None:
    if not read_share or not removed:
        return None
    return int(np.ceil(again * (1 - read_share) / (removed * read_share)))


def _read_share(diagnosis: Diagnosis) -> float | None:
    """Return what a cached token costs of a computed one, for a provider's model."""
    price = price_of(diagnosis)
    if price is None or price.cached_read is None or not price.input:
        return None
    return price.cached_read / price.input
