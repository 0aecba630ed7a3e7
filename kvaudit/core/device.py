"""What was done on a device: a part of `kvaudit.core.results.ReplayReport`.

The names are those of ``--format json``. Everything in seconds here was measured, so it differs
from run to run; nothing else does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kvaudit.core.savings import Percentiles


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFacts:
    """What a measurement depends on."""

    device: str
    """``cpu`` or ``cuda``."""
    name: str
    driver: str | None
    threads: int | None
    """Of torch; None on CUDA."""
    torch: str
    transformers: str | None
    """None where no model was run, and so of the next two."""
    dtype: str | None
    attention: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchCheck:
    """Blocks hashed on the device, and the longest cached prefixes found by them."""

    blocks: int
    matched_blocks: int
    """Of the ideal cache: the leading blocks of each request that an earlier one had."""
    requests: int
    differing_requests: int
    """Where the device finds another number than the host does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyTotals:
    """Real copies of KV out of one tier and into it."""

    tier: str
    read_bytes: int
    read_s: float
    written_bytes: int
    written_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LogitsCheck:
    """The last logits of prompts with reused KV, against those computed anew."""

    requests: int
    with_reuse: int
    """Those that hit anything."""
    same_split_equal: int
    """Requests whose KV and logits equal, bit for bit, those computed in the same pieces."""
    same_split_unknown: int
    """Requests that hit what an earlier run left in files, whose pieces nobody knows."""
    within_tolerance: int
    """Requests whose logits are within ``tolerance`` of those without any reuse."""
    tolerance: float
    """As a share of the largest logit."""
    largest_difference: float
    """The largest share seen."""
    same_first_token: int
    """Requests whose most likely token is the same without reuse."""
    smallest_margin: float
    """Between the two most likely tokens, as a share of the largest logit: below the difference,
    the first token may change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTtft:
    """Seconds of prefill to the last logits, of the requests that were measured both ways."""

    requests: int
    off: Percentiles
    """Whole prompt computed."""
    on: Percentiles
    """KV copied from its tier, and the rest computed."""
    saved_share: float
    """1 - sum of ``on`` / sum of ``off``."""
    modelled_off: Percentiles | None
    """By the roofline of ``--accelerator``; None where none was named."""
    modelled_on: Percentiles | None
    modelled_error: float | None
    """Median of |modelled - measured| / measured, over both ways."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Requests that a real model was run on, with real KV blocks."""

    model: str
    weights: str
    """``random`` or ``file``."""
    requests: int
    """Executed, from the first on."""
    not_admitted: int
    """Not executed, since they are too large for the cache: an engine refuses them."""
    left_out: int
    """Not executed, for ``reason``; their hits are those of the simulated model."""
    reason: str | None
    computed_tokens: int
    """Prompt tokens that the model computed."""
    hit_tokens: int
    """Prompt tokens whose KV was found in the real tiers."""
    differing_requests: Sequence[str]
    """Ids of the first requests that the real tiers and the simulated model disagree on."""
    differing: int
    damaged_blocks: int
    """Found damaged in a file, and computed again."""
    leaked_blocks: int
    """Blocks of the pool that stayed taken though the model holds nothing in them."""
    pool_blocks: int | None
    """Blocks that the device's pool has room for; None where it grows."""
    shrunk_from_blocks: int | None
    """What was asked for, where the device had no room for it."""
    memory: Sequence[tuple[int, int]] = field(default=())
    """Request number, and bytes of KV in the device's pool after it."""
    device_memory: Sequence[tuple[int, int]] = field(default=())
    """The same of all memory that torch has allocated there; empty on a CPU."""
    copies: Sequence[CopyTotals] = ()
    logits: LogitsCheck | None = None
    ttft_s: MeasuredTtft | None = None
    accelerator: str | None = None
    """The measured accelerator as a file, where it was asked for and could be fitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSummary:
    """All that was done on the device."""

    facts: DeviceFacts
    match: MatchCheck | None
    """None where the log gives nothing to hash."""
    execution: Execution | None
    """None where no model was named: nothing was executed."""
