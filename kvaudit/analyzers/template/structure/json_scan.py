"""JSON with places, as people write it: comments, trailing commas, holes of templates.

Strict reading is tried first. Where it fails and the text has ``{{``, it is read again with
holes allowed: as a whole value, and inside a string, where they may hold quotes of their own.
"""

from __future__ import annotations

import json
import re

from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.template.giants import refuse_giants
from kvaudit.analyzers.template.structure.node import MAX_DEPTH, Kind, Node
from kvaudit.core.sources import Span

_SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|\{#.*?#\}|\{%.*?%\}|#[^\n]*)*", re.DOTALL)
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
# Possessive, and with holes of bounded length: an unfinished string costs one pass.
_STRING_WITH_HOLES = re.compile(
    r'"(?>[^"\\{]+|\\.|\{\{(?>[^\n}]|\}(?!\})){0,400}+\}\}|\{%(?>[^\n%]|%(?!\})){0,400}+%\}|\{)*+"',
    re.DOTALL,
)
_HOLE = re.compile(r"\{\{\{.*?\}\}\}|\{\{.*?\}\}", re.DOTALL)
_WORD = re.compile(r"-?\d[\d.eE+-]*|[A-Za-z_][\w.-]*")
_WORDS = {"true": True, "false": False, "null": None}


def scan_json(text: str, start: int = 0, end: int | None = None) -> Node:
    """Return the value that stands in ``text``, its places those of the whole text.

    Raises `Unreadable` where it is no JSON, is nested too deeply, or is too large.
    """
    end = len(text) if end is None else end
    refuse_giants(end - start)
    try:
        return _Scanner(text, end, holes=False).document(start)
    except _NotJson as error:
        if "{{" not in text and "{%" not in text:
            raise Unreadable(_where(text, error)) from None
    try:
        return _Scanner(text, end, holes=True).document(start)
    except _NotJson as error:
        raise Unreadable(_where(text, error)) from None


class _NotJson(Exception):
    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.at = at


def _where(text: str, error: _NotJson) -> str:
    return f"it is not JSON: {error} in line {text.count(chr(10), 0, error.at) + 1}"


class _Scanner:
    """Reads one value without recursion: open maps and lists lie on a stack."""

    def __init__(self, text: str, end: int, *, holes: bool) -> None:
        self.text, self.end, self.holes = text, end, holes
        self._string = _STRING_WITH_HOLES if holes else _STRING

    def document(self, at: int) -> Node:
        root, at = self._value(self._skip(at))
        open_nodes = [root] if root.kind in (Kind.MAP, Kind.LIST) else []
        while open_nodes:
            if len(open_nodes) > MAX_DEPTH:
                raise Unreadable(f"it is nested more than {MAX_DEPTH} levels deep")
            node = open_nodes[-1]
            at = self._skip(at, commas=True)
            if self._is(at, "}" if node.kind is Kind.MAP else "]"):
                at += 1
                node.span = Span(node.span.start, at)
                open_nodes.pop()
                continue
            if node.kind is Kind.MAP and not self._is_hole(at):
                key, at = self._key(at)
                node.keys.append(key)
                at = self._skip(at)
                if not self._is(at, ":"):
                    raise _NotJson("a colon is missing", at)
                at = self._skip(at + 1)
            elif node.kind is Kind.MAP:  # {{> rest }} where keys should stand
                node.keys.append(Node(Kind.TEXT, Span(at, at), ""))
            item, at = self._value(at)
            node.items.append(item)
            if item.kind in (Kind.MAP, Kind.LIST):
                open_nodes.append(item)
        if self._skip(at) < self.end:
            raise _NotJson("there is more after the end", at)
        return root

    def _skip(self, at: int, *, commas: bool = False) -> int:
        while True:
            found = _SPACE.match(self.text, at, self.end)
            at = found.end() if found else at
            if not commas or not self._is(at, ","):
                return at
            at += 1

    def _is(self, at: int, character: str) -> bool:
        return at < self.end and self.text[at] == character

    def _is_hole(self, at: int) -> bool:
        return self.holes and self.text.startswith("{{", at)

    def _key(self, at: int) -> tuple[Node, int]:
        if self._is(at, '"'):
            return self._quoted(at)
        word = _WORD.match(self.text, at, self.end)
        if word is None:
            raise _NotJson("a key is missing", at)
        return Node(Kind.TEXT, Span(*word.span()), word[0]), word.end()

    def _value(self, at: int) -> tuple[Node, int]:
        """Return a value; of a map or list only its beginning."""
        if self._is_hole(at):
            hole = _HOLE.match(self.text, at, self.end)
            if hole is not None:
                return Node(Kind.HOLE, Span(*hole.span()), hole[0]), hole.end()
        if self._is(at, '"'):
            return self._quoted(at)
        if self._is(at, "{") or self._is(at, "["):
            kind = Kind.MAP if self.text[at] == "{" else Kind.LIST
            return Node(kind, Span(at, at + 1)), at + 1
        word = _WORD.match(self.text, at, self.end)
        if word is None:
            raise _NotJson("a value is missing", at)
        return self._plain(word), word.end()

    def _plain(self, word: re.Match[str]) -> Node:
        span = Span(*word.span())
        if word[0] in _WORDS:
            value = _WORDS[word[0]]
            return Node(Kind.NULL if value is None else Kind.FLAG, span, value)
        try:
            return Node(Kind.NUMBER, span, float(word[0]))
        except ValueError:
            raise _NotJson(f"{word[0]!r} is no value", word.start()) from None

    def _quoted(self, at: int) -> tuple[Node, int]:
        found = self._string.match(self.text, at, self.end)
        if found is None:
            raise _NotJson("a string does not end", at)
        raw = found[0]
        plain = "\\" not in raw
        try:
            value = raw[1:-1] if plain else _decoded(raw)
        except ValueError:
            raise _NotJson("a string has an escape that JSON does not know", at) from None
        return Node(Kind.TEXT, Span(*found.span()), value, escaped=not plain), found.end()


def _decoded(raw: str) -> str:
    inner = re.sub(r'(?<!\\)((?:\\\\)*)"', r'\1\\"', raw[1:-1])  # quotes inside of holes
    decoded: str = json.loads(f'"{inner}"', strict=False)
    return decoded
