"""The sums of a semantic replay, over the requests behind the warm-up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import ceil, log, log1p

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.semantic import (
    PrefixLayer,
    SamplingPlan,
    SavedFlops,
    SemanticPolicySummary,
    SemanticSummary,
    ServedPair,
)
from kvaudit.replay.semantic.counts import behind, count, semantic_hits, wrong_hits
from kvaudit.replay.semantic.gather import numbered
from kvaudit.replay.semantic.guards.entities import differences
from kvaudit.replay.semantic.policy import SemanticPolicy
from kvaudit.replay.semantic.run import SemanticRun
from kvaudit.replay.semantic.texts import folded
from kvaudit.replay.semantic.truth import DEFINITIONS, UNKNOWN, WRONG

EXAMPLES = 20
MOST_COMPARED = 10_000
"""Hits whose texts the entity rule compares; of more, so many drawn at random."""
SEED = 0
OTHER_TENANT, OTHER_PARAMETERS, STALE = "tenant", "parameters", "stale"
NOT_PRICED = SavedFlops(prefill=None, decode=None)
NOT_SEEN = "not seen by the rule"

DEFINITION = (
    "semantic hits / requests looked up, whole log in order of arrival, cold start; exact hits are "
    "counted apart; false-hit rate = wrong semantic hits / semantic hits with a verdict"
)


def summarize(
    run: SemanticRun,
    *,
    first: int = 0,
    saved_flops: SavedFlops = NOT_PRICED,
    prefix_layer: PrefixLayer | None = None,
) -> SemanticSummary:
    """Return what the cache served from request number ``first`` on."""
    counted, semantic = behind(run, first), behind(run, first) & semantic_hits(run)
    counts = count(run, first)
    false_pairs = [_pair(run, i, differs=_differs(run, i)) for i in wrong_hits(run, first)]
    crossing = _crossing(run, counted & run.answered)
    compared = _sample(np.flatnonzero(semantic))
    return SemanticSummary(
        lookups=counts.lookups,
        bypassed=int(counted.sum()) - counts.lookups,
        exact_hits=counts.exact_hits,
        hits=counts.hits,
        hit_rate=counts.hit_rate,
        repeated_hits=_repeated(run, semantic),
        vetoed=int((counted & run.served.vetoed).sum()),
        donors=len(np.unique(run.served.donors[semantic])),
        labelled=counts.labelled,
        false_hits=counts.false_hits,
        false_hit_rate=counts.false_hit_rate,
        false_hit_rate_upper95=counts.upper95,
        population=counts.population,
        errors_per_request=counts.errors_per_request,
        basis=str(run.verdicts.basis),
        suspected_false_hits=sum(bool(_differs(run, i)) for i in compared),
        compared_hits=len(compared),
        stale_hits=_stale(run, semantic) if run.policy.stale_after else None,
        proxy=run.verdicts.proxy,
        sampling=_sampling(run.policy, counts.hits),
        design_effect=_design_effect(run, semantic & (run.verdicts.each != UNKNOWN)),
        false_by_cause=_causes(run, wrong_hits(run, first)),
        false_examples=false_pairs[:EXAMPLES],
        cross_tenant_hits=len(crossing),
        cross_tenant=crossing,
        saved_flops=saved_flops,
        prefix_layer=prefix_layer,
        policy=policy_summary(run.policy, run.encoder),
        definition=DEFINITION,
        basis_definition=DEFINITIONS[run.verdicts.basis],
    )


def _pair(run: SemanticRun, i: int, *, differs: Sequence[str] | None) -> ServedPair:
    own, donor = run.asked[i], run.asked[int(run.served.donors[i])]
    return ServedPair(
        request=own.id,
        donor=donor.id,
        similarity=float(run.served.similarities[i]),
        tenant=own.tenant,
        donor_tenant=donor.tenant,
        differs=differs,
    )


def _differs(run: SemanticRun, i: int) -> Sequence[str]:
    return _difference(run.asked[int(run.served.donors[i])].text, run.asked[i].text)


# The same two questions meet over and over.
_difference = lru_cache(MOST_COMPARED)(differences)


def _crossing(run: SemanticRun, answered: NDArray[np.bool_]) -> list[ServedPair]:
    """Return every hit that was served from another tenant's entry."""
    tenants, _ = numbered(one.tenant for one in run.asked)
    across = answered & (tenants[run.served.donors] != tenants)
    return [_pair(run, i, differs=None) for i in np.flatnonzero(across).tolist()]


def _sample(hits: NDArray[np.int64]) -> list[int]:
    """Return all hits, or some at random where the rule would take too long for all."""
    if len(hits) > MOST_COMPARED:
        hits = np.sort(np.random.default_rng(SEED).choice(hits, MOST_COMPARED, replace=False))
    drawn: list[int] = hits.tolist()
    return drawn


def _repeated(run: SemanticRun, semantic: NDArray[np.bool_]) -> int:
    donors = run.served.donors
    return sum(
        folded(run.asked[i].text) == folded(run.asked[int(donors[i])].text)
        for i in np.flatnonzero(semantic).tolist()
    )


def _causes(run: SemanticRun, wrong: Sequence[int]) -> dict[str, int]:
    """Count what differs between wrong hits and their donors."""
    causes: Counter[str] = Counter()
    for i in wrong:
        own, donor = run.asked[i], run.asked[int(run.served.donors[i])]
        found = list(_differs(run, i))
        if own.tenant != donor.tenant:
            found.append(OTHER_TENANT)
        if own.parameters != donor.parameters:
            found.append(OTHER_PARAMETERS)
        if not found and folded(own.text) == folded(donor.text):
            found.append(STALE)
        causes.update(found or [NOT_SEEN])
    return dict(sorted(causes.items()))


def _stale(run: SemanticRun, semantic: NDArray[np.bool_]) -> int:
    """Count hits whose answer is older than its scenario lets it be."""
    stale = 0
    for i in np.flatnonzero(semantic).tolist():
        own, donor = run.asked[i], run.asked[int(run.served.donors[i])]
        most = run.policy.stale_after.get(own.scenario or "")
        made_s = donor.finished_s if donor.finished_s is not None else donor.arrived_s
        if most is not None and made_s is not None and own.arrived_s is not None:
            stale += own.arrived_s - made_s > most
    return stale


def _sampling(policy: SemanticPolicy, hits: int) -> SamplingPlan | None:
    plan = policy.sampling
    if plan is None:
        return None
    return SamplingPlan(
        rate=plan.rate,
        limit=plan.limit,
        alpha=plan.alpha,
        expected_labels=round(plan.rate * hits),
        # The fewest of which none is wrong with chance alpha at a rate of the limit.
        needed_labels=ceil(log(plan.alpha) / log1p(-plan.limit)),
    )


def _design_effect(run: SemanticRun, judged: NDArray[np.bool_]) -> float | None:
    """Return the variance of the rate with hits clustered by donor, over that of a plain sample.

    The ratio estimator's variance over clusters (Cochran, Sampling Techniques, 1977, 9A).
    """
    wrong = (run.verdicts.each[judged] == WRONG).astype(np.float64)
    count = len(wrong)
    if count < 2 or not 0 < wrong.sum() < count:
        return None
    rate = wrong.mean()
    _, cluster = np.unique(run.served.donors[judged], return_inverse=True)
    clusters = int(cluster.max()) + 1
    if clusters < 2:
        return None
    excess = np.bincount(cluster, weights=wrong - rate)
    clustered = clusters / (clusters - 1) * float((excess**2).sum()) / count**2
    return clustered / (float(rate) * (1 - float(rate)) / count)


def policy_summary(policy: SemanticPolicy, encoder: str) -> SemanticPolicySummary:
    """Return the policy as a report shows it."""
    return SemanticPolicySummary(
        encoder=encoder,
        threshold=policy.threshold,
        scale=policy.scale,
        cosine=policy.cosine,
        cosines=policy.cosines,
        namespace=policy.namespace,
        key=policy.key,
        insert=policy.insert,
        per_entry_delta=None if policy.per_entry is None else policy.per_entry.delta,
        exact_tier=policy.exact_tier,
        entity_check=policy.entity_check,
        ttl_s=policy.ttl.seconds if policy.ttl is not None else None,
        sliding=policy.ttl is not None and policy.ttl.sliding,
        capacity=policy.capacity,
        eviction=policy.eviction,
    )
