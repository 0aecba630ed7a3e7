"""A log under one policy at many thresholds: the figures of a replay at each.

What is near is found once, as a graph; thresholds that a small enough graph does not reach are
replayed with products of their own. Either way a point is what a replay at its threshold says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import UsageError
from kvaudit.core.scales import cosine_of, in_scale
from kvaudit.core.semantic import SemanticCurve, ThresholdPoint
from kvaudit.replay.semantic import blocks, graph
from kvaudit.replay.semantic.counts import count
from kvaudit.replay.semantic.policy import SemanticPolicy
from kvaudit.replay.semantic.run import Prepared, SemanticRun, judged
from kvaudit.replay.semantic.summary import DEFINITION, policy_summary
from kvaudit.replay.semantic.truth import DEFINITIONS

GRID = tuple(round(0.99 - 0.02 * step, 2) for step in range(15))
"""Cosines that are swept where none are named."""
MOST_POINTS = 200


def default_thresholds(policy: SemanticPolicy) -> list[float]:
    """Return the grid, and the policy's own threshold, on its scale from strict to loose."""
    cosines = sorted({*GRID, policy.cosine}, reverse=True)
    return [
        policy.threshold if cosine == policy.cosine else in_scale(cosine, policy.scale)
        for cosine in cosines
    ]


def sweep_thresholds(
    prepared: Prepared,
    thresholds: Sequence[float],
    *,
    name: str,
    first: int,
    tell: Callable[[int], None] = lambda done: None,
) -> SemanticCurve:
    """Replay at each threshold, in the order given, from request number ``first`` on counted."""
    if len(thresholds) > MOST_POINTS:
        raise UsageError(f"--thresholds: {len(thresholds)} are more than {MOST_POINTS}")
    policy = prepared.policy
    if policy.per_entry is not None:
        raise UsageError("per_entry learns a threshold for each entry; there is none to sweep")
    cosines = [cosine_of(threshold, policy.scale) for threshold in thresholds]
    least = [float(_cosines(prepared, cosine).min(initial=1)) for cosine in cosines]
    near = graph.build(prepared.lookups, sorted(set(least))) if least else None
    points = []
    run: SemanticRun | None = None
    for number, (threshold, cosine) in enumerate(zip(thresholds, cosines, strict=True)):
        lookups = replace(prepared.lookups, cosines=_cosines(prepared, cosine))
        on_graph = near is not None and least[number] >= near.floor
        if near is not None and on_graph:
            served = graph.serve(lookups, prepared.rules, near)
        else:
            served = blocks.serve(lookups, prepared.rules)
        run = judged(prepared, served)
        points.append(_point(run, threshold, cosine, first, on_graph=on_graph))
        tell(number + 1)
    assert run is not None
    return SemanticCurve(
        name=name,
        policy=policy_summary(policy, prepared.encoder),
        basis=str(run.verdicts.basis),
        points=points,
        graph_floor=near.floor if near is not None else None,
        graph_pairs=near.edges if near is not None else None,
        definition=DEFINITION,
        basis_definition=DEFINITIONS[run.verdicts.basis],
    )


def _cosines(prepared: Prepared, cosine: float) -> NDArray[np.float64]:
    """Return each lookup's threshold: the one that is swept, but where its scenario has its own."""
    own = prepared.policy.cosines
    scenarios = [prepared.asked[i].scenario for i in prepared.inside]
    return np.array([own.get(name or "", cosine) for name in scenarios], np.float64)


def _point(
    run: SemanticRun, threshold: float, cosine: float, first: int, *, on_graph: bool
) -> ThresholdPoint:
    counts = count(run, first)
    return ThresholdPoint(
        threshold=threshold,
        cosine=cosine,
        lookups=counts.lookups,
        exact_hits=counts.exact_hits,
        hits=counts.hits,
        hit_rate=counts.hit_rate,
        labelled=counts.labelled,
        false_hits=counts.false_hits,
        false_hit_rate=counts.false_hit_rate,
        false_hit_rate_upper95=counts.upper95,
        population=counts.population,
        errors_per_request=counts.errors_per_request,
        method="graph" if on_graph else "replayed",
    )
