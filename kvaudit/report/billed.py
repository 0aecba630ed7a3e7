"""The bill of a hosted provider's cache on the screen: tokens by class, money, lifetimes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from kvaudit.core.invoice import Invoice
from kvaudit.core.money import HostedSummary, LifetimeChoice
from kvaudit.core.redact import one_line
from kvaudit.core.results import ReplayReport
from kvaudit.report.figures import NONE, percent
from kvaudit.report.linted import hanging

CLASSES = {
    "input": "input",
    "cached_read": "cached read",
    "cache_write_5m": "cache write",
    "cache_write_1h": "cache write, longer",
    "output": "output",
}
_LABEL, _WIDTH = 24, 16


def hosted_lines(hosted: HostedSummary) -> Iterator[Text]:
    """Yield the table of what is billed, and what it costs."""
    columns = (hosted.without, hosted.modelled, hosted.reported)
    yield _row("billed", ("no cache", "this cache", "the log says"), "dim")
    for name, label in CLASSES.items():
        counts = [getattr(c, name) if c is not None else None for c in columns]
        if any(counts):
            yield _row(f"  {label}", [_cell(n) for n in counts])
    costs = (hosted.usd_without, hosted.usd_with, hosted.usd_reported)
    if any(cost is not None for cost in costs):
        yield _row("  USD, list prices", [usd(cost) for cost in costs], "bold")
    if hosted.usd_saved is not None and hosted.usd_without:
        yield Text(f"  {_saved(hosted.usd_saved, hosted.usd_without, hosted.usd_saved_per_day)}")
    if hosted.unexplained_tokens:
        yield Text(
            f"  {hosted.unexplained_tokens:,} tokens were not ready, or dispersed: the rules "
            "let the log read them"
        )
    if hosted.surplus_tokens:
        yield Text(f"  {hosted.surplus_tokens:,} tokens were read beyond the rules")


def lifetime_lines(choices: Sequence[LifetimeChoice]) -> Iterator[Text]:
    """Yield the table of lifetimes, the cheapest marked."""
    if not choices:
        return
    yield _row("lifetimes", ("read", "written", "USD"), "dim")
    for choice in choices:
        cells = (
            _cell(choice.cached_read_tokens),
            _cell(choice.cache_write_tokens),
            usd(choice.usd),
        )
        row = _row(f"  {choice.name}", cells, "bold green" if choice.best else "")
        if choice.best:
            row.append("  best")
        yield row
        if choice.pings:
            yield Text(f"    of it {choice.pings:,} pings that read {choice.ping_tokens:,} tokens")


def hosted_facts(report: ReplayReport) -> Iterator[tuple[str, object]]:
    """Yield the same as names and values, numbers in plain digits."""
    assert report.hosted is not None
    assert report.lost is not None
    hosted = report.hosted
    yield "expired tokens", report.lost.expired
    yield "not ready or dispersed tokens", report.lost.dispersed
    yield "parameter changed tokens", report.lost.parameter_change
    yield "refused tokens", report.lost.refused
    yield "below the minimum tokens", report.lost.below_minimum
    yield "not marked tokens", report.lost.not_marked
    yield "end of a step tokens", report.lost.last_block
    billed = {"no cache": hosted.without, "this cache": hosted.modelled}
    for name, totals in {**billed, "the log says": hosted.reported}.items():
        for field, label in CLASSES.items():
            count = NONE if totals is None else getattr(totals, field)
            yield f"billed tokens, {name}, {label}", count
    costs = (hosted.usd_without, hosted.usd_with, hosted.usd_reported)
    for name, cost in zip(("no cache", "this cache", "the log says"), costs, strict=True):
        yield f"usd, {name}", NONE if cost is None else f"{cost:.6f}"
    yield "usd saved", NONE if hosted.usd_saved is None else f"{hosted.usd_saved:.6f}"
    day = hosted.usd_saved_per_day
    yield "usd saved per day", NONE if day is None else f"{day:.6f}"
    for choice in hosted.lifetimes:
        shown = NONE if choice.usd is None else f"{choice.usd:.6f}"
        yield f"usd, lifetime {choice.name}", shown + (" (best)" if choice.best else "")


def invoice_lines(invoice: Invoice, width: int) -> Iterator[Text]:
    """Yield the bill beside the log's usage, and what differs."""
    yield _row(f"invoice ({invoice.form})", ("the log", "the bill", ""), "dim")
    for line in invoice.lines:
        verdict = {None: "", True: "agrees", False: "differs"}[line.agrees]
        by_tokens = line.bill_tokens is not None or line.bill_usd is None
        cells = (
            (_cell(line.log_tokens), _cell(line.bill_tokens))
            if by_tokens
            else (f"{usd(line.log_usd)} $", f"{usd(line.bill_usd)} $")
        )
        style = "bold red" if line.agrees is False else ""
        yield _row(f"  {CLASSES[line.token_class]}", (*cells, verdict), style)
    yield _row("  USD", (usd(invoice.log_usd), usd(invoice.bill_usd), ""), "bold")
    for finding in invoice.findings:
        yield from hanging("  ", finding, width)


def price_sources(hosted: HostedSummary) -> str | None:
    """Name the pages of the prices used; None where there were none."""
    sources = dict.fromkeys(m.source for m in hosted.models if m.source is not None)
    return one_line("; ".join(sources)) or None


def usd(amount: float | None) -> str:
    """Return an amount with as many digits as it needs to be told from nothing."""
    if amount is None:
        return NONE
    return f"{amount:,.2f}" if abs(amount) >= 100 or not amount else f"{amount:,.4f}"


def _saved(saved: float, without: float, per_day: float | None) -> str:
    verb = "saved" if saved >= 0 else "costs more:"
    text = f"{verb}  {usd(abs(saved))} USD ({percent(abs(saved) / without)})"
    if per_day is not None:
        text += f", {usd(abs(per_day))} a day at this pace"
    return text


def _cell(count: int | None) -> str:
    """Return a count with all its digits: a bill is compared to the token."""
    return NONE if count is None else f"{count:,}"


def _row(label: str, cells: Sequence[str], style: str = "") -> Text:
    row = Text(f"  {label} ".ljust(_LABEL))
    for cell in cells:
        row.append(cell.rjust(_WIDTH), style)
    row.rstrip()
    return row
