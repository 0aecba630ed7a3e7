"""Semantic caches in JavaScript and TypeScript: calls and objects that set up a product."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.semantic.ecmascript_lookups import lookup_faults
from kvaudit.analyzers.semantic.given import Given, Setup
from kvaudit.analyzers.semantic.products import all_products, fits, product_of_call
from kvaudit.analyzers.semantic.setup import judged
from kvaudit.analyzers.source.ecmascript.module import Module, module_of
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.core.document import Document, Observation
from kvaudit.core.sources import Source


def semantic_documents(source: Source, kind: str) -> list[Document]:
    """Return what is to be said of the semantic caches that a file sets up."""
    module = module_of(source)
    found = [seen for body in module.objects for seen in _of_object(module, body)]
    found += lookup_faults(module)
    if not found:
        return []
    return [Document(source=source, kind=kind, name=source.path, sent=False, observations=found)]


def _of_object(module: Module, body: Node) -> Iterator[Observation]:
    given = _given(module, body)
    values = {name: one.value for name, one in given.items()}
    around = body.parent
    setup: Setup | None = None
    is_open = any(kid.kind == "spread_element" for kid in body.kids)
    if around is not None and around.kind == "arguments" and around.parent is not None:
        called = around.parent.get("function", "constructor")
        product = product_of_call(module.dotted(called), values, module.source.text)
        if product is not None and called is not None:
            setup = Setup(
                product=product,
                source=module.source,
                place=called.span,
                given=given,
                is_open=is_open,
            )
    elif around is not None and around.kind == "pair" and (key := around.get("key")) is not None:
        name = module.text(key).strip("\"'")
        product = next(
            (p for p in all_products() if p.key == name and p.when and fits(p.when, values)), None
        )
        if product is not None:
            setup = Setup(
                product=product,
                source=module.source,
                place=key.span,
                given=given,
                is_open=is_open,
            )
    if setup is not None:
        yield from judged(setup)


def _given(module: Module, body: Node) -> dict[str, Given]:
    found = {}
    for kid in body.kids:
        if kid.kind == "shorthand_property_identifier":
            found[module.text(kid)] = Given(kid.span)
        elif kid.kind == "pair":
            key, value = kid.get("key"), kid.get("value")
            if key is not None and value is not None:
                found[module.text(key).strip("\"'")] = Given(value.span, _literal(module, value))
    return found


def _literal(module: Module, value: Node) -> object:
    if value.kind == "string":
        return module.string(value)
    if value.kind in ("true", "false"):
        return value.kind == "true"
    try:
        return float(module.text(value)) if value.kind == "number" else None
    except ValueError:
        return None
