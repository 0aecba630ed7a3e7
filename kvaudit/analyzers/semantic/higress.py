"""Higress's ai-cache, whose limit means what its vector store measures.

By default any distance below 1000 hits, the last question alone is the key, and nothing expires
(plugins/wasm-go/extensions/ai-cache, README_EN.md).
"""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.semantic.literals import number_or_word
from kvaudit.analyzers.semantic.setup import LOOSE_COSINE
from kvaudit.analyzers.template.structure.node import Kind, Node
from kvaudit.core.document import Observation
from kvaudit.core.scales import SCALES
from kvaudit.core.sources import Source, Span

_DEFAULT_LIMIT = 1000.0
_ALWAYS_BELOW = 2
"""No distance of unit vectors that a store gives for a cosine is larger."""


def ai_cache(source: Source, node: Node) -> Iterator[Observation]:
    """Yield what a mapping with a vector store and an encoder leaves at Higress's defaults."""
    vector = node.get("vector")
    if vector is None or vector.kind is not Kind.MAP or node.get("embedding") is None:
        return
    if vector.word("type") is None:
        return
    span = next(key.span for key in node.keys if key.value == "vector")
    yield from _limit(source, vector, span)
    yield from _life(source, node, span)
    strategy = node.word("cacheKeyStrategy") or "lastQuestion"
    if strategy == "lastQuestion" and node.get("cacheKeyFrom") is None:
        yield Observation(
            kind="last-message-by-default",
            source=source,
            span=node.entry("cacheKeyStrategy") or span,
            detail="Higress's ai-cache looks up the last question alone; cacheKeyStrategy "
            "allQuestions takes those before it",
        )


def _limit(source: Source, vector: Node, span: Span) -> Iterator[Observation]:
    given = vector.get("threshold")
    value = _DEFAULT_LIMIT if given is None else number_or_word(given)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return
    place = span if given is None else vector.entry("threshold") or given.span
    relation = vector.word("thresholdRelation") or "lt"
    found = _above(value) if relation in ("gt", "gte") else _below(value)
    if found is not None:
        kind, detail = found
        yield Observation(kind=kind, source=source, span=place, detail=detail)


def _above(value: float) -> tuple[str, str] | None:
    if value > 1:
        return (
            "limit-on-wrong-scale",
            f"no similarity is above {value:g}, so that nothing hits; 0.95 is a cosine",
        )
    if value < LOOSE_COSINE:
        return (
            "loose-limit",
            f"{value:g} here means cosine {value:.2f} (cosine similarity), where opposite "
            "questions pass",
        )
    return None


def _below(value: float) -> tuple[str, str] | None:
    if value > _ALWAYS_BELOW:
        return (
            "limit-on-wrong-scale",
            f"each distance is below {value:g}, so that the nearest entry always hits; as a "
            "cosine distance 0.1 means cosine 0.90",
        )
    euclidean, cosine = (SCALES[name].to_cosine(value) for name in ("l2", "cosine_dist"))
    if max(euclidean, cosine) < LOOSE_COSINE:
        return (
            "loose-limit",
            f"{value:g} here means cosine {euclidean:.2f} as a Euclidean distance and "
            f"{cosine:.2f} as 1 - cosine, where opposite questions pass",
        )
    return None


def _life(source: Source, node: Node, span: Span) -> Iterator[Observation]:
    cache = node.get("cache")
    life = cache.get("cacheTTL") if cache is not None and cache.kind is Kind.MAP else None
    if life is None or number_or_word(life) == 0:
        yield Observation(
            kind="no-expiry",
            source=source,
            span=span,
            detail="Higress's ai-cache has no cacheTTL here, and keeps a wrong answer for ever",
        )
