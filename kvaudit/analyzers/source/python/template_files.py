"""Prompts that lie in a file of their own: found by the name that a call gives, and then read.

A template of Jinja is taken as its reader sees it, so that its holes keep their places; any other
file is one literal. What fills a hole is bound to it by the name of the variable.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace

from kvaudit.analyzers.reader import Unreadable, reader_for
from kvaudit.analyzers.source.parts import limited
from kvaudit.analyzers.source.python.code import last_name
from kvaudit.analyzers.source.python.engine import Engine, Frame
from kvaudit.analyzers.source.python.hole_places import Hole, holes_by_name
from kvaudit.analyzers.source.python.holes import JINJA, bound_hole
from kvaudit.analyzers.source.python.templates import put_in, split
from kvaudit.analyzers.source.python.values import Part, Value, text_of
from kvaudit.core.sources import Source, Span

LOADS = re.compile(
    r"_*(get|load|read|render|open|fetch)_?(\w+_)?(template|prompt|prompt_template|template_file)"
    r"(_file|_text|_from_file)?|(get|select)_template|render_template"
)
"""Calls that take the name of a template, and perhaps what fills it."""

_ENDINGS = ("", ".j2", ".jinja2", ".jinja", ".md", ".txt", ".prompt")
_FOLDERS = ("", "prompts/", "templates/", "prompt_templates/")
_TEXT_FILE = re.compile(r"[\w./ -]+\.(?:j2|jinja2?|md|txt|prompt|tmpl|tpl)")
_MAX_CHARS = 200_000


def loaded(
    engine: Engine, frame: Frame, name: str | None, given: Mapping[str, Value]
) -> Value | None:
    """Return the text of the template of a name, filled; None where the project has none."""
    if not name or len(name) > 200 or "\n" in name:
        return None
    for folder in _FOLDERS:
        for ending in _ENDINGS:
            found = engine.project.sibling(frame.module.source, f"{folder}{name}{ending}")
            if found is not None and not found.path.endswith((".py", ".pyi")):
                return bound_to(text_of_file(engine, found), given)
    return None


def read_from_path(engine: Engine, frame: Frame, node: ast.expr) -> Value | None:
    """Return the text of the file that an expression of a path names by its last literal."""
    names = [
        inner.value
        for inner in ast.walk(node)
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
    ]
    written = [name for name in names if _TEXT_FILE.fullmatch(name)]
    if len(written) != 1:
        return None
    at = names.index(written[0])
    for start in range(at + 1):
        found = engine.project.sibling(frame.module.source, "/".join(names[start : at + 1]))
        if found is not None:
            return text_of_file(engine, found)
    return None


def opened_file(engine: Engine, frame: Frame, node: ast.expr) -> Value | None:
    """Return the text of a file that ``with open(path) as file`` opens to be read."""
    if not isinstance(node, ast.Call) or last_name(node.func) != "open":
        return None
    place = node.args[0] if node.args else getattr(node.func, "value", None)
    if isinstance(place, ast.Name | ast.Attribute):
        place = _written_as(frame, place)
    return None if place is None else read_from_path(engine, frame, place)


def _written_as(frame: Frame, place: ast.expr) -> ast.expr | None:
    """Return the expression that a name of a path stands for, as far as it was followed."""
    known = frame.env.get(frame.module.dotted(place))
    written = known.parts[0].expression if known is not None and len(known.parts) == 1 else None
    try:
        return ast.parse(written, mode="eval").body if written else None
    except SyntaxError:
        return None


def text_of_file(engine: Engine, source: Source) -> Value:
    """Return a file's text, with the holes of a Jinja template as parts of their own."""

    def parts() -> tuple[Part, ...]:
        if len(source.text) > _MAX_CHARS:
            return ()
        if source.path.endswith(JINJA):
            return tuple(_jinja_parts(engine, source))
        return (Part(source=source, span=Span(0, len(source.text)), text=source.text),)

    return text_of(engine.once.found(engine.module, ("file", source.path), parts, ()))


def _jinja_parts(engine: Engine, source: Source) -> list[Part]:
    reader = reader_for(source)
    if reader is None:
        return []
    try:
        documents = reader.read(source, engine.project)
    except (Unreadable, RecursionError):
        return []
    return [
        Part(
            source=segment.source,
            span=segment.span,
            text=segment.text,
            expression=segment.expression,
            origin=segment.origin,
            volatility=segment.volatility,
            evidence=segment.evidence,
            tokens=segment.tokens,
            is_hole=segment.text is None,
        )
        for document in documents[:1]
        for segment in document.segments
    ]


def bound_to(template: Value, given: Mapping[str, Value]) -> Value:
    """Return a template's text with what is known of the values that fill its variables."""

    def fill(hole: Hole, part: Part) -> tuple[Part, ...]:
        value = given.get(str(hole[2]))
        return (
            (replace(part, text=(part.text or "")[hole[0] : hole[1]]),)
            if value is None
            else put_in(value.printed, part, hole)
        )

    parts: list[Part] = []
    for part in template.parts:
        if part.text is None:
            parts.append(bound_hole(part, given))
        elif given and not part.source.path.endswith(JINJA):
            parts += split(part, holes_by_name(part.text), fill)
        else:
            parts.append(part)
    return text_of(limited(parts))
