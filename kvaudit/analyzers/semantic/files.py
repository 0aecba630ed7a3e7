"""Semantic caches in configuration files, as mappings that products read."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.semantic.design import said_once
from kvaudit.analyzers.semantic.given import Given, Setup
from kvaudit.analyzers.semantic.higress import ai_cache
from kvaudit.analyzers.semantic.literals import LITERALS, number_or_word
from kvaudit.analyzers.semantic.products import Product, all_products, fits
from kvaudit.analyzers.semantic.setup import judged
from kvaudit.analyzers.template.structure.node import Kind, Node
from kvaudit.core.document import Document, Observation
from kvaudit.core.sources import Source, Span

MAX_NODES = 20_000


def file_documents(source: Source, roots: list[Node], kind: str) -> list[Document]:
    """Return a document for a file whose mappings set up a semantic cache."""
    found = list(said_once(seen for root in roots for seen in _observed(source, root)))
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
            yield from ai_cache(source, node)
        stack += reversed(node.items)


def _product(key: str, inner: Node, around: Node) -> Product | None:
    values, beside = _values(inner), _values(around)
    for product in all_products():
        if (
            product.key == key
            and fits(product.when, values)
            and fits(product.beside, beside)
            and (product.when or product.sure or _holds_setup(product, values))
        ):
            return product
    return None


def _holds_setup(product: Product, values: dict[str, object]) -> bool:
    return any(name in values for name in (*product.threshold, "enabled"))


def _values(node: Node) -> dict[str, object]:
    return {name: item.value for name, item in node.pairs() if item.kind in LITERALS}


def _setup(source: Source, product: Product, place: Span, node: Node) -> Setup:
    return Setup(product=product, source=source, place=place, given=dict(_given(node, "")))


def _given(node: Node, above: str, depth: int = 4) -> Iterator[tuple[str, Given]]:
    """Yield the settings of a mapping, and those inside of it by their names with dots."""
    for key, item in zip(node.keys, node.items, strict=True):
        if item.kind is Kind.NULL:
            continue
        name = str(key.value)
        place = Span(key.span.start, max(key.span.end, item.span.end))
        yield f"{above}{name}", Given(place, number_or_word(item))
        if item.kind is Kind.MAP and depth:
            yield from _given(item, f"{above}{name}.", depth - 1)
