"""What keeps requests apart as a person reads it: where the tokens went, then group by group."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from kvaudit.core.redact import one_line
from kvaudit.core.why import (
    Cause,
    DivergenceGroup,
    Example,
    Location,
    LogCheck,
    Next,
    Trims,
    WhatIf,
    WhyReport,
    rule_of,
)
from kvaudit.report import wording
from kvaudit.report.figures import percent, plural
from kvaudit.report.linted import hanging, wrapped
from kvaudit.report.log_lines import left_out_lines

PROSE_WIDTH = 100
BAR_WIDTH = 22
SHOWN_GROUPS = 8
_LABEL_WIDTH = 28
_POSITIONS = {
    "tools": "in the tools",
    "system": "in the system text",
    "fewshot": "in the examples",
    "history": "in the history",
    "newest": "in the newest message",
}

Lines = Iterator[Text]


def why_parts(report: WhyReport, screen_width: int) -> list[Lines]:
    """Return the parts of the screen, of which some may be empty."""
    width = min(screen_width, PROSE_WIDTH)
    return [
        _head(report, width),
        _shares(report),
        *(_group(group, report, width) for group in report.groups[:SHOWN_GROUPS]),
        _others(report, width),
        _checks(report, width),
        left_out_lines(report.log, width),
        _remarks(report, width),
        (Text(line) for line in variables_toml(report)),
    ]


def _head(report: WhyReport, width: int) -> Lines:
    yield Text(wording.heading(report.log, "why"), "bold")
    if report.engine is not None:
        yield from map(Text, wording.joined(wording.engine_pieces(report.engine), width))
    requests = plural(report.log.requests, "request")
    if report.engine is not None and report.requests != report.log.requests:
        requests += f" ({report.requests:,} counted)"
    tokens = report.prompt_tokens if report.engine is not None else None
    yield from map(
        Text, wording.joined([requests, *wording.token_pieces(report.log, tokens)], width)
    )


def _shares(report: WhyReport) -> Lines:
    if not report.prompt_tokens:
        return
    yield _share("hit", report.hit_tokens, report, "green")
    yield _share("lost", report.lost_tokens, report, "bold")
    for total in report.causes:
        if total.cause != Cause.FIRST_SEEN:
            yield _share(f"  {total.cause}", total.tokens, report, "yellow")
    for total in report.causes:
        if total.cause == Cause.FIRST_SEEN:
            yield _share("first seen", total.tokens, report, "dim")


def _share(label: str, tokens: int, report: WhyReport, style: str) -> Text:
    share = tokens / report.prompt_tokens
    row = Text(f"  {label:{_LABEL_WIDTH}}{tokens:>14,}{percent(share):>9}  ")
    row.append("█" * round(share * BAR_WIDTH), style)
    row.rstrip()
    return row


def lost_sentence(group: DivergenceGroup, report: WhyReport) -> str:
    """Return what a group cost, in one sentence."""
    return (
        f"{group.lost_tokens:,} tokens lost in {group.requests:,} of "
        f"{plural(report.requests, 'request')}, {_POSITIONS.get(group.position, group.position)}"
    )


def _group(group: DivergenceGroup, report: WhyReport, width: int) -> Lines:
    head = f"{group.cause}: "
    for number, line in enumerate(wrapped(head + lost_sentence(group, report), width)):
        if number:
            yield Text(f"  {line}", "bold")
        else:
            yield Text.assemble((line[: len(head)], "bold red"), (line[len(head) :], "bold"))
    yield Text("   |", "dim")
    yield _quoted("", one_line(group.template), width, "cyan")
    if group.example.a or group.example.b:
        names = (group.example.request, group.example.relative)
        label = min(max(cell_len(one_line(name)) for name in names), 24)
        for name, text in zip(names, (group.example.a, group.example.b), strict=True):
            yield _quoted(set_cell_size(one_line(name), label) + "  ", one_line(text), width, "")
    yield Text("   |", "dim")
    for name, text in group_facts(group):
        yield from hanging(f"   = {name}: ", one_line(text), width)


def _quoted(label: str, text: str, width: int, style: str) -> Text:
    room = max(width - 5 - cell_len(label), 10)
    if cell_len(text) > room:
        text = set_cell_size(text, room - 1).rstrip() + "…"
    return Text.assemble(("   | ", "dim"), (label, "dim"), (text, style))


def group_facts(group: DivergenceGroup) -> Iterator[tuple[str, str]]:
    """Yield what is known of a group beside its texts, by name."""
    yield "parts", parts_sentence(group.example)
    if group.slot:
        yield "slot", group.slot
    for place in group.locations:
        yield "value" if place.by == "value" else "written", place_text(place)
    if group.lost_flops is not None or group.lost_usd is not None:
        yield "worth", worth_sentence(group)
    if group.trims is not None:
        yield "trims", trims_sentence(group.trims)
    if group.what_if is not None:
        yield "what if", what_if_sentence(group.what_if)
    if group.next is not None:
        yield "next", next_sentence(group.next)
    rule = rule_of(group.cause, group.position)
    if rule is not None:
        code, name = rule
        yield "more", f"kvaudit rule {name} ({code})"


def check_text(check: LogCheck) -> str:
    """Return what is wrong with the log, and how often."""
    return f"{check.check} ({check.count:,}): {check.message}"


def place_text(place: Location) -> str:
    """Return where a text is written, how that is known, and what stands there."""
    there = f": {place.expression}" if place.expression else ""
    return f"{place.path}:{place.line} ({place.evidence}{there})"


def variables_toml(report: WhyReport) -> Iterator[str]:
    """Yield the lines of the settings that --learn proposes."""
    if not report.variables:
        return
    yield "[tool.kvaudit.variables]"
    for each in report.variables:
        seen = f"{plural(each.values, 'value')} in {plural(each.requests, 'request')}"
        name = each.name if each.name.isidentifier() and each.name.isascii() else f'"{each.name}"'
        yield f'{name} = "{each.level}"  # {seen}; {one_line(each.path)}:{each.line}'


def parts_sentence(example: Example) -> str:
    """Return where two requests part and agree again."""
    where = f"after {plural(example.offset_tokens, 'token')}"
    if example.offset_chars is not None:
        where += f" ({plural(example.offset_chars, 'character')})"
    if example.message is not None:
        where += f", in message {example.message} ({example.role})"
    if example.resumes_tokens is None:
        return where
    return f"{where}; the same text goes on {plural(example.resumes_tokens, 'token')} later"


def worth_sentence(group: DivergenceGroup) -> str:
    """Return what the lost tokens are worth."""
    parts = []
    if group.lost_flops is not None:
        parts.append(f"{group.lost_flops:.2e} prefill FLOPs")
    if group.lost_usd is not None:
        parts.append(f"{group.lost_usd:,.2f} USD")
    return f"the lost tokens are {' and '.join(parts)} (modelled)"


def trims_sentence(trims: Trims) -> str:
    """Return what dropping messages removed, what it computed again, and when that pays."""
    text = (
        f"{plural(trims.trims, 'trim')} removed {plural(trims.removed_tokens, 'token')}, and "
        f"{trims.again_tokens:,} were computed again"
    )
    if trims.break_even_turns is not None and trims.read_share is not None:
        return (
            f"{text}; at {percent(trims.read_share)} of the price for a cached token they pay "
            f"after {plural(trims.break_even_turns, 'later turn')}"
        )
    return f"{text}; where cached tokens cost no prefill, they never pay"


def what_if_sentence(fixed: WhatIf) -> str:
    """Return what a fix would bring, or that it does not help."""
    before, after = percent(fixed.hit_rate_before), percent(fixed.hit_rate_after)
    if not fixed.helps:
        return f"{fixed.fix}: does not help, {before} → {after} (simulated)"
    extra = ""
    if fixed.saved_flops is not None:
        extra += f", {fixed.saved_flops:.2e} FLOPs"
    if fixed.usd is not None:
        extra += f", {fixed.usd:,.2f} USD"
    gain = f"{fixed.saved_tokens:,} tokens{extra}"
    without = ""
    if fixed.hit_rate_moved is not None and percent(fixed.hit_rate_moved) != after:
        without = f" without what is moved, {percent(fixed.hit_rate_moved)} with it"
    return f"{fixed.fix}: hit rate {before} → {after}{without}, {gain} (simulated)"


def next_sentence(following: Next) -> str:
    """Return what parts the prompts once the fault is fixed, and what both fixes bring."""
    place = _POSITIONS.get(following.position, "")
    what = f"{following.cause} {place}".rstrip()
    return f"with that fixed, {what} parts most; both fixed: {what_if_sentence(following.what_if)}"


def _others(report: WhyReport, width: int) -> Lines:
    if len(report.groups) > SHOWN_GROUPS:
        rest = report.groups[SHOWN_GROUPS:]
        lost = sum(group.lost_tokens for group in rest)
        yield Text(
            f"  and {plural(len(rest), 'group')} with {lost:,} lost tokens in --format json", "dim"
        )
    if report.engine is not None and not report.lost_tokens:
        yield Text("  nothing was lost: what was computed had not been seen before", "green")


def _checks(report: WhyReport, width: int) -> Lines:
    for check in report.log_checks:
        yield from hanging("  log check    ", check_text(check), width, "yellow")


def _remarks(report: WhyReport, width: int) -> Lines:
    for note in report.notes:
        yield from hanging("  note         ", wording.note_text(note), width)
    for name, text in why_definitions(report):
        yield from hanging(f"  {name:12} = ", text, width, "dim")
    if any(group.example.a.startswith("[") for group in report.groups):
        yield Text("  next: --show-text quotes the texts; credentials are masked even so", "dim")


def why_definitions(report: WhyReport) -> Iterator[tuple[str, str]]:
    """Yield what the figures are, by name."""
    if report.engine is None:
        return
    yield "hit", f"simulated: what this cache would have had; {report.engine.exactness}"
    if report.definition is not None:
        yield "lost", f"measured on the log: {report.definition}"
    text = "text that no earlier request of the namespace has where it could be shared"
    if report.engine_rule_tokens:
        text += (
            f"; {report.engine_rule_tokens:,} of it by the engine's own rules, as the last block"
        )
    yield "first seen", text
