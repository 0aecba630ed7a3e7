"""What the lost tokens of each group are worth: prefill FLOPs, and money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.why import DivergenceGroup
from kvaudit.cost.pricing import PER, Price, price_list
from kvaudit.cost.savings import HOUR_S, Costing

if TYPE_CHECKING:
    from kvaudit.commands.diagnosis import Diagnosis


def with_prices(diagnosis: Diagnosis, groups: Sequence[DivergenceGroup]) -> list[DivergenceGroup]:
    """Return the groups with what their lost tokens cost, where a model and prices are known."""
    costing, price = diagnosis.plan.costing, price_of(diagnosis)
    if costing is None and price is None:
        return list(groups)
    columns = diagnosis.found.columns()
    priced = []
    for group, number in zip(groups, diagnosis.numbers, strict=True):
        lost = np.where(columns["group"] == number, columns["lost"], 0)
        if number < 0 or not lost.any():
            priced.append(group)
            continue
        own = lost > 0
        hits, prompts = columns["hit"][own], columns["prompt"][own]
        flops, usd = _worth(costing, prompts, hits, lost[own])
        if price is not None and price.cached_read is not None:
            usd = int(lost.sum()) * (price.input - price.cached_read) / PER
        priced.append(replace(group, lost_flops=flops, lost_usd=usd))
    return priced


def price_of(diagnosis: Diagnosis) -> Price | None:
    """Return the provider's price of the model that is named, or that the log names first."""
    name = diagnosis.plan.model or next(iter(diagnosis.models()), None)
    return price_list(diagnosis.plan.engine or "").of(name).price


def _worth(
    costing: Costing | None,
    prompts: NDArray[np.int64],
    hits: NDArray[np.int64],
    lost: NDArray[np.int64],
) -> tuple[float | None, float | None]:
    """Return FLOPs and accelerator money of requests, less those with the lost tokens hit."""
    if costing is None:
        return None, None
    computed, shared = prompts - hits, hits + lost
    work = costing.work.prefill_flops_total
    flops = float(work(computed, hits) - work(prompts - shared, shared))
    roofline, price = costing.roofline, costing.usd_per_hour
    if roofline is None or price is None:
        return flops, None
    seconds = roofline.prefill_s(computed, hits) - roofline.prefill_s(prompts - shared, shared)
    return flops, float(seconds.sum()) * roofline.count / HOUR_S * price
