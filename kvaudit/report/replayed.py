"""A replay as a person reads it on a terminal, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from kvaudit.core.results import LostTokens, NamespaceSummary, ReplayReport
from kvaudit.core.summaries import LengthSummary
from kvaudit.report import wording
from kvaudit.report.billed import hosted_lines, invoice_lines, lifetime_lines, price_sources
from kvaudit.report.device import device_lines
from kvaudit.report.figures import NONE, Scale, compact, percent, plural, rate_of
from kvaudit.report.fleet import fleet_lines
from kvaudit.report.isolation import isolation_lines
from kvaudit.report.linted import hanging
from kvaudit.report.log_lines import left_out_lines
from kvaudit.report.savings import saved_rows
from kvaudit.report.scheduled import schedule_lines
from kvaudit.report.semantic import semantic_lines
from kvaudit.report.shares import share_heading, share_row
from kvaudit.report.tiers import tier_lines

LABEL_WIDTH = 22
COLUMN_WIDTHS = (8, 14, 16)
BAR_WIDTH = 30
SHOWN_NAMESPACES = 8
SHOWN_SESSIONS = 3

Lines = Iterator[Text]


def replay_parts(report: ReplayReport, width: int) -> Iterator[Lines]:
    """Yield the parts of the screen, which stand with an empty line between."""
    yield _head(report, width)
    yield _rates(report, width)
    yield _lengths(report)
    yield _lost(report)
    yield schedule_lines(report, width)
    yield semantic_lines(report, width)
    yield _billed(report)
    yield _lifetimes(report)
    yield _saved(report, width)
    yield _invoice(report, width)
    yield _namespaces(report.namespaces)
    yield _sessions(report)
    yield isolation_lines(report, width)
    yield fleet_lines(report, width)
    yield tier_lines(report, width)
    yield device_lines(report.device, width)
    yield left_out_lines(report.log, width)
    yield _remarks(report, width)
    yield _definitions(report, width)


def _head(report: ReplayReport, width: int) -> Lines:
    yield Text(wording.heading(report.log, "replay"), "bold")
    if report.engine is not None:
        yield from map(Text, wording.joined(wording.engine_pieces(report.engine), width))
    yield from map(Text, wording.joined(wording.log_pieces(report), width))


def _row(label: str, cells: Sequence[str], styles: Sequence[str] = ("", "", "")) -> Text:
    row = Text(f"  {label}".ljust(LABEL_WIDTH))
    for cell, width, style in zip(cells, COLUMN_WIDTHS, styles, strict=True):
        row.append(cell.rjust(width), style)
    return row


def _rates(report: ReplayReport, width: int) -> Lines:
    compared = wording.columns(report)
    columns = list(compared.values())
    if not any(columns):
        return
    scale = Scale(c.hit_tokens for c in columns if c is not None)
    yield _row("", list(compared), ("dim", "dim", "dim"))
    yield _row("hit rate", [rate_of(c) for c in columns], ("", "bold green", ""))
    yield _row("hit tokens", [scale(c.hit_tokens) if c else NONE for c in columns])
    if len({c.requests for c in columns if c is not None}) > 1:
        # The log may report on some requests only: its rate is then not of the same sum.
        yield _row("of requests", [f"{c.requests:,}" if c else NONE for c in columns])
    held = wording.held(report)
    if held is not None:
        yield from hanging("  held".ljust(LABEL_WIDTH), held, width)


def _lengths(report: ReplayReport) -> Lines:
    if report.prefix is not None:
        return
    rows = {
        "prompt tokens": report.log.prompt_lengths,
        "output tokens": report.log.output_lengths,
    }
    present = {label: lengths for label, lengths in rows.items() if lengths is not None}
    if present:
        names = ("requests", "mean", "median", "P99", "max", "total")
        yield Text(" " * 17 + "".join(f"{name:>10}" for name in names), "dim")
    for label, lengths in present.items():
        yield Text(f"  {label:15}" + "".join(f"{cell:>10}" for cell in _length_cells(lengths)))


def _length_cells(lengths: LengthSummary) -> Iterator[str]:
    yield f"{lengths.requests:,}"
    yield f"{lengths.mean:,.1f}"
    for count in (lengths.p50, lengths.p99, lengths.max, lengths.total):
        yield compact(count)


def _lost(report: ReplayReport) -> Lines:
    if report.lost is None or report.prefix is None or not report.prefix.prompt_tokens:
        return
    lost: LostTokens = report.lost
    rows = wording.lost_rows(lost, hosted=report.hosted is not None)
    scale = Scale(rows.values())
    yield Text("  where the rest went")
    wide = max((len(label) for label, tokens in rows.items() if tokens), default=0)
    for label, tokens in rows.items():
        if not tokens:
            continue
        share = tokens / report.prefix.prompt_tokens
        line = Text(f"    {label:{max(14, wide)}}{scale(tokens):>12}{percent(share):>8}  ")
        line.append("█" * round(share * BAR_WIDTH), "cyan")
        line.rstrip()
        yield line


def _billed(report: ReplayReport) -> Lines:
    if report.hosted is not None:
        yield from hosted_lines(report.hosted)


def _invoice(report: ReplayReport, width: int) -> Lines:
    if report.invoice is not None:
        yield from invoice_lines(report.invoice, width)


def _lifetimes(report: ReplayReport) -> Lines:
    if report.hosted is not None:
        yield from lifetime_lines(report.hosted.lifetimes)


def _saved(report: ReplayReport, width: int) -> Lines:
    if report.savings is None or report.hosted is not None:  # its bill says it already
        return
    for label, text in saved_rows(report.savings):
        yield from hanging(f"  {label:11}", text, width)


def _namespaces(namespaces: Sequence[NamespaceSummary]) -> Lines:
    if len(namespaces) < 2:
        return
    largest = sorted(namespaces, key=lambda n: (-n.prompt_tokens, n.namespace))
    scale = Scale(n.prompt_tokens for n in namespaces)
    yield share_heading(plural(len(namespaces), "namespace"))
    for n in largest[:SHOWN_NAMESPACES]:
        yield share_row(n.namespace, n.requests, scale(n.prompt_tokens), n.hit_rate)
    if len(largest) > SHOWN_NAMESPACES:
        yield Text(f"    and {len(largest) - SHOWN_NAMESPACES:,} more in --format json", "dim")


def _sessions(report: ReplayReport) -> Lines:
    sessions = report.sessions
    if sessions is None or sessions.sessions < 2:
        return
    yield share_heading(plural(sessions.sessions, "session"))
    tenth, half, ninetieth = sessions.hit_rate_p10, sessions.hit_rate_p50, sessions.hit_rate_p90
    yield Text(
        f"    hit rate of a session: P10 {percent(tenth)}, median {percent(half)}, "
        f"P90 {percent(ninetieth)}"
    )
    scale = Scale(s.prompt_tokens for s in sessions.most_computed)
    for s in sessions.most_computed[:SHOWN_SESSIONS]:
        yield share_row(s.session, s.requests, scale(s.prompt_tokens), s.hit_rate)


def _remarks(report: ReplayReport, width: int) -> Lines:
    for note in report.notes:
        yield from hanging("  note  ", wording.note_text(note), width)
    for budget in report.budgets:
        style = "green" if budget.passed else "bold red"
        yield Text(f"  budget  {wording.budget_text(budget)}", style)


def _definitions(report: ReplayReport, width: int) -> Lines:
    for name, definition in wording.definitions(report):
        yield from hanging(f"  {name:12} = ", definition, width, "dim")
    if report.hosted is not None:
        prices = price_sources(report.hosted)
        if prices is not None:
            yield from hanging("  prices       = ", prices, width, "dim")
    elif report.engine is not None and report.engine.capacity_blocks is None:
        yield Text("  next: --capacity 40GiB --model NAME replays a cache that must evict", "dim")
