"""Where the prompt tokens went that were not hits: every one of them has one reason."""

from __future__ import annotations

from dataclasses import replace

from kvaudit.core.results import LostTokens, PrefixSummary
from kvaudit.replay.parts.part import Ledgers


def lost_tokens(prefix: PrefixSummary, ideal: PrefixSummary, ledgers: Ledgers) -> LostTokens:
    """Return the reasons' shares, which sum to the computed tokens."""
    counted = ledgers.counted
    # Without a bound requests meet otherwise, and may even hit less.
    kept_hits = max(int(ledgers.kept.hit_tokens.values()[counted].sum()), prefix.hit_tokens)
    ready_hits = kept_hits
    if ledgers.ready is not None:
        ready_hits = max(int(ledgers.ready.hit_tokens.values()[counted].sum()), kept_hits)
    hosted = {
        reason: int(tokens.values()[counted].sum())
        for reason, tokens in ledgers.served.lost.items()
    }
    return LostTokens(
        first_seen=prefix.prompt_tokens - max(ideal.hit_tokens, ready_hits),
        evicted=kept_hits - prefix.hit_tokens,
        not_ready=ready_hits - kept_hits,
        last_block=max(ideal.hit_tokens - ready_hits, 0) - sum(hosted.values()),
        **hosted,
    )


def lost_between_replicas(lost: LostTokens, *, other_replica: int, invalidated: int) -> LostTokens:
    """Return the shares with those that parting a cache, and events, took of the evicted ones."""
    taken = other_replica + invalidated
    # TensorRT-LLM takes over a leaf of one cache that a replica of its own still has, so that
    # one cache without a bound need not have all that replicas hold.
    more = max(0, taken - lost.evicted)
    from_last_block = min(more, lost.last_block)
    return replace(
        lost,
        evicted=lost.evicted - (taken - more),
        last_block=lost.last_block - from_last_block,
        first_seen=lost.first_seen - (more - from_last_block),
        other_replica=other_replica,
        invalidated=invalidated,
    )
