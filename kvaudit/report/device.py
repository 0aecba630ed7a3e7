"""What was done on a device, as the text formats say it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from kvaudit.core.device import (
    CopyTotals,
    DeviceFacts,
    DeviceSummary,
    Execution,
    LogitsCheck,
    MeasuredTtft,
)
from kvaudit.core.quantities import format_bytes
from kvaudit.report.figures import compact, percent, plural
from kvaudit.report.linted import hanging


def device_lines(device: DeviceSummary | None, width: int) -> Iterator[Text]:
    """Yield what ran where, and whether it did what was simulated."""
    if device is None:
        return
    for label, text in device_rows(device):
        yield from hanging(f"  {label:11}", text, width)


def device_rows(device: DeviceSummary) -> Iterator[tuple[str, str]]:
    """Yield (label, text) of every row; a text may be longer than a line."""
    yield "device", _facts(device.facts)
    match = device.match
    if match is not None:
        verdict = (
            f"{plural(match.differing_requests, 'request')} differ from the host's"
            if match.differing_requests
            else "equal to the host's in every request"
        )
        yield (
            "hashed",
            f"{plural(match.blocks, 'block')}, {match.matched_blocks:,} of them seen before: "
            f"{verdict}",
        )
    if device.execution is None:
        yield "executed", "nothing: name a model with --model, such as tiny, to run the requests"
    else:
        yield from _execution(device.execution)


def _facts(facts: DeviceFacts) -> str:
    threads = None if facts.threads is None else plural(facts.threads, "thread")
    versions = [f"torch {facts.torch}"]
    if facts.transformers is not None:
        versions.append(f"transformers {facts.transformers}")
    parts = (facts.name, facts.driver, threads, *versions, facts.dtype, facts.attention)
    return " · ".join(part for part in (facts.device.upper(), *parts) if part)


def _execution(run: Execution) -> Iterator[tuple[str, str]]:
    weights = "random weights" if run.weights == "random" else "its own weights"
    done = (
        f"{run.requests:,} of {plural(run.requests + run.not_admitted + run.left_out, 'request')}"
    )
    text = (
        f"{done} on {run.model} ({weights}): {compact(run.computed_tokens)} prompt tokens "
        f"computed, {compact(run.hit_tokens)} found in real tiers"
    )
    if run.differing:
        shown = ", ".join(run.differing_requests)
        text += f"; {plural(run.differing, 'request')} hit otherwise than simulated: {shown}"
    elif run.requests:
        text += ", as simulated, request by request"
    if run.not_admitted:
        text += f"; {plural(run.not_admitted, 'request')} too large for the cache"
    yield "executed", text
    if run.reason is not None:
        yield "", f"ended early: {run.reason}; the other requests are simulated"
    if run.shrunk_from_blocks is not None:
        yield (
            "",
            f"the device has no room for {run.shrunk_from_blocks:,} blocks; the pool, and what is "
            f"simulated, has {run.pool_blocks:,}",
        )
    if run.damaged_blocks:
        yield "", f"{plural(run.damaged_blocks, 'block')} found damaged in files, computed again"
    if run.logits is not None:
        yield "logits", _logits(run.logits)
    if run.ttft_s is not None:
        yield "", _saved(run.ttft_s.saved_share)
        yield from _modelled(run.ttft_s)
    for number, totals in enumerate(run.copies):
        yield "" if number else "copies", _copies(totals)
    yield "pool", _pool(run)


def _saved(share: float) -> str:
    if share < 0:
        return f"reuse took {percent(-share)} more than the measured time of prefill without it"
    return f"reuse saved {percent(share)} of the measured prefill time"


def _modelled(ttft: MeasuredTtft) -> Iterator[tuple[str, str]]:
    """Yield what the roofline says of the same requests, where there is one."""
    off, on = ttft.modelled_off, ttft.modelled_on
    if off is not None and on is not None:
        yield (
            "modelled",
            f"P50 {off.p50 * 1e3:.3g} → {on.p50 * 1e3:.3g} ms, P99 {off.p99 * 1e3:.3g} → "
            f"{on.p99 * 1e3:.3g} ms by the roofline, off by {percent(ttft.modelled_error)} of the "
            "measured times (median)",
        )


def _logits(check: LogitsCheck) -> str:
    known = check.requests - check.same_split_unknown
    text = (
        f"of {plural(check.requests, 'request')}, {check.with_reuse:,} with reuse: "
        f"{check.same_split_equal:,} of {known:,} equal, bit for bit, what the same pieces give "
        f"when computed anew; {check.within_tolerance:,} within {check.tolerance:g} of the largest "
        "logit of what the whole prompt gives without reuse (largest difference "
        f"{check.largest_difference:.1e}), first token the same in {check.same_first_token:,} "
        f"(smallest margin {check.smallest_margin:.1e})"
    )
    if check.same_split_unknown:
        text += f"; {check.same_split_unknown:,} hit files of an earlier run, whose pieces nobody "
        text += "knows"
    return text


def _copies(totals: CopyTotals) -> str:
    read = _moved("read", totals.read_bytes, totals.read_s)
    return f"{totals.tier}: {read}, {_moved('written', totals.written_bytes, totals.written_s)}"


def _moved(verb: str, count: int, seconds: float) -> str:
    rate = f" at {count / seconds / 1e9:.2g} GB/s" if count and seconds else ""
    return f"{format_bytes(count)} {verb}{rate}"


def _pool(run: Execution) -> str:
    peak = max((count for _, count in run.memory), default=0)
    leaked = (
        f"{plural(run.leaked_blocks, 'block')} leaked" if run.leaked_blocks else "no block leaked"
    )
    return f"{format_bytes(peak)} of KV at most, {leaked} (measured)"
