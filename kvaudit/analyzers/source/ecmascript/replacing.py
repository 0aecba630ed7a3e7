"""Texts in which something is put in the place of a mark."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from kvaudit.analyzers.source.ecmascript import evaluate as values
from kvaudit.analyzers.source.ecmascript import pieces
from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import Value, text_of
from kvaudit.analyzers.source.parts import Part
from kvaudit.core.document import Evidence
from kvaudit.core.sources import Span

_OPEN = re.compile(r"[{%$<\[]")


def replaced(
    engine: Engine, frame: Frame, receiver: Value, args: list[Node], *, every: bool
) -> Value | None:
    """Return a text with what stands in for a mark in it."""
    new = values.evaluate(engine, args[1], frame)
    if new.code is not None:
        new = values.result(engine, frame, new.code, [])
    put = pieces.placed(frame, args[1], new)
    mark = _mark(engine, frame, args[0])
    if not receiver.parts:
        return text_of(put) if put else None
    changing = tuple(part for part in put if part.text is None)
    if mark is None or not changing:
        # Where in the text it goes is not known, so it stands behind it.
        put = changing if _may_hold_a_mark(receiver) else _guessed(changing)
        return text_of((*receiver.parts, *put)) if put else receiver
    parts: list[Part] = []
    found = False
    for part in receiver.parts:
        at = mark.search(part.text) if part.text is not None else None
        if at is None or part.text is None or (found and not every):
            parts.append(part)
            continue
        found = True
        parts += _split(part, at.start(), at.end(), put)
    if not found and receiver.sole is not None:
        parts += put if _is_written(engine, frame, mark) else _guessed(put)
    return text_of(parts)


def _may_hold_a_mark(receiver: Value) -> bool:
    return any(_OPEN.search(part.text) for part in receiver.parts if part.text is not None)


def _is_written(engine: Engine, frame: Frame, mark: re.Pattern[str]) -> bool:
    """Whether a text of a file that was read holds a mark, besides the one that says what it is."""
    for module in (frame.module, *engine.others()):
        for node in _literals(module) if mark.search(module.source.text) else ():
            found = mark.search(module.source.text, node.start, node.end)
            if found is not None and node.end - node.start > 2 * len(found[0]) + 2:
                return True
    return False


@lru_cache(maxsize=32)
def _literals(module: Module) -> tuple[Node, ...]:
    """Return the texts that are written out in a file; looked for once, since many marks are."""
    return tuple(n for n in module.root.walk() if n.kind in ("string", "template_string"))


def _guessed(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return values that stand in a text only if who wrote it, elsewhere, put their mark there."""
    return tuple(replace(part, evidence=Evidence.NAME) for part in parts)


def _split(part: Part, start: int, end: int, put: tuple[Part, ...]) -> list[Part]:
    """Return a literal with something in the place of some of its characters."""
    assert part.text is not None
    exact = part.span.end - part.span.start == len(part.text)
    middle = part.span.start + start if exact else part.span.start
    behind = part.span.start + end if exact else part.span.end
    split = [replace(part, text=part.text[:start], span=Span(part.span.start, middle))]
    split += put
    split.append(replace(part, text=part.text[end:], span=Span(behind, part.span.end)))
    return [piece for piece in split if piece.text != ""]


def _mark(engine: Engine, frame: Frame, node: Node) -> re.Pattern[str] | None:
    """Return the mark that is replaced: a fixed text, or an expression of one fixed text."""
    written = frame.module.text(node)
    if node.kind == "regex":
        return _plain(written.rsplit("/", 1)[0][1:])
    given = node.get("arguments") if node.kind == "new_expression" else None
    if given is not None and given.kids and frame.module.dotted(node) == "RegExp":
        return _plain(values.evaluate(engine, given.kids[0], frame).text or "")
    text = values.evaluate(engine, node, frame).text
    return re.compile(re.escape(text)) if text else None


def _plain(pattern: str) -> re.Pattern[str] | None:
    """Return the expression of a pattern that stands for one text, but for its spaces."""
    bare = re.sub(r"\\s[*+]?", " ", pattern)
    plain = re.sub(r"\\([{}$<>\[\]().%/|_-])", r"\1", bare)
    if not re.fullmatch(r"[\w\s{}$<>\[\]%:.#@-]+", plain):
        return None
    words = r"\s*".join(re.escape(word) for word in plain.split())
    return re.compile(words) if words else None
