"""Markers on text that does not stay: it changes, or no other request has it."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.checks.markers.fault import (
    PREFIX,
    Seen,
    Setting,
    in_order,
    shown,
    worth_caching,
)
from kvaudit.analyzers.checks.order import size
from kvaudit.analyzers.meant import is_meant
from kvaudit.core.document import Document, Evidence, Marker, Origin, Position, Segment, Volatility
from kvaudit.core.findings import Related


def on_volatile(document: Document, setting: Setting) -> Iterator[Seen]:
    """A marker on or behind a text of the request, with nothing fixed marked before that."""
    earlier = -1
    for marker in in_order(document):
        covered = [s for s in document.segments if earlier < s.block <= marker.block]
        earlier = marker.block
        changing = next((s for s in covered if _changes(s) and s.position in PREFIX), None)
        if changing is None or marker.in_loop or is_meant(changing):
            continue
        before = [s for s in covered if s.block < changing.block]
        in_front = [s for s in covered[: covered.index(changing)] if s.block == changing.block]
        # Enough fixed text in front of it, in one and the same block, is another fault: KV311.
        if before or marker.block > changing.block or not worth_caching(in_front, setting):
            yield Seen(
                changing.source,
                changing.span,
                f"{shown(changing)} changes, and the marker stands {_where(marker, changing)}",
                changing.evidence,
                lost=sum(map(size, before)) or None,
                related=Related(source=marker.source, span=marker.span, label="the marker"),
            )


def _where(marker: Marker, changing: Segment) -> str:
    return "on its block" if marker.block == changing.block else "behind it"


def mixed_block(document: Document, setting: Setting) -> Iterator[Seen]:
    """A marked block that begins with enough fixed text and goes on with changing text."""
    for marker in in_order(document):
        if marker.in_loop:
            continue
        block = [s for s in document.segments if s.block == marker.block]
        at = next((i for i, s in enumerate(block) if s.volatility >= Volatility.IDENTITY), None)
        if not at or block[at].position not in PREFIX:
            continue
        before = block[:at]
        if worth_caching(before, setting):
            yield Seen(
                block[at].source,
                block[at].span,
                f"{shown(block[at])} ends the fixed text of a marked block",
                block[at].evidence,
                lost=sum(map(size, before)) or None,
                related=Related(source=marker.source, span=marker.span, label="the marker"),
            )


def moving(document: Document, setting: Setting) -> Iterator[Seen]:
    """A single marker on the newest text, with too many blocks since the turn before."""
    look_back = setting.provider.cache.look_back if setting.provider else None
    if look_back is None or len(document.markers) != 1 or document.markers[0].in_loop:
        return
    marker = document.markers[0]
    here = {s.position for s in document.segments if s.block == marker.block}
    history = [s.block for s in document.segments if s.position is Position.HISTORY]
    since = [s.block for s in document.segments if s.position > Position.HISTORY]
    if not here & {Position.NEWEST, Position.TAIL} or not history or not since:
        return
    added = marker.block - min(since)
    if added > look_back:
        yield Seen(
            marker.source,
            marker.span,
            f"{added} blocks were added since the turn before, and a look-up goes back {look_back}",
        )


def one_shot(document: Document, setting: Setting) -> Iterator[Seen]:
    """A marker behind text that no other request has, in a call without a conversation."""
    if any(s.position is Position.HISTORY for s in document.segments) or not document.segments:
        return
    last = max(s.block for s in document.segments)
    for marker in document.markers:
        covered = [s for s in document.segments if s.block <= marker.block]
        unique = next(
            (s for s in covered if s.origin in (Origin.USER_INPUT, Origin.RETRIEVED)), None
        )
        earlier = any(other.block < marker.block for other in document.markers)
        newest = any(s.block == marker.block and s.position is Position.NEWEST for s in covered)
        if unique is not None and newest and marker.block == last and not earlier:
            yield Seen(
                marker.source,
                marker.span,
                f"{shown(unique)} stands before the marker, and no turn follows",
                Evidence.BINDING,
            )


def _changes(segment: Segment) -> bool:
    return segment.volatility >= Volatility.TURN and segment.origin is not Origin.CONSTANT
