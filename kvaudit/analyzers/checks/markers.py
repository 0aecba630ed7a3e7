"""Cache markers against the prompt they stand in, and what the provider does with them.

Reads markers, blocks and sizes of a document, whatever language it was read from; what readers
observed of the same fault themselves counts too. Parameters of a rule:

``find``    what it looks for, a function of this module's table
``kinds``   the observations that mean the same
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kvaudit.analyzers.check import graded
from kvaudit.analyzers.checks import observed
from kvaudit.analyzers.checks.order import size
from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.providers.facts import DEFAULT_MINIMUM, Minimum, Provider, provider_named
from kvaudit.core.document import (
    Document,
    Evidence,
    Marker,
    Origin,
    Position,
    Segment,
    Volatility,
)
from kvaudit.core.findings import Finding, Related, Severity
from kvaudit.core.rulebook import Rule
from kvaudit.core.sources import Source, Span

_BAND = 0.8
"""Sizes are estimates: nothing is said of a prefix within a fifth of the limit."""
_PREFIX = (Position.TOOLS, Position.SYSTEM, Position.FEWSHOT)
_CHANGES_PER_REQUEST = Volatility.TURN


class Seen(NamedTuple):
    """A fault, before it is graded."""

    source: Source
    span: Span
    detail: str
    evidence: Evidence = Evidence.DATAFLOW
    severity: Severity | None = None
    lost: int | None = None
    related: Related | None = None


class Setting(NamedTuple):
    """The provider and model a document is checked for."""

    provider: Provider | None
    model: str | None
    multi_turn: bool

    @property
    def minimum(self) -> Minimum | None:
        """The shortest prefix that is cached, where the model is known."""
        if self.provider is None or self.model is None:
            return None
        return self.provider.minimum_of(self.model)


def check(document: Document, rule: Rule, profile: Profile) -> Iterator[Finding]:
    """Find what the rule's ``find`` names, unless the reader observed the same already."""
    seen_by_reader = list(observed.check(document, rule, profile))
    if seen_by_reader:
        yield from seen_by_reader
        return
    model = document.model or profile.model
    turns = document.multi_turn if profile.multi_turn is None else profile.multi_turn
    provider = provider_named(document.provider or profile.provider, model)
    for seen in _FINDERS[rule.params["find"]](document, Setting(provider, model, turns)):
        yield Finding(
            code=rule.code,
            rule=rule.name,
            severity=graded(seen.severity or Severity(rule.severity), seen.evidence, document),
            evidence=seen.evidence,
            source=seen.source,
            span=seen.span,
            message=f"{rule.summary}: {seen.detail}",
            help=rule.help,
            lost_tokens=seen.lost,
            scope="session" if turns else "fleet",
            related=[] if seen.related is None else [seen.related],
        )


def _on_volatile(document: Document, setting: Setting) -> Iterator[Seen]:
    """A marker on or behind a text of the request, with nothing fixed marked before that."""
    earlier = -1
    for marker in _in_order(document):
        covered = [s for s in document.segments if earlier < s.block <= marker.block]
        earlier = marker.block
        changing = next((s for s in covered if _changes(s) and s.position in _PREFIX), None)
        if changing is None or marker.in_loop:
            continue
        before = [s for s in covered if s.block < changing.block]
        in_front = [s for s in covered[: covered.index(changing)] if s.block == changing.block]
        # Enough fixed text in front of it, in one and the same block, is another fault: KV311.
        if before or marker.block > changing.block or not _worth_caching(in_front, setting):
            yield Seen(
                changing.source,
                changing.span,
                f"{_shown(changing)} changes, and the marker stands {_where(marker, changing)}",
                changing.evidence,
                lost=sum(map(size, before)) or None,
                related=Related(source=marker.source, span=marker.span, label="the marker"),
            )


def _where(marker: Marker, changing: Segment) -> str:
    return "on its block" if marker.block == changing.block else "behind it"


def _mixed_block(document: Document, setting: Setting) -> Iterator[Seen]:
    """A marked block that begins with enough fixed text and goes on with changing text."""
    for marker in _in_order(document):
        if marker.in_loop:
            continue
        block = [s for s in document.segments if s.block == marker.block]
        at = next((i for i, s in enumerate(block) if s.volatility >= Volatility.IDENTITY), None)
        if not at or block[at].position not in _PREFIX:
            continue
        before = block[:at]
        if _worth_caching(before, setting):
            yield Seen(
                block[at].source,
                block[at].span,
                f"{_shown(block[at])} ends the fixed text of a marked block",
                block[at].evidence,
                lost=sum(map(size, before)) or None,
                related=Related(source=marker.source, span=marker.span, label="the marker"),
            )


def _worth_caching(segments: list[Segment], setting: Setting) -> bool:
    """Whether fixed text is long enough to be cached; text of unknown size is taken to be."""
    least = setting.minimum.tokens if setting.minimum else DEFAULT_MINIMUM
    return sum(map(size, segments)) >= least or any(map(_of_unknown_size, segments))


def _no_marker(document: Document, setting: Setting) -> Iterator[Seen]:
    """A provider that caches nothing unasked, and a long fixed beginning."""
    provider = setting.provider
    if document.markers or document.provider is None or provider is None:
        return
    if not provider.cache.needs_marker or any(
        o.kind.startswith("marker") for o in document.observations
    ):
        return
    fixed: list[Segment] = []
    for segment in document.segments:
        if segment.position > Position.FEWSHOT or segment.volatility >= Volatility.IDENTITY:
            break
        fixed.append(segment)
    least = setting.minimum.tokens if setting.minimum else DEFAULT_MINIMUM
    tokens = sum(map(size, fixed))
    if fixed and tokens * _BAND >= least:
        last = fixed[-1]
        yield Seen(
            last.source,
            _first_line(last),
            f"about {tokens:,} tokens are fixed, and {provider.name} caches only what is marked",
            lost=tokens,
        )


def _too_many(document: Document, setting: Setting) -> Iterator[Seen]:
    """More markers than a request may have, or one on every block of a loop."""
    for marker in document.markers:
        if marker.in_loop:
            yield Seen(marker.source, marker.span, "it is set on every block of a loop")
            return
    limit = setting.provider.marker_limit_of(setting.model) if setting.provider else None
    limit = limit or 4
    if len(document.markers) > limit:
        marker = _in_order(document)[limit]
        yield Seen(
            marker.source, marker.span, f"there are {len(document.markers)}, and {limit} are taken"
        )


def _below_minimum(document: Document, setting: Setting) -> Iterator[Seen]:
    """A marker on a prefix that the model does not cache."""
    minimum = setting.minimum
    if minimum is None or setting.provider is None or not setting.provider.cache.needs_marker:
        return
    for marker in document.markers:
        covered = [s for s in document.segments if s.block <= marker.block]
        grows = setting.multi_turn and any(s.position > Position.FEWSHOT for s in covered)
        if not covered or grows or any(_of_unknown_size(s) for s in covered) or marker.in_loop:
            continue
        tokens = sum(map(size, covered))
        if tokens < minimum.tokens * _BAND:
            yield Seen(
                marker.source,
                marker.span,
                f"about {tokens:,} tokens stand before it, and {setting.model} caches from "
                f"{minimum.tokens:,}",
                Evidence.DATAFLOW if minimum.certain else Evidence.NAME,
            )


def _lifetime_order(document: Document, setting: Setting) -> Iterator[Seen]:
    """A longer-lived marker behind a shorter-lived one."""
    provider = setting.provider or provider_named("anthropic", None)
    assert provider is not None
    before: Marker | None = None
    for marker in _in_order(document):
        lives = provider.lifetime_of(marker.ttl)
        if lives is None:
            continue
        if before is not None and lives > (provider.lifetime_of(before.ttl) or lives):
            yield Seen(
                marker.source,
                marker.span,
                f"{marker.ttl} stands behind {before.ttl or provider.cache.default_ttl}",
                related=Related(
                    source=before.source, span=before.span, label="lives shorter, and stands first"
                ),
            )
            return
        before = marker


def _moving(document: Document, setting: Setting) -> Iterator[Seen]:
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


def _one_shot(document: Document, setting: Setting) -> Iterator[Seen]:
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
                f"{_shown(unique)} stands before the marker, and no turn follows",
                Evidence.BINDING,
            )


def _observed_only(document: Document, setting: Setting) -> Iterator[Seen]:
    """Nothing that this check could see itself: readers observe it."""
    return iter(())


_FINDERS: dict[str, Callable[[Document, Setting], Iterator[Seen]]] = {
    "on-volatile": _on_volatile,
    "mixed-block": _mixed_block,
    "no-marker": _no_marker,
    "too-many": _too_many,
    "below-minimum": _below_minimum,
    "lifetime-order": _lifetime_order,
    "moving": _moving,
    "one-shot": _one_shot,
    "observed": _observed_only,
}


def _in_order(document: Document) -> list[Marker]:
    return sorted(document.markers, key=lambda marker: (marker.block, marker.span.start))


def _changes(segment: Segment) -> bool:
    return segment.volatility >= _CHANGES_PER_REQUEST and segment.origin is not Origin.CONSTANT


def _of_unknown_size(segment: Segment) -> bool:
    return segment.text is None and segment.tokens is None


def _shown(segment: Segment) -> str:
    text = " ".join((segment.expression or segment.text or "").split())
    return text if len(text) <= 50 else f"{text[:49]}…"


def _first_line(segment: Segment) -> Span:
    text = segment.source.text
    end = text.find("\n", segment.span.start, segment.span.end)
    return Span(segment.span.start, segment.span.end if end < 0 else end)
