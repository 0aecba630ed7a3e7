"""The part of a report that is about the tiers KV can live in.

Field names are those of ``--format json``. Sums are over the counted requests.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TierSummary:
    """One tier: what it held, what it added to those before it, and what that moved."""

    name: str
    """``hbm``, ``dram``, ``disk`` or ``remote``; the fastest one stands first."""
    capacity_blocks: int | None
    """None is unbounded."""
    capacity_bytes: int | None
    """None where it is unbounded, or no model was named."""
    hit_tokens: int
    """Tokens found here and in no faster tier."""
    hit_rate: float | None
    """hit_tokens / prompt tokens: what the tier adds."""
    peak_blocks: int
    unreachable_blocks: int | None
    """Blocks held at the end that no prompt can reach, since one before them was evicted."""
    stored_tokens: int | None = None
    """Tokens copied into it; None for the first tier, whose KV is computed in place."""
    moved_bytes: int | None = None
    """Bytes copied into it and out of it; None for the first tier, or without a model."""
    time_s: float | None = None
    """Seconds that requests waited for what was copied out of it; copies into it are taken to
    run beside."""
    bandwidth_gb_s: float | None = None
    """10^9 bytes a second at which its blocks are taken to be read."""
    bandwidth_source: str | None = None
    saved_prefill_s: float | None = None
    """Seconds of prefill that its hits spare, by the roofline; None without --accelerator."""
    break_even_gb_s: float | None = None
    """The bandwidth above which reading its hits is faster than computing them."""
