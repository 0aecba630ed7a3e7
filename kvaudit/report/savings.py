"""What the hits are worth, as the text formats say it."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.core.quantities import format_bytes
from kvaudit.core.savings import AcceleratorUse, Savings, TtftFit, TtftSavings
from kvaudit.report.figures import percent, plural


def saved_rows(savings: Savings) -> Iterator[tuple[str, str]]:
    """Yield (label, text) of every row; a text may be longer than a line."""
    if savings.saved_flops is not None and savings.flops_without is not None:
        yield (
            "saved",
            f"{_scientific(savings.saved_flops)} of {_scientific(savings.flops_without)} prefill "
            f"FLOPs ({percent(savings.share)})",
        )
    if savings.ttft_s is not None:
        yield "TTFT", _times(savings.ttft_s)
        if savings.ttft_s.fit is not None:
            yield "", _off_by(savings.ttft_s, savings.ttft_s.fit, savings.accelerator)
    if savings.accelerator is not None:
        yield from _accelerator_rows(savings.accelerator, savings.usd)
    elif savings.usd is not None:
        yield "money", f"{_money(savings.usd)} saved over the log"


def saved_facts(savings: Savings) -> Iterator[tuple[str, object]]:
    """Yield (name, value) of the figures, for one fact a line."""
    if savings.saved_flops is not None:
        yield "prefill FLOPs without reuse", savings.flops_without
        yield "prefill FLOPs saved", savings.saved_flops
        yield "prefill FLOPs saved, share", "-" if savings.share is None else f"{savings.share:.4f}"
    times = savings.ttft_s
    if times is not None:
        for name, of in (("off", times.off), ("on", times.on)):
            yield f"TTFT, cache {name}, seconds", f"P50 {of.p50:.4g}, P99 {of.p99:.4g}"
        yield "TTFT, basis", times.basis
    use = savings.accelerator
    if use is not None:
        yield "accelerator", f"{use.count} x {use.name}, MFU {use.mfu:g}"
        yield "accelerator-hours saved", f"{use.hours_saved:.4g}"
        if use.hours_saved_per_day is not None:
            yield "accelerator-hours saved a day", f"{use.hours_saved_per_day:.4g}"
    if savings.usd is not None:
        yield "USD saved", f"{savings.usd:.4g}"


def saved_definitions(savings: Savings) -> Iterator[tuple[str, str]]:
    """Yield (name, definition) of what is shown."""
    if savings.saved_flops is not None:
        yield "saved", savings.definition
    if savings.ttft_s is not None:
        yield "TTFT", savings.ttft_s.definition


def _accelerator_rows(use: AcceleratorUse, usd: float | None) -> Iterator[tuple[str, str]]:
    on = f"{use.count} x {use.name}" if use.count > 1 else use.name
    spent = (
        f"{_hours(use.hours_without)} → {_hours(use.hours_with)} of prefill on {on} at MFU "
        f"{use.mfu:g}"
    )
    if use.hours_saved_per_day is None:
        cost = "" if usd is None else f", {_money(usd)}"
        saved = f"saves {_hours(use.hours_saved)}{cost}; no times in the log to project it a day"
    else:
        per_day = use.usd_saved_per_day
        cost = "" if per_day is None else f", {_money(per_day)}"
        saved = f"saves {_hours(use.hours_saved_per_day)}{cost} a day"
    yield "time", f"{spent}; {saved}"
    if use.kv_room_blocks is not None:
        yield (
            "KV room",
            f"{format_bytes(use.kv_room_bytes)} beside {format_bytes(use.weight_bytes)} of "
            f"{use.weights} weights: {plural(use.kv_room_blocks, 'block')}",
        )
    if use.break_even_bytes_per_s is not None:
        rate = use.break_even_bytes_per_s / 1e9
        yield "loading", f"KV from elsewhere beats computing it above {rate:.3g} GB/s"


def _times(times: TtftSavings) -> str:
    pairs = ((f"P{n}", _pair(off, on)) for n, off, on in _percentiles(times))
    fitted = times.basis == "measured" and times.fit is not None
    basis = "fitted to measured times" if fitted else times.basis
    return "   ".join(f"{name} {pair}" for name, pair in pairs) + f"   ({basis})"


def _percentiles(times: TtftSavings) -> Iterator[tuple[int, float, float]]:
    yield 50, times.off.p50, times.on.p50
    yield 99, times.off.p99, times.on.p99


def _pair(off: float, on: float) -> str:
    """Return two times in one unit: milliseconds below a second."""
    if max(off, on) < 1:
        return f"{_three(off * 1e3)} → {_three(on * 1e3)} ms"
    return f"{_three(off)} → {_three(on)} s"


def _off_by(times: TtftSavings, fit: TtftFit, use: AcceleratorUse | None) -> str:
    line = "" if times.basis == "measured" else "a line through the measured times is "
    said = f"{line}off by {percent(fit.median_error)}, P90 {percent(fit.p90_error)}"
    if use is None or fit.assumed_median_error is None or fit.assumed_p90_error is None:
        return said
    return (
        f"{said}; with MFU {use.mfu:g} and no constant by {percent(fit.assumed_median_error)}, "
        f"P90 {percent(fit.assumed_p90_error)}"
    )


def _three(value: float) -> str:
    """Return about three digits, none of them in exponents."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def _hours(hours: float) -> str:
    return f"{_three(hours)} h" if hours >= 0.1 or hours == 0 else f"{_three(hours * 3600)} s"


def _money(usd: float) -> str:
    return f"{usd:,.2f} USD" if usd >= 1 or usd == 0 else f"{usd:.2g} USD"


def _scientific(count: int) -> str:
    return "0" if count == 0 else f"{count:.2e}".replace("e+", "e")
