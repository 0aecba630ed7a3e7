"""What one step of an engine may hold, and who goes first."""

from __future__ import annotations

from dataclasses import dataclass

MAX_NUM_BATCHED_TOKENS = 8192
"""The token budget of a step that vLLM's server takes on most accelerators."""
MAX_NUM_SEQS = 256
"""The most requests at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLimits:
    """What one step may hold, and who goes first."""

    max_num_batched_tokens: int = MAX_NUM_BATCHED_TOKENS
    max_num_seqs: int = MAX_NUM_SEQS
    by_priority: bool = False
    """Smaller priorities first, else first come, first served."""
    by_longest_prefix: bool = False
    """Who hits most goes first; SGLang only."""
    long_prefill_tokens: int = 0
    """The most tokens of one request in a step; 0 is any number."""
    watermark: float = 0.0
    """The share of all blocks that must stay free when a request is admitted beside others."""
    ends_preempted: bool = False
    """Whether a request that has to give way ends there; the engine would resume it."""


SERVER_LIMITS = StepLimits()
"""What vLLM's server takes where nothing is asked for."""
