"""The sums and rates that a report is made of, from the columns of a replay.

A rate is hit tokens / prompt tokens over the counted requests, which are all but the warm-up.
Two more weightings stand beside it under their own names, because the same replay gives
36.6, 37.4 or 38.4 % on one trace depending on the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.results import (
    NamespaceSummary,
    PrefixSummary,
    Sampling,
    SessionsSummary,
    SessionSummary,
)
from kvaudit.replay.ledger import UNKNOWN, CacheLedger
from kvaudit.replay.lengths import quantile

OCCUPANCY_POINTS = 200
SESSIONS_SHOWN = 10


def summarize(
    prompt_tokens: NDArray[np.int64], cache: CacheLedger, *, counted: slice, definition: str
) -> PrefixSummary:
    """Sum one cache's hits over the counted requests."""
    prompts = prompt_tokens[counted]
    hit_tokens = cache.hit_tokens.values()[counted]
    blocks = int(cache.blocks.values()[counted].sum())
    total, hit = int(prompts.sum()), int(hit_tokens.sum())
    own = hit_tokens[prompts > 0] / prompts[prompts > 0]
    return PrefixSummary(
        requests=len(prompts),
        prompt_tokens=total,
        hit_tokens=hit,
        hit_rate=hit / total if total else None,
        block_hit_rate=int(cache.hit_blocks.values()[counted].sum()) / blocks if blocks else None,
        mean_request_hit_rate=float(own.mean()) if len(own) else None,
        computed_tokens=total - hit,
        evicted_blocks=None,
        peak_blocks=None,
        not_admitted=None,
        occupancy=None,
        definition=definition,
    )


def with_pool(
    summary: PrefixSummary, cache: CacheLedger, clock_s: NDArray[np.float64], counted: slice
) -> PrefixSummary:
    """Add what is known of a cache that was modelled block by block."""
    return replace(
        summary,
        evicted_blocks=int(cache.evicted_blocks.values()[counted].sum()),
        peak_blocks=cache.peak_blocks,
        not_admitted=int((cache.admitted.values()[counted] == 0).sum()),
        occupancy=thinned(clock_s, cache.held_blocks.values()),
    )


def reported(
    prompt_tokens: NDArray[np.int64], hit_tokens: NDArray[np.int64]
) -> PrefixSummary | None:
    """Return what the log's own counters say; None where no request carries them.

    ``hit_tokens`` is `UNKNOWN` for a request that does not say.
    """
    known = hit_tokens != UNKNOWN
    if not known.any():
        return None
    counters = CacheLedger()
    counters.add_hits(hit_tokens[known], hit_tokens[known], prompt_tokens[known])
    summary = summarize(
        prompt_tokens[known],
        counters,
        counted=slice(0, None),
        definition=(
            "cached tokens / prompt tokens by the log's own counters, which "
            f"{int(known.sum()):,} of {len(known):,} requests carry"
        ),
    )
    return replace(summary, block_hit_rate=None)  # a log's counters know no blocks


def by_namespace(
    names: Sequence[str],
    namespaces: NDArray[np.int64],
    prompt_tokens: NDArray[np.int64],
    hit_tokens: NDArray[np.int64],
) -> list[NamespaceSummary]:
    """Return each namespace's share, the one with most prompt tokens first.

    Numbers that bear the same name (scopes of local block ids) are one namespace here.
    """
    first = {name: i for i, name in reversed(list(enumerate(names)))}
    merged = np.array([first[name] for name in names], np.int64)[namespaces]
    count, prompts, hits = _sums(merged, len(names), prompt_tokens, hit_tokens)
    order = sorted(np.flatnonzero(count).tolist(), key=lambda i: (-prompts[i], names[i]))
    return [
        NamespaceSummary(
            namespace=names[i],
            requests=int(count[i]),
            prompt_tokens=int(prompts[i]),
            hit_tokens=int(hits[i]),
            hit_rate=int(hits[i]) / int(prompts[i]) if prompts[i] else None,
        )
        for i in order
    ]


def sampling(
    sessions: NDArray[np.int64], prompt_tokens: NDArray[np.int64], hit_tokens: NDArray[np.int64]
) -> Sampling:
    """Return the standard error of a hit rate; ``sessions`` is `UNKNOWN` for a request without.

    Linearised, as for any ratio of sums over clusters (Cochran, Sampling Techniques, 6.3): the
    requests of a session hit alike, and counting them one by one would promise too much.
    """
    known = sessions != UNKNOWN
    alone = np.arange(int((~known).sum())) + (int(sessions.max()) + 1 if len(sessions) else 0)
    keys = sessions.copy()
    keys[~known] = alone
    count, prompts, hits = _sums(
        keys, int(keys.max()) + 1 if len(keys) else 0, prompt_tokens, hit_tokens
    )
    present = count > 0
    units, total = int(present.sum()), int(prompts.sum())
    error = None
    if units > 1 and total:
        apart = hits[present] - hits.sum() / total * prompts[present]
        error = float(np.sqrt(units / (units - 1) * np.square(apart).sum()) / total)
    return Sampling(unit="session" if known.any() else "request", units=units, standard_error=error)


def by_session(
    names: Sequence[str],
    sessions: NDArray[np.int64],
    prompt_tokens: NDArray[np.int64],
    hit_tokens: NDArray[np.int64],
) -> SessionsSummary | None:
    """Return how sessions differ; ``sessions`` is `UNKNOWN` for a request without one."""
    known = sessions != UNKNOWN
    if not known.any():
        return None
    count, prompts, hits = _sums(
        sessions[known], len(names), prompt_tokens[known], hit_tokens[known]
    )
    present = np.flatnonzero(count).tolist()
    rates = np.sort(hits[present] / np.maximum(prompts[present], 1))
    most = sorted(present, key=lambda i: (hits[i] - prompts[i], names[i]))[:SESSIONS_SHOWN]
    return SessionsSummary(
        sessions=len(present),
        hit_rate_p10=quantile(rates, 0.1),
        hit_rate_p50=quantile(rates, 0.5),
        hit_rate_p90=quantile(rates, 0.9),
        most_computed=[
            SessionSummary(
                session=names[i],
                requests=int(count[i]),
                prompt_tokens=int(prompts[i]),
                hit_tokens=int(hits[i]),
                hit_rate=int(hits[i]) / int(prompts[i]) if prompts[i] else None,
            )
            for i in most
        ],
    )


def thinned(times: NDArray[np.float64], held: NDArray[np.int64]) -> list[tuple[float, int]]:
    """Return at most `OCCUPANCY_POINTS` points of a series, its last one among them."""
    if not len(held):
        return []
    step = -(-len(held) // OCCUPANCY_POINTS)
    chosen = np.arange(len(held) - 1, -1, -step)[::-1]
    return [(float(times[i]), int(held[i])) for i in chosen]


def _sums(
    keys: NDArray[np.int64], size: int, *columns: NDArray[np.int64]
) -> tuple[NDArray[np.int64], ...]:
    """Return how often each key occurs, and each column's sum by key, exact in integers."""
    sums = [np.bincount(keys, minlength=size).astype(np.int64)]
    for column in columns:
        out = np.zeros(size, np.int64)
        np.add.at(out, keys, column)
        sums.append(out)
    return tuple(sums)
