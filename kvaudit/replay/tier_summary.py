"""What each tier added, what that moved, and from which bandwidth on it pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.tiers import TierSummary
from kvaudit.cost.links import links
from kvaudit.cost.roofline import BANDWIDTH_EFFICIENCY, Roofline
from kvaudit.replay.models.tiers import TierState
from kvaudit.replay.outcomes import CacheModel, Stranding
from kvaudit.replay.tiers import TierLedger, TierPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class TierPricing:
    """What turns blocks of a tier into bytes and seconds."""

    block_size: int
    kv_bytes_per_token: int | None
    roofline: Roofline | None

    def block_bytes(self, blocks: int | None, block_size: int | None = None) -> int | None:
        """Return the bytes of so many blocks; None without a model."""
        if blocks is None or self.kv_bytes_per_token is None:
            return None
        return blocks * (block_size or self.block_size) * self.kv_bytes_per_token


def first_tier(
    name: str,
    cache: CacheModel,
    *,
    capacity_blocks: int | None,
    peak_blocks: int,
    hit_tokens: int,
    prompt_tokens: int,
    pricing: TierPricing,
) -> TierSummary:
    """Return the engine's own cache as a tier."""
    return TierSummary(
        name=name,
        capacity_blocks=capacity_blocks,
        capacity_bytes=pricing.block_bytes(capacity_blocks),
        hit_tokens=hit_tokens,
        hit_rate=hit_tokens / prompt_tokens if prompt_tokens else None,
        peak_blocks=peak_blocks,
        unreachable_blocks=cache.unreachable_blocks() if isinstance(cache, Stranding) else None,
    )


def lower_tiers(
    tiered: TierLedger,
    plan: TierPlan,
    *,
    prompt_tokens: NDArray[np.int64],
    counted: slice,
    pricing: TierPricing,
) -> list[TierSummary]:
    """Return the tiers below the engine's own cache, the fastest first."""
    tokens = [column.values()[counted] for column in tiered.tier_tokens]
    prompts = prompt_tokens[counted]
    total = int(prompts.sum())
    summaries = []
    for n, tier in enumerate(tiered.lower_tiers):
        name = tiered.rules.names[n + 1]
        hits = int(tokens[n + 1].sum())
        stored = int(tiered.stored_tokens[n].values()[counted].sum())
        given = plan.bandwidths_gb_s[n] if n < len(plan.bandwidths_gb_s) else None
        rate, source = _bandwidth(name, given, pricing.roofline)
        per_token = pricing.kv_bytes_per_token
        read_bytes = None if per_token is None else hits * per_token
        capacity = tier.capacity_blocks
        state = tier if isinstance(tier, TierState) else None
        saved_s = _saved_prefill_s(pricing.roofline, prompts, tokens[: n + 2])
        summaries.append(
            TierSummary(
                name=name,
                capacity_blocks=capacity,
                capacity_bytes=pricing.block_bytes(capacity, tiered.lower_block_size),
                hit_tokens=hits,
                hit_rate=hits / total if total else None,
                peak_blocks=tier.peak_blocks,
                unreachable_blocks=None if state is None else state.unreachable_blocks,
                stored_tokens=stored,
                moved_bytes=None if per_token is None else (hits + stored) * per_token,
                time_s=None if read_bytes is None else read_bytes / (rate * 1e9),
                bandwidth_gb_s=rate,
                bandwidth_source=source,
                saved_prefill_s=saved_s,
                break_even_gb_s=(read_bytes / saved_s / 1e9 if read_bytes and saved_s else None),
            )
        )
    return summaries


def tier_bytes_per_s(tiered: TierLedger, plan: TierPlan, roofline: Roofline | None) -> list[float]:
    """Return how fast each tier below the engine's own cache is read, the fastest first."""
    names = tiered.rules.names[1 : len(tiered.lower_tiers) + 1]
    given = [*plan.bandwidths_gb_s, *[None] * len(names)]
    return [
        _bandwidth(name, own, roofline)[0] * 1e9 for name, own in zip(names, given, strict=False)
    ]


def _bandwidth(name: str, given: float | None, roofline: Roofline | None) -> tuple[float, str]:
    """Return 10^9 bytes a second, and where they are from."""
    if given is not None:
        return given, "as given"
    share = f"{BANDWIDTH_EFFICIENCY:.0%} of "
    if name == "dram" and roofline is not None:
        return (
            roofline.host_bytes_per_s / 1e9,
            f"{share}{roofline.count} x {roofline.accelerator.title}'s link to the host "
            f"({roofline.accelerator.source})",
        )
    link = links()[name]
    return link.gb_s * BANDWIDTH_EFFICIENCY, f"{share}{link.title} ({link.source})"


def _saved_prefill_s(
    roofline: Roofline | None,
    prompts: NDArray[np.int64],
    tokens: Sequence[NDArray[np.int64]],
) -> float | None:
    """Return the prefill seconds that the last of these tiers' hits spare."""
    if roofline is None:
        return None
    above = np.sum(tokens[:-1], axis=0)
    with_it = above + tokens[-1]
    without_s = roofline.prefill_s(prompts - above, above).sum()
    return float(without_s - roofline.prefill_s(prompts - with_it, with_it).sum())
