"""From the passes over a log to the parts of a `SweepReport`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.curve import Choice, CurvePoint, Exactness, GroupCurve, TierCurve, Variant
from kvaudit.core.quantities import Capacity
from kvaudit.core.summaries import Bounds, EngineSummary
from kvaudit.replay.capacity_grid import POINTS, REPLAYED_POINTS, default_grid
from kvaudit.replay.curve_choices import choices, marks
from kvaudit.replay.curve_pass import CurvePass
from kvaudit.replay.curve_passes import Passes, PassesOfLog
from kvaudit.replay.curve_points import Pair, Sizes
from kvaudit.replay.plan import first_counted

_ORDER = (Exactness.EXACT, Exactness.REPLAYED, Exactness.BOUNDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """What a sweep found: the parts of a `SweepReport` that it knows."""

    engine: EngineSummary
    definition: str
    method: str
    exactness: Exactness
    counted_requests: int
    counted_tokens: int
    curve: Sequence[CurvePoint]
    optimal: Sequence[CurvePoint]
    possible_tokens: int
    possible_bounds: Bounds | None
    largest_request_blocks: int
    distinct_blocks: int
    knee: Choice | None
    recommended: Choice | None
    block_sizes: Sequence[Variant]
    policies: Sequence[Variant]
    instances: Sequence[Variant]
    tiers: Sequence[TierCurve]
    tier_remarks: Sequence[str]
    """What must be said of these, in sentences."""
    groups: Sequence[GroupCurve]
    span_s: float | None
    prompt_tokens: NDArray[np.int64]
    """Of every request."""
    output_tokens: NDArray[np.int64]


def summed_up(passes: PassesOfLog, watch: Callable[[], None]) -> SweepResult:
    """Return what the passes found; ``watch`` is called after every capacity."""
    for each in passes:
        if each is not None:
            each.watch(watch)
    return _Summary(*passes).result()


class _Summary:
    def __init__(self, passes: Passes, spelled: Passes | None) -> None:
        self._passes, self._spelled = passes, spelled
        self._plan = passes.plan
        requests = len(passes.log.prompt_tokens.values())
        self._counted = passes.groups.counted(first_counted(self._plan.cache.warmup, requests))
        self._main = self._pair(passes.main, spelled.main if spelled is not None else None)

    def result(self) -> SweepResult:
        log, main = self._passes.log, self._passes.main
        capacities = self._capacities()
        hits, curve = self._main.swept(capacities)
        knee, recommended = choices(self._main, hits)
        possible_tokens, possible_bounds = self._main.possible()
        return SweepResult(
            engine=self._engine(),
            definition=self._definition(),
            method=self._method(curve),
            exactness=_least_exact(curve),
            counted_requests=len(log.prompt_tokens.values()) - self._counted.first,
            counted_tokens=self._main.prompt_tokens,
            curve=curve,
            optimal=self._main.optimal(capacities) if self._has_optimal() else (),
            possible_tokens=possible_tokens,
            possible_bounds=possible_bounds,
            largest_request_blocks=main.largest_request_blocks,
            distinct_blocks=main.distinct_blocks,
            knee=knee,
            recommended=recommended,
            block_sizes=self._block_sizes(curve),
            policies=self._policies(capacities),
            instances=self._instances(capacities),
            tiers=self._tiers(capacities),
            tier_remarks=self._tier_remarks(),
            groups=self._passes.groups.curves(self._counted, log.prompt_tokens.values(), hits),
            span_s=log.span_s(),
            prompt_tokens=log.prompt_tokens.values(),
            output_tokens=log.output_tokens.values(),
        )

    def _has_optimal(self) -> bool:
        return self._plan.optimal and self._main.own.rules.has_optimal

    def _pair(self, own: CurvePass, spelled: CurvePass | None) -> Pair:
        sizes = Sizes(
            # Logged blocks may differ in size from request to request; this is the largest.
            self._passes.prompts.block_tokens or own.settings.block_size,
            self._plan.cache.kv_bytes_per_token,
        )
        return Pair(own, spelled, self._counted, sizes)

    def _blocks(self, capacity: Capacity) -> int | None:
        return capacity.to_blocks(
            block_size=self._main.sizes.block_tokens,
            kv_bytes_per_token=self._plan.cache.kv_bytes_per_token,
        )

    def _capacities(self) -> list[int | None]:
        if self._plan.capacities:
            return [self._blocks(capacity) for capacity in self._plan.capacities]
        main, first = self._passes.main, self._counted.first
        _, tokens, _ = main.curves(first)
        exact = main.is_exact(main.largest_request_blocks)
        grid = default_grid(
            main.largest_request_blocks,
            tokens.full_capacity,
            POINTS if exact else REPLAYED_POINTS,
        )
        named = {c for c in grid if c is not None}
        if not exact:
            named.update(marks(main, first))
        own = self._blocks(self._plan.cache.capacity)
        if own is not None:
            named.add(own)
        return [*sorted(named), None]

    def _block_sizes(self, curve: Sequence[CurvePoint]) -> list[Variant]:
        """Return the same capacities in tokens at other block sizes."""
        variants = []
        for size, own in self._passes.sizes.items():
            spelled = self._spelled.sizes[size] if self._spelled is not None else None
            pair = self._pair(own, spelled)
            tokens = [point.capacity_tokens for point in curve]
            capacities = [None if t is None else max(t // size, 1) for t in tokens]
            variants.append(self._variant(pair, capacities))
        return variants

    def _policies(self, capacities: Sequence[int | None]) -> list[Variant]:
        main, spelled = self._main.own, self._main.spelled
        pairs = [
            self._pair(main.under(policy), spelled.under(policy) if spelled is not None else None)
            for policy in self._plan.policies
        ]
        return [self._variant(pair, capacities) for pair in pairs]

    def _instances(self, capacities: Sequence[int | None]) -> list[Variant]:
        main, spelled = self._main.own, self._main.spelled
        variants = []
        for fleet in self._plan.fleets:
            pair = self._pair(
                main.behind(fleet), spelled.behind(fleet) if spelled is not None else None
            )
            replicas = fleet.instances or 1
            variant = self._variant(pair, capacities)
            variants.append(replace(variant, instances=replicas, router=fleet.router))
        return variants

    def _tiers(self, capacities: Sequence[int | None]) -> list[TierCurve]:
        plan = self._plan.cache.tiers
        if plan is None:
            return []
        from kvaudit.replay.curve_tiers import tier_curves

        return tier_curves(self._main, plan, capacities)

    def _tier_remarks(self) -> list[str]:
        plan = self._plan
        if plan.cache.tiers is None:
            return []
        from kvaudit.replay.curve_tiers import tier_remarks

        has_variants = bool(plan.block_sizes or plan.policies or plan.fleets)
        own = self._main.own
        return list(tier_remarks(own, plan.cache.tiers, has_variants=has_variants))

    def _variant(self, pair: Pair, capacities: Sequence[int | None]) -> Variant:
        _, points = pair.swept([*capacities, None])
        unbounded = points.pop()
        shared = int(pair.own.shared_tokens[self._counted.first :].sum())
        return Variant(
            policy=pair.own.settings.policy,
            block_size=pair.sizes.block_tokens,
            instances=1,
            router=None,
            hit_rate=unbounded.hit_rate,
            partial_block_tokens=max(shared - unbounded.hit_tokens, 0),
            exactness=_least_exact(points),
            curve=points,
        )

    def _engine(self) -> EngineSummary:
        settings, cache = self._passes.settings, self._plan.cache
        bounded = replace(settings, capacity_blocks=self._main.own.largest_request_blocks)
        return EngineSummary(
            name=self._passes.engine.name,
            version=settings.version,
            block_size=self._main.sizes.block_tokens,
            capacity_blocks=None,
            capacity_bytes=None,
            model=cache.model,
            kv_bytes_per_token=cache.kv_bytes_per_token,
            policy=settings.policy,
            schedule=settings.schedule,
            exactness=self._passes.engine.exactness(bounded),
        )

    def _definition(self) -> str:
        first = self._counted.first
        part = f"after a warm-up of {first:,} requests" if first else "whole log, cold start"
        return f"hit tokens / prompt tokens, {part}, {self._passes.engine.definition}"

    def _method(self, curve: Sequence[CurvePoint]) -> str:
        """Say how the points were found."""
        main, largest = self._main.own, self._main.own.largest_request_blocks
        if not main.rules.is_stack:
            return "each capacity by itself: a cache does not hold what a larger one holds first"
        if main.recomputing_requests:
            return (
                f"each capacity by itself: {main.recomputing_requests:,} requests are computed "
                "again in a block that may be held, which is then held twice, and which of the "
                "two is used depends on the capacity"
            )
        text = f"one pass for all capacities from {largest:,} blocks on, equal to a replay at each"
        if any(point.exactness is Exactness.REPLAYED for point in curve):
            text += "; smaller ones, which do not hold the largest request, are replayed"
        return text


def _least_exact(points: Sequence[CurvePoint]) -> Exactness:
    return max((point.exactness for point in points), key=_ORDER.index)
