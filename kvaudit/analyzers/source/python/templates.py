"""Text with holes: ``%``, ``format``, ``Template``, ``replace`` and ``join``."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from kvaudit.analyzers.source.parts import limited
from kvaudit.analyzers.source.python.engine import Engine, Filled, Frame
from kvaudit.analyzers.source.python.hole_places import (
    Hole,
    holes_by_name,
    holes_of_dollars,
    holes_of_format,
)
from kvaudit.analyzers.source.python.holes import JINJA, bound_hole, called_hole
from kvaudit.analyzers.source.python.moments import at_precision
from kvaudit.analyzers.source.python.origins import named_hole
from kvaudit.analyzers.source.python.placing import element_at, placed
from kvaudit.analyzers.source.python.values import Part, Shape, Value, text_of
from kvaudit.core.document import VOLATILITY_OF, Evidence
from kvaudit.core.sources import Span

_PERCENT = re.compile(
    r"%(?:\((?P<key>[^)]*)\))?[-#0 +]*[\d*]*(?:\.[\d*]+)?(?P<kind>[diouxXeEfFgGcrsa%])"
)
FILLS = ("format", "format_map", "safe_substitute", "substitute", "partial", "render")
"""Methods that put values into a template."""


def split(
    part: Part, holes: Sequence[Hole], fill: Callable[[Hole, Part], tuple[Part, ...]]
) -> Iterator[Part]:
    """Yield a literal's runs, and between them what its holes are filled with."""
    text = part.text or ""
    at = 0
    for hole in holes:
        if hole[0] > at:
            yield replace(part, text=text[at : hole[0]])
        yield from fill(hole, part)
        at = hole[1]
    if at < len(text):
        yield replace(part, text=text[at:])


def filled(
    engine: Engine,
    frame: Frame,
    node: ast.Call,
    template: Value,
    args: Sequence[Value],
    keywords: Mapping[str, Value],
) -> Value:
    """Return a template of format fields or dollar names, filled by a call's arguments."""
    given: dict[str | int, Value] = {
        at: element_at(frame, arg, value)
        for at, (arg, value) in enumerate(zip(node.args, args, strict=False))
    }
    given.update(keywords)
    for value in args:
        given.update(value.fields or {})
    by = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    holes_of = (
        holes_of_dollars
        if "substitute" in by
        else holes_by_name
        if by == "render"
        else holes_of_format
    )
    if not any(part.text is not None for part in template.parts):
        return _opaque(frame, node, template, given)

    def fill(hole: Hole, part: Part) -> tuple[Part, ...]:
        value = _looked_up(given, hole[2])
        if value is None:
            return (left_open(engine, part, hole),)
        if "%" in hole[3]:
            value = at_precision(value, hole[3])
        return put_in(value.printed, part, hole)

    parts: list[Part] = []
    for part in template.parts:
        if part.text is None or part.source.path.endswith(JINJA):
            parts.append(part if part.text is not None else bound_hole(part, given))
            continue
        parts += split(part, holes_of(part.text), fill)
    made = text_of(parts)
    if frame.unit is not None:
        name = frame.module.dotted(node.func).rsplit(".", 2)
        called = name[-2] if len(name) > 1 else ""
        frame.unit.texts.append(Filled(called, node, made, loops=frame.loops))
    return made


def _looked_up(given: Mapping[str | int, Value], key: str | int) -> Value | None:
    if key in given or isinstance(key, int):
        return given.get(key)
    base, _, rest = key.partition(".")
    value = given.get(re.split(r"\[", base)[0])
    if value is not None and rest and value.fields is not None:
        return value.fields.get(rest, value)
    return value


def _opaque(
    frame: Frame, node: ast.Call, template: Value, given: Mapping[str | int, Value]
) -> Value:
    """Return a template whose text is not known: what fills it may stand anywhere in it.

    So nothing is known to stand behind a value, and sizes are left out.
    """
    single = [v for key, v in given.items() if isinstance(key, str) or v.fields is None]
    inside = [
        replace(part, tokens=None)
        for value in single
        for part in value.printed
        if part.text is None or part.hazards
    ]
    made = text_of(limited([*inside, *template.printed]))
    if frame.unit is not None and inside:
        written = frame.module.written(node.func)
        frame.unit.texts.append(Filled(written, node, made, opaque=True, loops=frame.loops))
    return made


def left_open(engine: Engine, part: Part, hole: Hole) -> Part:
    """Return a hole that nothing fills yet; its name is all that is known."""
    written = (part.text or "")[hole[0] : hole[1]]
    if "(" in str(hole[2]):
        return called_hole(engine, replace(part, span=_within(part, written)), written)
    said = named_hole(str(hole[2]), engine.project.variables)
    return replace(
        part,
        span=_within(part, written),
        text=None,
        expression=written,
        origin=said.origin,
        volatility=VOLATILITY_OF[said.origin],
        evidence=Evidence.NAME,
        tokens=said.tokens,
        is_hole=True,
    )


def put_in(parts: tuple[Part, ...], template: Part, hole: Hole) -> tuple[Part, ...]:
    """Return what fills a hole, with the place of the hole where that lies in another file."""
    if all(part.source is template.source for part in parts):
        return parts
    at = _within(template, (template.text or "")[hole[0] : hole[1]])
    return tuple(replace(part, fills=(template.source.path, at.start)) for part in parts)


def _within(part: Part, wanted: str) -> Span:
    """Return where a hole stands in the file: its first place in the literal it belongs to."""
    at = part.source.text.find(wanted, part.span.start, part.span.end)
    return part.span if at < 0 else Span(at, at + len(wanted))


def percent(engine: Engine, frame: Frame, node: ast.BinOp, template: Value, right: Value) -> Value:
    """Return ``template % values``."""
    rights = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
    values = right.items if isinstance(node.right, ast.Tuple) and right.items else (right,)
    given: dict[str | int, Value] = {
        at: element_at(frame, arg, value)
        for at, (arg, value) in enumerate(zip(rights, values, strict=False))
    }
    given.update(right.fields or {})
    count = 0
    parts: list[Part] = []
    for part in template.parts:
        if part.text is None:
            parts.append(part)
            continue
        holes: list[Hole] = []
        for match in _PERCENT.finditer(part.text):
            if match["kind"] == "%":
                continue
            key: str | int = match["key"] if match["key"] is not None else count
            count += match["key"] is None
            holes.append((match.start(), match.end(), key, ""))

        def fill(hole: Hole, inner: Part) -> tuple[Part, ...]:
            value = given.get(hole[2])
            return (left_open(engine, inner, hole),) if value is None else value.printed

        parts += split(part, holes, fill)
    return text_of(parts)


def replaced(frame: Frame, node: ast.Call, text: Value, old: Value, new: Value) -> Value:
    """Return ``text.replace(old, new)``."""
    wanted = old.text
    given = placed(frame, node.args[1], new)
    if not wanted:
        return text
    if not any(part.text is not None for part in text.parts):
        # The mark stands somewhere in a text that is not known.
        made = text_of((*given, *text.printed))
        if frame.unit is not None and re.search(r"\W\w+\W", wanted):
            written = frame.module.written(node.func)
            frame.unit.texts.append(Filled(written, node, made, opaque=True, loops=frame.loops))
        return made
    parts: list[Part] = []
    for part in text.parts:
        at = (part.text or "").find(wanted)
        if part.text is None or at < 0:
            parts.append(part)
            continue
        hole: Hole = (at, at + len(wanted), "", "")
        parts += split(part, [hole], lambda _hole, _part: given)
    return text_of(parts)


def joined(frame: Frame, node: ast.Call, between: Value, rows: Value) -> Value:
    """Return ``between.join(rows)``."""
    items = rows.items if rows.items is not None else (rows,)
    parts: list[Part] = []
    for at, item in enumerate(items):
        if at and parts and parts[-1].text is not None and between.text is not None:
            parts[-1] = replace(parts[-1], text=parts[-1].text + between.text)
        elif at:
            parts += between.parts
        parts += item.printed
    made = text_of(parts)
    return replace(made, hazards=rows.hazards) if made.parts else Value(shape=Shape.TEXT)


def open_template(engine: Engine, value: Value) -> Value:
    """Return a template's text with its named holes as parts of their own."""
    parts: list[Part] = []
    for part in value.parts:
        if part.text is None:
            parts.append(part)
        else:
            parts += split(
                part,
                holes_by_name(part.text),
                lambda hole, inner: (left_open(engine, inner, hole),),
            )
    return replace(text_of(parts), hazards=value.hazards)
