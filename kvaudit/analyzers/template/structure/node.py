"""One value of a JSON or YAML file, with its place.

Strings keep a way back: `inner_span` gives the place in the file of any part of the decoded
text, through the escapes of JSON and the indentation of YAML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kvaudit.core.sources import Span

MAX_DEPTH = 200
"""Deeper nesting is no request; it only fills the stack of whoever walks the tree."""


class Kind(StrEnum):
    """What a value is."""

    MAP = "map"
    LIST = "list"
    TEXT = "text"
    NUMBER = "number"
    FLAG = "flag"
    NULL = "null"
    HOLE = "hole"
    """A template's expression where a value should stand: ``{{ messages }}``."""


@dataclass(slots=True, eq=False)
class Node:
    """A value. ``keys`` and ``items`` of a map stand side by side, duplicates included."""

    kind: Kind
    span: Span
    value: Any = None
    """Decoded text, number or flag; the expression of a hole."""
    keys: list[Node] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)
    escaped: bool = False
    """The text is written otherwise than it reads: with escapes, or over several lines."""
    _starts: Sequence[int] | None = field(default=None, repr=False)
    """Where its characters stand, once that was asked: there are many holes in one text."""

    @property
    def text(self) -> str | None:
        """The text of a string; None for anything else."""
        return self.value if self.kind is Kind.TEXT else None

    def get(self, *names: str) -> Node | None:
        """Return the value of the first of these keys that a map has; the last one written."""
        for name in names:
            at = self._find(name)
            if at is not None:
                return self.items[at]
        return None

    def entry(self, name: str) -> Span | None:
        """Return where a key and its value stand."""
        at = self._find(name)
        if at is None:
            return None
        return Span(self.keys[at].span.start, max(self.keys[at].span.end, self.items[at].span.end))

    def word(self, *names: str) -> str | None:
        """Return the text of a key's value, if it is text."""
        found = self.get(*names)
        return None if found is None else found.text

    def pairs(self) -> Iterator[tuple[str, Node]]:
        """Yield a map's keys and values as written."""
        for key, item in zip(self.keys, self.items, strict=True):
            yield str(key.value), item

    def at(self, path: tuple[str | int, ...]) -> Node:
        """Return the value at a path; the nearest one above it where it does not lead on."""
        node = self
        for step in path:
            if isinstance(step, str):
                below = node.get(step) if node.kind is Kind.MAP else None
            else:
                below = (
                    node.items[step] if node.kind is Kind.LIST and step < len(node.items) else None
                )
            if below is None:
                return node
            node = below
        return node

    def _find(self, name: str) -> int | None:
        if self.kind is not Kind.MAP:
            return None
        for at in range(len(self.keys) - 1, -1, -1):
            if self.keys[at].value == name:
                return at
        return None


_JSON_CHARACTER = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|.", re.DOTALL)
_WORD = re.compile(r"\S+")


def inner_span(text: str, node: Node, start: int, end: int) -> Span:
    """Return where characters ``start`` to ``end`` of a string's value stand in ``text``."""
    starts = character_starts(text, node)
    if starts is None or start >= len(starts) - 1:
        return node.span
    return Span(starts[start], max(starts[min(end, len(starts) - 1)], starts[start]))


def character_starts(text: str, node: Node) -> Sequence[int] | None:
    """Return where each character of a string's value stands in ``text``, and where it ends.

    None where that cannot be told.
    """
    if node._starts is None:
        node._starts = _starts_of(text, node)
    return node._starts or None


def _starts_of(text: str, node: Node) -> Sequence[int]:
    raw = text[node.span.start : node.span.end]
    value = str(node.value)
    if not node.escaped:
        shift = node.span.start + max(raw.find(value), 0)
        return range(shift, shift + len(value) + 1)
    starts = _json_starts(raw, value) if raw[:1] == '"' else None
    if starts is None:
        starts = _word_starts(raw, value) or []
    return [node.span.start + at for at in starts]


def _json_starts(raw: str, value: str) -> list[int] | None:
    """Return the offset in ``raw`` of every character of ``value``, and of its end."""
    starts = [found.start() for found in _JSON_CHARACTER.finditer(raw, 1, len(raw) - 1)]
    return [*starts, len(raw) - 1] if len(starts) == len(value) else None


def _spellings(word: str) -> Iterator[str]:
    """A word as it may stand in YAML: bare, in single quotes, in double quotes."""
    yield word
    yield word.replace("'", "''")
    yield json.dumps(word)[1:-1]
    yield json.dumps(word, ensure_ascii=False)[1:-1]


def _word_starts(raw: str, value: str) -> list[int] | None:
    """Return the same for text that YAML folds or indents: word by word."""
    starts: list[int] = []
    at = 0
    for word in _WORD.finditer(value):
        written = next((w for w in _spellings(word[0]) if raw.find(w, at) >= 0), None)
        if written is None:
            return None
        found = raw.find(written, at)
        starts += [at] * (word.start() - len(starts))
        starts += [found + min(n, len(written) - 1) for n in range(len(word[0]))]
        at = found + len(written)
    return [*starts, *[at] * (len(value) - len(starts)), at]
