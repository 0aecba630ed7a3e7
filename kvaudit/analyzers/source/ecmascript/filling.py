"""Templates that are filled by an object: ``Handlebars.compile(text)({ now })``.

A hole is found by its name, in the template's own text or in the file it was read from. A value
whose hole is not found, as in a part that the template includes, stands behind the template.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from kvaudit.analyzers.source.ecmascript import evaluate as values
from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import Value, text_of
from kvaudit.analyzers.source.parts import Part
from kvaudit.core.document import Evidence, Step
from kvaudit.core.sources import Span

HOLE = re.compile(r"\{\{\{?[-~]?\s*(\w[^{}\n]{0,200})\}\}\}?|<%[-=]\s*(\w[^%\n]{0,200})%>")
_NAME = re.compile(r"\w+")


def rendered(engine: Engine, frame: Frame, template: Value, args: list[Node]) -> Value | None:
    """Return a template that is filled by an object; None where nothing in it changes."""
    given: dict[str, tuple[Part, ...]] = {}
    for arg in args:
        if arg.kind == "object":
            fields = values.evaluate(engine, arg, frame).fields or {}
            given |= {key: value.printed for key, value in fields.items()}
    changing = {key: parts for key, parts in given.items() if any(p.text is None for p in parts)}
    if not changing:
        return None
    met: set[str] = set()
    parts: list[Part] = []
    for part in template.printed:
        parts += _filled(part, changing, met)
    rest = [p for key, put in changing.items() if key not in met for p in put if p.text is None]
    return text_of((*parts, *rest))


def _filled(part: Part, given: Mapping[str, tuple[Part, ...]], met: set[str]) -> Iterator[Part]:
    """Yield a literal in pieces, with what is given at its holes."""
    if part.text is None:
        yield part
        return
    at = 0
    for hole in HOLE.finditer(part.text):
        # A helper may stand before the name: {{upper name}}.
        name = next((word for word in _NAME.findall(hole[1] or hole[2]) if word in given), None)
        if name is None:
            continue
        met.add(name)
        yield from _literal(part, at, hole.start())
        for put in given[name]:
            yield _at_hole(part, hole, put)
        at = hole.end()
    yield from _literal(part, at, len(part.text))


def _literal(part: Part, start: int, end: int) -> Iterator[Part]:
    assert part.text is not None
    if start < end:
        yield replace(part, text=part.text[start:end], span=_span(part, start, end))


def _at_hole(part: Part, hole: re.Match[str], put: Part) -> Part:
    """Return a value at the hole it is put into, with the way from where it arose."""
    if put.text is not None:
        return put
    step = Step(source=put.source, span=put.span, label="is put in here")
    return replace(
        put,
        source=part.source,
        span=_span(part, hole.start(), hole.end()),
        expression=hole[0],
        evidence=put.evidence if put.evidence is Evidence.NAME else Evidence.BINDING,
        trail=(*put.trail, step),
    )


def _span(part: Part, start: int, end: int) -> Span:
    """Return where some characters of a literal stand; all of it where it holds escapes."""
    if part.span.end - part.span.start != len(part.text or ""):
        return part.span
    return Span(part.span.start + start, part.span.start + end)
