"""The part of the screen about the tiers KV lives in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from kvaudit.core.quantities import format_bytes
from kvaudit.core.results import ReplayReport
from kvaudit.core.tiers import TierSummary
from kvaudit.report.figures import Scale, compact, percent
from kvaudit.report.linted import hanging

_LABEL = "    "


def tier_lines(report: ReplayReport, width: int) -> Iterator[Text]:
    """Yield what each tier adds, what that moves, and from which bandwidth on it pays."""
    tiers = report.tiers
    if tiers is None:
        return
    if len(tiers) > 1:
        names = f"{'blocks':>12}{'hit tokens':>14}{'adds':>12}"
        yield Text.assemble(f"  {'tiers':34}", (names, "dim"))
        scale = Scale(tier.hit_tokens for tier in tiers)
        for tier in tiers:
            size = "inf" if tier.capacity_blocks is None else f"{tier.capacity_blocks:,}"
            yield Text(
                f"    {tier.name:32}{size:>12}{scale(tier.hit_tokens):>14}"
                f"{percent(tier.hit_rate):>12}"
            )
    for sentence in tier_sentences(tiers):
        yield from hanging(_LABEL, sentence, width)


def tier_sentences(tiers: Sequence[TierSummary]) -> Iterator[str]:
    """Yield what is to be said of tiers beside their table."""
    for tier in tiers:
        if tier.unreachable_blocks:
            yield (
                f"{tier.name}: {tier.unreachable_blocks:,} of the blocks it holds at the end "
                "cannot be reached, since one before them was evicted"
            )
        if tier.stored_tokens is None:
            continue
        moved = "" if tier.moved_bytes is None else f", {format_bytes(tier.moved_bytes)} in all"
        text = (
            f"{tier.name}: {compact(tier.stored_tokens)} tokens copied in, "
            f"{compact(tier.hit_tokens)} read{moved}"
        )
        if tier.time_s is not None:
            text += f"; reading took {_seconds(tier.time_s)} at {tier.bandwidth_gb_s:,.3g} GB/s"
        if tier.saved_prefill_s is not None:
            text += f" and spared {_seconds(tier.saved_prefill_s)} of prefill"
        text += _verdict(tier)
        yield text + " (modelled)"
        if tier.time_s is not None and tier.bandwidth_source != "as given":
            yield f"{tier.name} bandwidth: {tier.bandwidth_source}"


def _verdict(tier: TierSummary) -> str:
    """Say from which bandwidth on reading is faster than computing, and whether it is here."""
    if tier.saved_prefill_s is None or tier.time_s is None or not tier.hit_tokens:
        return ""
    if tier.break_even_gb_s is None:
        return ", so it pays at no bandwidth"
    slow = "; here it costs more than it spares" if tier.time_s > tier.saved_prefill_s else ""
    return f", so it pays from {tier.break_even_gb_s:,.3g} GB/s on{slow}"


def _seconds(value: float) -> str:
    return f"{value:,.1f} s" if value >= 1 else f"{1000 * value:,.3g} ms"
