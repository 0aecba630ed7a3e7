"""What the hits of a replay are worth: FLOPs, time to first token, accelerator time, money.

Everything is worked out from three columns, prompt tokens, hit tokens and output tokens, and is
the same for every engine and schedule. FLOPs are exact sums; seconds come from the roofline, one
request at a time, so waiting for others is not in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.savings import (
    AcceleratorUse,
    Percentiles,
    Savings,
    TtftFit,
    TtftSavings,
)
from kvaudit.cost.fit import Line, fit_line, relative_errors
from kvaudit.cost.roofline import Roofline
from kvaudit.cost.work import ModelWork

HOUR_S, DAY_S = 3600, 86_400

DEFINITION = (
    "prefill FLOPs of the prompts without reuse minus with reuse, causal attention, one row of "
    "logits each; the share is of all prefill FLOPs without reuse"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Costing:
    """What a replay's tokens are priced with."""

    work: ModelWork
    roofline: Roofline | None = None
    """None where no accelerator was named."""
    usd_per_hour: float | None = None
    """Price of one accelerator."""


class ScheduledTimes(NamedTuple):
    """Seconds from arrival to first token in a schedule; NaN for what was never admitted."""

    off: NDArray[np.float64]
    """Where nothing is ever reused."""
    on: NDArray[np.float64]


class TimesToFirstToken(NamedTuple):
    """What a replay knows of the requests' times beside their prefills."""

    load_s: NDArray[np.float64] | None = None
    """Seconds of loading hits from lower tiers; None where there are none."""
    scheduled: ScheduledTimes | None = None
    """None where the schedule has no seconds."""


ONLY_PREFILLS = TimesToFirstToken()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedTokens:
    """The counted requests of a replay; arrays of equal length."""

    prompt_tokens: NDArray[np.int64]
    hit_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    measured_ttft_s: NDArray[np.float64]
    """What the log measured; NaN where it did not."""
    reported_hits: NDArray[np.int64]
    """Hit tokens that the log says the measured request had; negative where it does not."""
    span_s: float | None
    """From the first arrival to the last."""
    block_size: int
    times: TimesToFirstToken = ONLY_PREFILLS


def summarize_savings(costing: Costing, served: ServedTokens) -> Savings:
    """Return what the hits are worth."""
    work = costing.work
    prompts, hits = served.prompt_tokens, served.hit_tokens
    without = work.prefill_flops_total(prompts, np.zeros_like(prompts))
    reused = work.prefill_flops_total(prompts - hits, hits)
    use = _accelerator_use(costing, served)
    return Savings(
        flops_without=without,
        flops_with=reused,
        saved_flops=without - reused,
        share=(without - reused) / without if without else None,
        decode_flops=work.decode_flops_total(prompts, served.output_tokens),
        usd=None if use is None or use.usd_per_hour is None else use.hours_saved * use.usd_per_hour,
        ttft_s=_ttft(costing, served),
        accelerator=use,
        definition=DEFINITION,
    )


def _accelerator_use(costing: Costing, served: ServedTokens) -> AcceleratorUse | None:
    roofline = costing.roofline
    if roofline is None:
        return None
    prompts, hits = served.prompt_tokens, served.hit_tokens
    off = float(roofline.prefill_s(prompts, np.zeros_like(prompts)).sum())
    on = float(roofline.prefill_s(prompts - hits, hits).sum())
    hours = (off - on) * roofline.count / HOUR_S
    per_day = hours * DAY_S / served.span_s if served.span_s else None
    block_bytes = roofline.shape.kv_bytes_per_token * served.block_size
    hit_bytes = int(hits.sum()) * roofline.shape.kv_bytes_per_token
    price = costing.usd_per_hour
    in_8_bits = roofline.weights.computes_in_8_bits
    return AcceleratorUse(
        name=roofline.accelerator.title,
        count=roofline.count,
        source=roofline.accelerator.source,
        peak_flops_per_s=roofline.accelerator.peak_flops(in_8_bits=in_8_bits),
        mfu=roofline.assumptions.mfu,
        bandwidth_efficiency=roofline.assumptions.bandwidth_efficiency,
        weights=roofline.weights.name,
        weight_bytes=roofline.weights.bytes_of(roofline.work),
        kv_room_bytes=roofline.kv_room_bytes(),
        kv_room_blocks=roofline.kv_room_bytes() // block_bytes if block_bytes else None,
        break_even_bytes_per_s=hit_bytes / (off - on) if hit_bytes and off > on else None,
        hours_without=off * roofline.count / HOUR_S,
        hours_with=on * roofline.count / HOUR_S,
        hours_saved=hours,
        hours_saved_per_day=per_day,
        usd_per_hour=price,
        usd_saved_per_day=per_day * price if per_day is not None and price is not None else None,
    )


def _ttft(costing: Costing, served: ServedTokens) -> TtftSavings | None:
    """Return time to first token, by a line through measured times where there is one."""
    prompts, hits = served.prompt_tokens, served.hit_tokens
    cold, roofline, work = np.zeros_like(prompts), costing.roofline, costing.work
    found = _fitted(costing, served)
    basis, fit = "modelled", None if found is None else found[1]
    if roofline is not None and served.times.scheduled is not None:
        off, on = (seconds[np.isfinite(seconds)] for seconds in served.times.scheduled)
        definition = _schedule_definition(roofline)
    elif found is not None:
        line, basis = found[0], "measured"
        off = line.seconds(work.prefill_flops_each(prompts, cold))
        on = line.seconds(work.prefill_flops_each(prompts - hits, hits))
        definition = _fit_definition(found[1])
    elif roofline is not None:
        off, on = roofline.prefill_s(prompts, cold), roofline.prefill_s(prompts - hits, hits)
        definition = _roofline_definition(roofline)
    else:
        return None
    if served.times.load_s is not None and served.times.scheduled is None:
        on, definition = (
            on + served.times.load_s,
            f"{definition}; hits in lower tiers are loaded first",
        )
    if not len(off) or not len(on):
        return None
    return TtftSavings(
        off=_percentiles(off),
        on=_percentiles(on),
        basis=basis,
        definition=definition,
        measured=_measured(served),
        fit=fit,
    )


def _fitted(costing: Costing, served: ServedTokens) -> tuple[Line, TtftFit] | None:
    measured = served.measured_ttft_s
    known = np.isfinite(measured) & (measured > 0)
    prompts, seconds = served.prompt_tokens[known], measured[known]
    # What the measured request found cached; where the log is silent, what is modelled.
    hits = np.where(served.reported_hits < 0, served.hit_tokens, served.reported_hits)[known]
    hits = np.minimum(hits, prompts)
    flops = costing.work.prefill_flops_each(prompts - hits, hits)
    line = fit_line(flops, seconds)
    if line is None:
        return None
    errors = relative_errors(line.seconds(flops), seconds)
    roofline, assumed, peak = costing.roofline, None, None
    if roofline is not None:
        assumed = relative_errors(roofline.prefill_s(prompts - hits, hits), seconds)
        peak = roofline.flops_per_s / roofline.assumptions.mfu
    return line, TtftFit(
        requests=len(seconds),
        flops_per_s=1 / line.s_per_flop,
        mfu=1 / line.s_per_flop / peak if peak else None,
        constant_s=line.constant_s,
        median_error=errors.median,
        p90_error=errors.p90,
        assumed_median_error=assumed.median if assumed else None,
        assumed_p90_error=assumed.p90 if assumed else None,
    )


def _measured(served: ServedTokens) -> Percentiles | None:
    known = served.measured_ttft_s[np.isfinite(served.measured_ttft_s)]
    return _percentiles(known) if len(known) else None


def _percentiles(seconds: NDArray[np.float64]) -> Percentiles:
    in_order = np.sort(seconds)
    p50, p99 = (
        float(in_order[max(0, int(np.ceil(share * len(in_order))) - 1)]) for share in (0.5, 0.99)
    )
    return Percentiles(p50=p50, p99=p99)


def _roofline_definition(roofline: Roofline) -> str:
    return f"prefill of each request alone{_longer_of(roofline)}; no waiting, no network"


def _schedule_definition(roofline: Roofline) -> str:
    return (
        "from arrival to first token in the timed schedule, with waiting; without the cache, in "
        f"the same schedule where nothing is reused; steps{_longer_of(roofline)}; no network"
    )


def _longer_of(roofline: Roofline) -> str:
    assumed = roofline.assumptions
    peak = roofline.flops_per_s / assumed.mfu / roofline.count
    several = f"{roofline.count} x " if roofline.count > 1 else ""
    return (
        f" on {several}{roofline.accelerator.title}, the longer of FLOPs at {peak / 1e12:,.0f} "
        f"TFLOP/s x MFU {assumed.mfu:g} and of weights ({roofline.weights.name}) and KV at "
        f"{roofline.accelerator.memory_bandwidth / 1e9:,.0f} GB/s x "
        f"{assumed.bandwidth_efficiency:g}"
    )


def _fit_definition(fit: TtftFit) -> str:
    mfu = f" (MFU {fit.mfu:.2f})" if fit.mfu is not None else ""
    return (
        f"{fit.constant_s * 1e3:,.0f} ms + FLOPs of the prefill at "
        f"{fit.flops_per_s / 1e12:,.1f} TFLOP/s{mfu}, fitted to the {fit.requests:,} times that "
        f"the log measured; half of them are within {100 * fit.median_error:.0f} % of it, nine in "
        f"ten within {100 * fit.p90_error:.0f} %"
    )
