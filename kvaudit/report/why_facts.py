"""What `kvaudit why` found as facts with names, for pipes."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.core.redact import one_line
from kvaudit.core.story import StoryReport
from kvaudit.core.why import WhyReport
from kvaudit.report.divergences import group_facts, lost_sentence, why_definitions
from kvaudit.report.figures import plural
from kvaudit.report.log_facts import engine_facts, log_facts
from kvaudit.report.story import request_facts
from kvaudit.report.sweep_wording import share
from kvaudit.report.wording import heading, note_text


def why_facts(report: WhyReport) -> Iterator[tuple[str, object]]:
    """Yield the lines; a group is one line, its example the next."""
    yield "run", heading(report.log, "why")
    yield from log_facts(report.log)
    if report.engine is not None:
        yield from engine_facts(report.engine)
        yield "prompt tokens", report.prompt_tokens
        yield "hit tokens", report.hit_tokens
        yield "hit rate", share(report.hit_rate)
        yield "lost tokens", report.lost_tokens
    for total in report.causes:
        yield f"{total.cause} tokens", total.tokens
    for group in report.groups:
        yield f"{group.id}, {group.cause}", lost_sentence(group, report)
        yield f"{group.id}, template", one_line(group.template)
        yield from ((f"{group.id}, {name}", one_line(text)) for name, text in group_facts(group))
    for check in report.log_checks:
        yield f"log check, {check.check}", f"{check.count}: {check.message}"
    for each in report.variables:
        met = f"{each.values} values in {plural(each.requests, 'request')}"
        yield f"variable, {one_line(each.name)}", f"{each.level} ({met})"
    yield from why_definitions(report)
    yield from (("note", note_text(note)) for note in report.notes)


def story_facts(report: StoryReport) -> Iterator[tuple[str, object]]:
    """Yield one fact of a request's story a line."""
    yield "run", heading(report.log, "why")
    yield from engine_facts(report.engine)
    yield "request", report.request
    yield "prompt tokens", report.prompt_tokens
    yield from ((f"{part.what} tokens", part.tokens) for part in report.parts)
    yield from ((name, one_line(text)) for name, text in request_facts(report))
    yield from (("note", note_text(note)) for note in report.notes)
