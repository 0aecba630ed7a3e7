"""The part of the screen about what tenants have of each other's KV."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from kvaudit.core.isolation import Apart, IsolationSummary
from kvaudit.core.redact import one_line
from kvaudit.core.results import ReplayReport
from kvaudit.report.figures import compact, percent, plural
from kvaudit.report.linted import hanging


def isolation_lines(report: ReplayReport, width: int) -> Iterator[Text]:
    """Yield whose KV was hit, and what keeping all apart would cost."""
    isolation = report.isolation
    if isolation is None or (isolation.parties < 2 and isolation.apart is None):
        return
    yield Text(f"  {plural(isolation.parties, isolation.field)}")
    for sentence in isolation_sentences(isolation):
        yield from hanging("    ", sentence, width)


def isolation_sentences(isolation: IsolationSummary) -> Iterator[str]:
    """Yield what is to be said of isolation."""
    yield (
        f"{compact(isolation.cross_hit_tokens)} of {compact(isolation.hit_tokens)} hit tokens "
        f"({percent(isolation.cross_share)}) were computed for another {isolation.field}, in "
        f"{plural(isolation.cross_requests, 'request')}"
    )
    for apart in (isolation.apart, isolation.apart_but_public):
        if apart is not None:
            yield _price(apart)


def _price(apart: Apart) -> str:
    public = f", {one_line(apart.public)} shared" if apart.public else ""
    change = "fewer" if apart.lost_tokens >= 0 else "more"
    return (
        f"kept apart by {apart.fields}{public}: hit rate {percent(apart.hit_rate)}, "
        f"{compact(abs(apart.lost_tokens))} hit tokens {change}"
    )
