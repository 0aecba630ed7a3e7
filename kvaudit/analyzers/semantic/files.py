"""Semantic caches in configuration files, as mappings that products read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.semantic.products import Product, all_products, fits
from kvaudit.analyzers.semantic.setup import Given, Setup, judged
from kvaudit.analyzers.template.structure.node import Kind, Node
from kvaudit.core.document import Document, Observation
from kvaudit.core.sources import Source, Span

MAX_NODES = 20_000
_LITERALS = (Kind.TEXT, Kind.NUMBER, Kind.FLAG)


def file_documents(source: Source, roots: list[Node], kind: str) -> list[Document]:
    """Return a document for a file whose mappings set up a semantic cache."""
    found = [seen for root in roots for seen in _observed(source, root)]
    if not found:
        return []
    return [Document(source=source, kind=kind, name=source.path, observations=found)]


def _observed(source: Source, root: Node) -> Iterator[Observation]:
    seen: set[int] = set()
    stack: list[Node] = [root]
    while stack and len(seen) < MAX_NODES:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.kind is Kind.MAP:
            for key, inner in zip(node.keys, node.items, strict=True):
                if inner.kind is Kind.MAP:
                    product = _product(str(key.value), inner, node)
                    if product is not None:
                        yield from judged(_setup(source, product, key.span, inner))
            yield from _higress(source, node)
        stack += reversed(node.items)


def _product(key: str, inner: Node, around: Node) -> Product | None:
    values, beside = _values(inner), _values(around)
    for product in all_products():
        if (
            product.key == key
            and fits(product.when, values)
            and fits(product.beside, beside)
            and (product.when or any(name in values for name in (*product.threshold, "enabled")))
        ):
            return product
    return None


def _values(node: Node) -> dict[str, object]:
    return {name: item.value for name, item in node.pairs() if item.kind in _LITERALS}


def _setup(source: Source, product: Product, place: Span, node: Node) -> Setup:
    given = {
        name: Given(node.entry(name) or item.span, _number(item))
        for name, item in node.pairs()
        if item.kind is not Kind.NULL
    }
    return Setup(product=product, source=source, place=place, given=given)


def _number(item: Node) -> object:
    if item.kind is Kind.TEXT and re.fullmatch(r"-?\d+(\.\d+)?", str(item.value)):
        return float(item.value)
    return item.value if item.kind in _LITERALS else None


def _higress(source: Source, node: Node) -> Iterator[Observation]:
    """Yield what Higress's ai-cache takes by default: any distance below 1000, kept for ever."""
    vector = node.get("vector")
    if vector is None or vector.kind is not Kind.MAP or node.get("embedding") is None:
        return
    kind = vector.word("type")
    if kind is None:
        return
    span = node.entry("vector") or vector.span
    limit = vector.get("threshold")
    value = 1000.0 if limit is None else _number(limit)
    relation = vector.word("thresholdRelation") or "lt"
    if isinstance(value, int | float) and value > 2 and relation in ("lt", "lte"):
        yield Observation(
            kind="limit-on-wrong-scale",
            source=source,
            span=span if limit is None else vector.entry("threshold") or limit.span,
            detail=f"each distance is below {value:g}, so that the nearest entry always hits; as a "
            "cosine distance 0.1 means cosine 0.90",
        )
    cache = node.get("cache")
    life = cache.get("cacheTTL") if cache is not None and cache.kind is Kind.MAP else None
    if life is None or _number(life) == 0:
        yield Observation(
            kind="no-expiry",
            source=source,
            span=span,
            detail="Higress's ai-cache has no cacheTTL here, and keeps a wrong answer for ever",
        )
