"""One request's story as a person reads it: its tokens, its relative, both texts, and the fix."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from kvaudit.core.redact import one_line
from kvaudit.core.story import Evictions, StoryReport
from kvaudit.core.why import RULES, Cause
from kvaudit.report import wording
from kvaudit.report.divergences import PROSE_WIDTH, parts_sentence, what_if_sentence
from kvaudit.report.figures import percent, plural
from kvaudit.report.linted import hanging

Lines = Iterator[Text]


def story_parts(report: StoryReport, screen_width: int) -> list[Lines]:
    """Return the parts of the screen."""
    width = min(screen_width, PROSE_WIDTH)
    return [_head(report, width), _tokens(report), _facts(report, width), _notes(report, width)]


def _head(report: StoryReport, width: int) -> Lines:
    yield Text(wording.heading(report.log, "why"), "bold")
    yield from map(Text, wording.joined(wording.engine_pieces(report.engine), width))
    yield Text(
        f"request {one_line(report.request)}, number {report.place:,} of {report.log.requests:,} · "
        f"{plural(report.prompt_tokens, 'prompt token')}"
    )


def _tokens(report: StoryReport) -> Lines:
    for part in report.parts:
        style = {"hit": "green", Cause.FIRST_SEEN: "dim"}.get(part.what, "yellow")
        share = percent(part.tokens / report.prompt_tokens)
        yield Text(f"  {part.what:28}{part.tokens:>14,}{share:>9}", style)


def _facts(report: StoryReport, width: int) -> Lines:
    for name, text in request_facts(report):
        yield from hanging(f"  {name:13}", one_line(text), width)


def request_facts(report: StoryReport) -> Iterator[tuple[str, str]]:
    """Yield what is told beside the tokens, by name."""
    yield "could hit", f"{plural(report.could_hit_tokens, 'token')}, but for what follows"
    if report.relative is None:
        yield "relative", "none: no earlier request of the namespace begins alike"
    else:
        yield (
            "relative",
            f"{report.relative}, with {plural(report.requests_since or 0, 'request')} in "
            f"between, shares {plural(report.shared_tokens, 'token')}",
        )
    if report.cause is not None:
        yield "cause", f"{report.cause}: {report.template}"
        if report.cause in RULES:
            yield "more", "kvaudit rule {1} ({0})".format(*RULES[report.cause])
    elif report.relative is not None:
        yield "cause", "none: where the two part, new text begins"
    if report.example is not None:
        yield "parts", parts_sentence(report.example)
        yield "this one", report.example.a
        yield "the other", report.example.b
    if report.evictions is not None:
        yield "evicted", evicted_sentence(report.evictions)
    if report.what_if is not None:
        yield "what if", what_if_sentence(report.what_if)


def evicted_sentence(found: Evictions) -> str:
    """Return what made room in between."""
    text = (
        f"{plural(found.requests, 'request')} in between evicted "
        f"{plural(found.evicted_blocks, 'block')}, of whatever prompt"
    )
    if found.most:
        most = ", ".join(f"{e.request} ({e.evicted_blocks:,})" for e in found.most)
        text += f"; most of them {most}"
    return text


def _notes(report: StoryReport, width: int) -> Lines:
    for note in report.notes:
        yield from hanging("  note         ", wording.note_text(note), width)
    if report.example is not None and report.example.a.startswith("["):
        yield Text("  next: --show-text quotes the texts; credentials are masked even so", "dim")
