"""What a cache saves: work, time to first token, accelerator time, money.

A part of `kvaudit.core.results.ReplayReport`; the names are those of ``--format json``.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """Two points of a distribution over the counted requests, in seconds."""

    p50: float
    p99: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TtftFit:
    """Seconds = constant + FLOPs / rate, fitted to the times that the log measured."""

    requests: int
    """Requests with a measured time."""
    flops_per_s: float
    mfu: float | None
    """The rate as a share of the accelerators' peak; None where none was named."""
    constant_s: float
    median_error: float
    """Median of |model - measured| / measured."""
    p90_error: float
    assumed_median_error: float | None
    """The same of the roofline before the fit, with its assumed parameters."""
    assumed_p90_error: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TtftSavings:
    """Time to first token without and with the cache; ``definition`` says what is in it."""

    off: Percentiles
    on: Percentiles
    basis: str
    """``modelled`` by a roofline with assumed parameters, or ``measured``: on a device, or by a
    line through the times in the log."""
    definition: str
    measured: Percentiles | None
    """What the log says of its own requests, with the cache it had."""
    fit: TtftFit | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorUse:
    """The accelerators of the roofline, what was assumed of them, and their time."""

    name: str
    count: int
    source: str
    peak_flops_per_s: float
    """Of one, for the type the weights are computed in."""
    mfu: float
    """Assumed share of the peak that prefill reaches."""
    bandwidth_efficiency: float
    """Assumed share of the memory's bandwidth that is reached."""
    weights: str
    weight_bytes: int
    kv_room_bytes: int
    """Memory left for KV after the weights, at the share an engine takes."""
    kv_room_blocks: int | None
    """The same in blocks; None where a token keeps no KV."""
    break_even_bytes_per_s: float | None
    """Bandwidth at which loading the KV of all hits takes as long as they save."""
    hours_without: float
    """Accelerator-hours of prefill, requests one at a time."""
    hours_with: float
    hours_saved: float
    hours_saved_per_day: float | None
    """At the log's own pace; None where the log has no times."""
    usd_per_hour: float | None
    """Price of one accelerator."""
    usd_saved_per_day: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Savings:
    """What the hits are worth, over the counted part of the log."""

    flops_without: int | None
    """Prefill FLOPs of all prompts without reuse; None where no model was named."""
    flops_with: int | None
    saved_flops: int | None
    share: float | None
    """saved_flops / flops_without."""
    decode_flops: int | None
    """FLOPs of generating the answers, which a prefix cache does not save."""
    usd: float | None
    """Money saved over the log; None where no price is known."""
    ttft_s: TtftSavings | None
    accelerator: AcceleratorUse | None
    definition: str


def billed_savings(usd: float | None, definition: str) -> Savings:
    """Return the savings of which nothing but a provider's bill is known."""
    return Savings(
        flops_without=None,
        flops_with=None,
        saved_flops=None,
        share=None,
        decode_flops=None,
        usd=usd,
        ttft_s=None,
        accelerator=None,
        definition=definition,
    )
