"""Markers against what a provider takes: how many, from which length, for how long."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.checks.markers.fault import (
    BAND,
    Seen,
    Setting,
    in_order,
    least_tokens,
    of_unknown_size,
)
from kvaudit.analyzers.checks.order import size
from kvaudit.core.document import Document, Evidence, Marker, Position, Segment, Volatility
from kvaudit.core.findings import Related
from kvaudit.core.sources import Span
from kvaudit.cost.providers.facts import provider_named, provider_of_model

WITHOUT_MARKS = frozenset(("openai", "deepseek", "mistral"))
"""Providers whose APIs leave ``cache_control`` unread."""


_SPEAKS_OF_CACHING = re.compile(r"cache_control|cache_?point|caching|CacheControl", re.IGNORECASE)
"""What is said in a file of code that marks its requests in another place."""


def no_marker(document: Document, setting: Setting) -> Iterator[Seen]:
    """A provider that caches nothing unasked, and a long fixed beginning."""
    provider = setting.provider
    if document.markers or document.provider is None or provider is None:
        return
    if not provider.cache.needs_marker or any(
        o.kind.startswith("marker") for o in document.observations
    ):
        return
    if document.request is not None and _SPEAKS_OF_CACHING.search(document.source.text):
        return
    fixed: list[Segment] = []
    for segment in document.segments:
        if segment.position > Position.FEWSHOT or segment.volatility >= Volatility.IDENTITY:
            break
        fixed.append(segment)
    least = least_tokens(setting)
    tokens = sum(map(size, fixed))
    if fixed and tokens * BAND >= least:
        longest = max(fixed, key=size)
        yield Seen(
            *(document.request or (longest.source, _first_line(longest))),
            f"about {tokens:,} tokens are fixed, and {provider.name} caches only what is marked",
            lost=tokens,
        )


def too_many(document: Document, setting: Setting) -> Iterator[Seen]:
    """More markers than a request may have, or one on every block of a loop."""
    for marker in document.markers:
        if marker.in_loop:
            yield Seen(marker.source, marker.span, "it is set on every block of a loop")
            return
    limit = setting.provider.marker_limit_of(setting.model) if setting.provider else None
    limit = limit or 4
    # What other files mark may be one branch of several, or be marked anew before it is sent.
    own = [m for m in in_order(document) if m.source.path == document.source.path]
    if len(own) > limit:
        told = f"there are {len(own)}, and {limit} are taken"
        yield Seen(own[limit].source, own[limit].span, told)


def below_minimum(document: Document, setting: Setting) -> Iterator[Seen]:
    """A marker on a prefix that the model does not cache."""
    minimum = setting.minimum
    if minimum is None or setting.provider is None or not setting.provider.cache.needs_marker:
        return
    for marker in document.markers:
        covered = [s for s in document.segments if s.block <= marker.block]
        grows = setting.multi_turn and any(s.position > Position.FEWSHOT for s in covered)
        if not covered or grows or any(of_unknown_size(s) for s in covered) or marker.in_loop:
            continue
        tokens = sum(map(size, covered))
        if tokens < minimum.tokens * BAND:
            yield Seen(
                marker.source,
                marker.span,
                f"about {tokens:,} tokens stand before it, and {setting.model} caches from "
                f"{minimum.tokens:,}",
                Evidence.DATAFLOW if minimum.certain else Evidence.NAME,
            )


def lifetime_order(document: Document, setting: Setting) -> Iterator[Seen]:
    """A longer-lived marker behind a shorter-lived one."""
    provider = setting.provider or provider_named("anthropic", None)
    assert provider is not None
    before: Marker | None = None
    for marker in in_order(document):
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


def _first_line(segment: Segment) -> Span:
    text = segment.source.text
    end = text.find("\n", segment.span.start, segment.span.end)
    return Span(segment.span.start, segment.span.end if end < 0 else end)


def dropped(document: Document, setting: Setting) -> Iterator[Seen]:
    """A marker of Anthropic's for a model that is named, and whose API has no such markers."""
    maker = provider_of_model(document.model) if document.model else None
    for marker in document.markers if maker in WITHOUT_MARKS else ():
        written = marker.source.text[marker.span.start : marker.span.end]
        if "cache_control" in written or "cacheControl" in written:
            detail = f"{document.model} is not served by an API that reads it"
            yield Seen(marker.source, marker.span, detail)
