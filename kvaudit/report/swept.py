"""A sweep as a person reads it: the curve as rows with bars, then what follows from it.

Rows are capacities, so the curve stands on its side; a grid of capacities is geometric, and the
rows with it. A bar is what this cache hits, and its light end what eviction that knows the future
would add.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from kvaudit.core.curve import CurvePoint, GroupCurve, SweepReport, TierCurve, Variant
from kvaudit.core.quantities import format_bytes
from kvaudit.core.redact import one_line
from kvaudit.report import wording
from kvaudit.report.figures import NONE, compact, percent, plural, rate_of
from kvaudit.report.linted import hanging
from kvaudit.report.log_lines import left_out_lines
from kvaudit.report.sweep_wording import (
    engine_pieces,
    possible,
    room,
    sweep_definitions,
    tokens,
)
from kvaudit.report.swept_semantic import threshold_lines

PROSE_WIDTH = 100
CHART_WIDTH = 132
"""Longer bars say no more."""
FULL, ADDED = "█", "░"
SHOWN_GROUPS = 12
COLUMNS_OF_GROUPS = 5

Lines = Iterator[Text]


def curve_parts(report: SweepReport, screen_width: int) -> list[Lines]:
    """Return the parts of the screen, of which some may be empty."""
    width = min(screen_width, PROSE_WIDTH)
    return [
        _head(report, width),
        _curve(report, min(screen_width, CHART_WIDTH)),
        threshold_lines(report.semantic, screen_width),
        _choices(report, width),
        _side_by_side(report, {v.policy: v.curve for v in report.policies}),
        _tiers(report, width),
        _instances(report),
        _block_sizes(report.block_sizes),
        _groups(report),
        left_out_lines(report.log, width),
        _notes(report, width),
        _definitions(report, width),
    ]


def _head(report: SweepReport, width: int) -> Lines:
    yield Text(wording.heading(report.log, "sweep"), "bold")
    if report.engine is not None:
        yield from map(Text, wording.joined(engine_pieces(report.engine), width))
    counted = report.prompt_tokens if report.engine is not None else None
    requests = plural(report.log.requests, "request")
    if report.engine is not None and report.requests != report.log.requests:
        requests += f" ({report.requests:,} counted)"
    pieces = [requests, *([] if report.semantic else wording.token_pieces(report.log, counted))]
    yield from map(Text, wording.joined(pieces, width))


def _size(point: CurvePoint) -> str:
    if point.capacity_bytes is not None:
        return format_bytes(point.capacity_bytes)
    return NONE if point.capacity_tokens is None else compact(point.capacity_tokens)


def _curve(report: SweepReport, width: int) -> Lines:
    if not report.curve:
        return
    optimal: Sequence[CurvePoint | None] = report.optimal or [None] * len(report.curve)
    pairs = list(zip(report.curve, optimal, strict=True))
    rate_width = max(10, *(len(rate_of(p)) + 2 for pair in pairs for p in pair if p is not None))
    unit = "KV" if any(p.capacity_bytes is not None for p in report.curve) else "tokens"
    head = f"{'blocks':>12}{unit:>12}{'hit rate':>{rate_width}}"
    head += f"{'optimal':>{rate_width}}" if report.optimal else ""
    most = max((p.hit_rate or 0 for pair in pairs for p in pair if p is not None), default=0)
    room_for_bars = width - len(head) - 2
    yield Text.assemble((head, "dim"), (f"  bars: {FULL} this cache", "dim"))
    for point, best in pairs:
        blocks = "no bound" if point.capacity_blocks is None else f"{point.capacity_blocks:,}"
        row = Text(f"{blocks:>12}{_size(point):>12}{rate_of(point):>{rate_width}}")
        if best is not None:
            row.append(f"{rate_of(best):>{rate_width}}")
        row.append("  ")
        row.append_text(_bar(point, best, most, room_for_bars))
        row.rstrip()
        yield row


def _bar(point: CurvePoint, best: CurvePoint | None, most: float, width: int) -> Text:
    if not most:
        return Text("")
    own = round((point.hit_rate or 0) / most * width)
    added = round(((best.hit_rate or 0) if best is not None else 0) / most * width) - own
    return Text.assemble((FULL * own, "cyan"), (ADDED * max(added, 0), "dim"))


def _choices(report: SweepReport, width: int) -> Lines:
    for name, choice in (("enough", report.recommended), ("knee", report.knee)):
        if choice is not None:
            text = f"{room(choice)}: {percent(choice.hit_rate)}, {choice.exactness}"
            yield from hanging(f"  {name:12} ", text, width, "bold" if name == "enough" else "")
    if report.engine is not None:
        text = f"{possible(report)} token by token and without a bound"
        yield from hanging(f"  {'possible':12} ", text, width)
        text = (
            f"{plural(report.distinct_blocks or 0, 'distinct block')}; the largest request needs "
            f"{report.largest_request_blocks:,}"
        )
        yield from hanging(f"  {'working set':12} ", text, width)
        yield from hanging(f"  {'exactness':12} ", f"{report.exactness}: {report.method}", width)


def _side_by_side(report: SweepReport, curves: Mapping[str, Sequence[CurvePoint]]) -> Lines:
    if not curves:
        return
    yield Text(f"{'blocks':>12}" + "".join(f"{name:>14}" for name in curves), "dim")
    for number, point in enumerate(report.curve):
        blocks = "no bound" if point.capacity_blocks is None else f"{point.capacity_blocks:,}"
        cells = (rate_of(curve[number]) for curve in curves.values())
        yield Text(f"{blocks:>12}" + "".join(f"{cell:>14}" for cell in cells))


def _tiers(report: SweepReport, width: int) -> Lines:
    if not report.tiers:
        return
    sizes = ", ".join(f"{tier.name} {_capacity(tier)}" for tier in report.tiers)
    text = f"hit rate with tiers below, each column with those before it: {sizes}"
    yield from hanging("  ", text, width)
    first = {"alone": report.curve}
    yield from _side_by_side(report, first | {f"+ {t.name}": t.curve for t in report.tiers})


def _capacity(tier: TierCurve) -> str:
    if tier.capacity_bytes is not None:
        return format_bytes(tier.capacity_bytes)
    blocks = tier.capacity_blocks
    return "without a bound" if blocks is None else plural(blocks, "block")


def _instances(report: SweepReport) -> Lines:
    if report.instances:
        yield Text(f"  replicas behind {report.instances[0].router}, each with so many blocks")
    named = {plural(v.instances, "replica"): v.curve for v in report.instances}
    yield from _side_by_side(report, named)


def _block_sizes(variants: Sequence[Variant]) -> Lines:
    if not variants:
        return
    yield Text(f"{'block size':>12}{'no bound':>12}{'lost to partial blocks':>26}", "dim")
    for variant in variants:
        lost = tokens(variant.partial_block_tokens)
        yield Text(f"{variant.block_size:>12,}{percent(variant.hit_rate):>12}{lost:>26}")


def _groups(report: SweepReport) -> Lines:
    if not report.groups:
        return
    points = _spread(report.groups[0].curve)
    names = [
        "no bound" if (c := report.groups[0].curve[i].capacity_blocks) is None else f"{c:,}"
        for i in points
    ]
    label = f"{plural(len(report.groups), 'group')} by {report.grouped_by}, at blocks"
    yield Text(f"  {label:32}" + "".join(f"{name:>9}" for name in names), "dim")
    for group in report.groups[:SHOWN_GROUPS]:
        yield _group_row(group, points)
    if len(report.groups) > SHOWN_GROUPS:
        yield Text(f"    and {len(report.groups) - SHOWN_GROUPS:,} more in --format json", "dim")


def _group_row(group: GroupCurve, points: Sequence[int]) -> Text:
    name = one_line(group.group)
    if cell_len(name) > 28:
        name = set_cell_size(name, 27) + "…"
    cells = "".join(f"{percent(group.curve[i].hit_rate):>9}" for i in points)
    return Text(f"    {set_cell_size(name, 30)}{cells}")


def _spread(points: Sequence[object]) -> list[int]:
    """Return at most `COLUMNS_OF_GROUPS` places, evenly spread, the last one among them."""
    last = len(points) - 1
    steps = min(last, COLUMNS_OF_GROUPS - 1)
    return [last] if not steps else sorted({round(n * last / steps) for n in range(steps + 1)})


def _notes(report: SweepReport, width: int) -> Lines:
    for note in report.notes:
        yield from hanging("  note  ", wording.note_text(note), width)


def _definitions(report: SweepReport, width: int) -> Lines:
    for name, definition in sweep_definitions(report):
        yield from hanging(f"  {name:12} = ", definition, width, "dim")
    if report.engine is not None and report.engine.model is None:
        yield Text("  next: --model NAME says what a capacity is in bytes", "dim")
