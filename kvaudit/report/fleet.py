"""The part of the screen about several replicas."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from kvaudit.core.fleet import FleetSummary, InvalidationSummary
from kvaudit.core.quantities import format_bytes
from kvaudit.core.redact import one_line
from kvaudit.core.results import ReplayReport
from kvaudit.report.figures import NONE, Scale, compact, percent, plural
from kvaudit.report.linted import hanging
from kvaudit.report.shares import share_heading, share_row

SHOWN_INSTANCES = 8
_LABEL = "    "


def fleet_lines(report: ReplayReport, width: int) -> Iterator[Text]:
    """Yield each replica's share, how even the load is, and what one cache would have hit."""
    fleet = report.fleet
    if fleet is None:
        return
    yield share_heading(f"{plural(fleet.instances, 'replica')}, {fleet.router}")
    scale = Scale(i.prompt_tokens for i in fleet.per_instance)
    for i in fleet.per_instance[:SHOWN_INSTANCES]:
        yield share_row(i.instance, i.requests, scale(i.prompt_tokens), i.hit_rate)
    if len(fleet.per_instance) > SHOWN_INSTANCES:
        more = len(fleet.per_instance) - SHOWN_INSTANCES
        yield Text(f"    and {more:,} more in --format json", "dim")
    for sentence in fleet_sentences(fleet):
        yield from hanging(_LABEL, sentence, width)


def fleet_sentences(fleet: FleetSummary) -> Iterator[str]:
    """Yield what is to be said of a fleet beside its table."""
    b = fleet.balance
    yield (
        f"busiest over mean: {_ratio(b.requests)} of requests, {_ratio(b.prompt_tokens)} of "
        f"prompt tokens, {_ratio(b.computed_tokens)} of computed tokens"
    )
    if fleet.sharing != "none":
        pinned = ""
        if fleet.sharing == "broadcast":
            pinned = f", {_tokens(fleet.pinned_tokens, fleet.pinned_bytes)} pinned on each"
        source = "the remote store" if fleet.sharing == "remote" else "other replicas"
        yield (
            f"{fleet.sharing}: {compact(fleet.shared_hit_tokens)} hit tokens came from "
            f"{source}; {_tokens(fleet.moved_tokens, fleet.moved_bytes)} moved{pinned}"
        )
    if fleet.invalidation is not None:
        yield from _events(fleet.invalidation, fleet.instances)
    one = fleet.one_cache
    if one is None:
        yield "one cache of the same size: not known without --instances"
    elif fleet.instances > 1:
        size = "" if one.capacity_blocks is None else f" of {one.capacity_blocks:,} blocks"
        yield f"one cache{size} for all of them would hit {percent(one.hit_rate)}"
    yield f"router: {fleet.rule}" + (f" ({fleet.source})" if fleet.source else "")
    yield f"in flight: {fleet.in_flight}"
    yield f"sharing: {fleet.sharing_rule}"


def _events(invalidation: InvalidationSummary, instances: int) -> Iterator[str]:
    for event in invalidation.events:
        if event.before_request is None:
            yield f"{one_line(event.reason)}: came after the end of the log"
        else:
            yield (
                f"{one_line(event.reason)} before request {event.before_request:,} reached "
                f"{event.reached:,} of {plural(instances, 'replica')}"
            )
    yield (
        f"stale: {compact(invalidation.stale_hit_tokens)} hit tokens in "
        f"{plural(invalidation.stale_requests, 'request')} were computed before an event; "
        f"{compact(invalidation.inconsistent_hit_tokens)} more on top of such a prefix"
    )


def _tokens(count: int, size: int | None) -> str:
    return compact(count) + ("" if size is None else f" ({format_bytes(size)})")


def _ratio(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"
