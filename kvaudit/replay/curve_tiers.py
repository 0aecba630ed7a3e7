"""The curve with tiers below the engine's cache: what each adds at every capacity of the first.

Every capacity is a replay, as `kvaudit replay --l2` would do it. Which tier holds a block depends
on what the tiers above it dropped or hit, so that one pass gives all capacities only for rules
that no engine has in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from kvaudit.core.curve import TierCurve
from kvaudit.replay.curve_pass import Counted, CurvePass, Hits
from kvaudit.replay.curve_points import Pair
from kvaudit.replay.tier_caches import tier_rules, with_tiers
from kvaudit.replay.tiers import TierPlan


def tier_curves(pair: Pair, plan: TierPlan, capacities: Sequence[int | None]) -> list[TierCurve]:
    """Return a curve for each tier below the first: the hits of it and of all faster ones."""
    own = _swept(pair.own, plan, capacities, pair)
    spelled = None if pair.spelled is None else _swept(pair.spelled, plan, capacities, pair)
    rules = tier_rules(pair.own.engine, plan)
    settings = pair.own.settings
    size = settings.chunk_size if plan.is_lmcache else settings.block_size
    sizes = replace(pair.sizes, block_tokens=size)
    curves = []
    for number, capacity in enumerate(plan.capacities):
        blocks = capacity.to_blocks(
            block_size=size,
            kv_bytes_per_token=sizes.kv_bytes_per_token,
        )
        curves.append(
            TierCurve(
                name=rules.names[number + 1],
                capacity_blocks=blocks,
                capacity_bytes=sizes.bytes(blocks),
                curve=[
                    pair.point(hits[number], None if spelled is None else spelled[at][number])
                    for at, hits in enumerate(own)
                ],
            )
        )
    return curves


def tier_remarks(own: CurvePass, plan: TierPlan, *, has_variants: bool) -> Iterator[str]:
    """Yield what must be said of the tiers of a sweep, in sentences.

    ``has_variants``: block sizes, policies or numbers of replicas are compared beside them.
    """
    if plan.is_lmcache:
        from kvaudit.replay.connected import store_note

        settings = own.settings
        rules = tier_rules(own.engine, plan)
        yield store_note(rules, settings.chunk_size, settings.chunk_policy)
    if has_variants:
        yield "block sizes, policies and replicas are compared without tiers below them"


def _swept(
    own: CurvePass, plan: TierPlan, capacities: Sequence[int | None], pair: Pair
) -> list[list[Hits]]:
    per_token = pair.sizes.kv_bytes_per_token
    return own.each(
        lambda capacity: _replayed(own, plan, capacity, pair.counted, per_token), capacities
    )


def _replayed(
    own: CurvePass, plan: TierPlan, capacity: int | None, counted: Counted, per_token: int | None
) -> list[Hits]:
    """Return what is hit at one capacity down to each lower tier."""
    settings = replace(own.settings, capacity_blocks=capacity)
    cache = with_tiers(own.engine, settings, plan, per_token=per_token)
    outcomes = [cache.replay(*part) for part in own.log]
    admitted = np.concatenate([outcome.admitted for outcome in outcomes])[counted.first :]
    tokens = np.vstack([column.values()[counted.first :] for column in cache.tier_tokens])
    down_to = np.cumsum(tokens, axis=0)[1:]
    return [
        Hits(
            capacity,
            int(row.sum()),
            int((-(-row // settings.block_size)).sum()),
            int((~admitted).sum()),
            True,
            np.empty(0, np.int64),
        )
        for row in down_to
    ]
