"""Handlebars and Mustache in rendered order: blocks, loops, partials, roles, helpers."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from kvaudit.analyzers.reader import Project, Unreadable
from kvaudit.analyzers.template.curly import Curly, scan
from kvaudit.analyzers.template.frontmatter import parted
from kvaudit.analyzers.template.pieces import (
    MAX_PIECES,
    Item,
    Mark,
    Piece,
    Switch,
    shorter_arms_marked,
)
from kvaudit.analyzers.template.values import CONSTANT, UNKNOWN, Value, fixed, joined, named
from kvaudit.core.document import Evidence, Origin
from kvaudit.core.sources import Source, Span

MAX_DEPTH = 150
MAX_PARTIALS = 12

_BRANCHES = frozenset({"if", "unless", "ifEquals", "unlessEquals", "eq", "and", "or", "not"})
_PARTIALS = ("{}", "_{}.prompt", "{}.prompt", "{}.hbs", "{}.mustache", "partials/{}.hbs")
_ROLES = frozenset({"system", "user", "assistant"})
_BLOCK_NAMES = re.compile(r"\|([^|]*)\|")


@dataclass(slots=True)
class _Open:
    """A block that is open: its arms so far, and what names mean in it."""

    token: Curly
    name: str
    arms: list[list[Item]] = field(default_factory=lambda: [[]])
    this: Value = UNKNOWN
    names: Mapping[str, Value] = field(default_factory=dict)
    loops: bool = False


def rendered(source: Source, project: Project, part: Span) -> list[Item]:
    """Return a template's pieces in rendered order; raises `Unreadable`."""
    return _Walk(project).file(source, part)


class _Walk:
    def __init__(self, project: Project) -> None:
        self.project = project
        self.open: list[_Open] = []
        self.depth = 0
        self.count = 0

    def file(self, source: Source, part: Span) -> list[Item]:
        floor = len(self.open)
        self.open.append(_Open(Curly(part), ""))
        for token in scan(source.text, part):
            self.count += 1
            if self.count > MAX_PIECES or len(self.open) > MAX_DEPTH:
                raise Unreadable(f"it has more than {MAX_PIECES} pieces, or {MAX_DEPTH} levels")
            self._token(source, token, floor)
        while len(self.open) > floor + 1:
            self._close(source)
        return self.open.pop().arms[-1]

    def _token(self, source: Source, token: Curly, floor: int) -> None:
        if token.tag is None:
            self._add(self._piece(source, token, text=source.text[slice(*token.span)]))
        elif token.sigil == "/":
            if len(self.open) > floor + 1:
                self._close(source)
        elif token.sigil == "#" or (token.sigil == "^" and token.tag):
            self._begin(source, token)
        elif token.sigil == "^" or token.words[:1] == ["else"]:
            if len(self.open) > floor + 1:
                self.open[-1].arms.append([])
        elif token.sigil == ">":
            self._add(*self._partial(source, token))
        else:
            self._add(*self._printed(source, token))

    def _add(self, *items: Item) -> None:
        self.open[-1].arms[-1] += items

    def _piece(self, source: Source, token: Curly, *, text: str) -> Piece:
        return Piece(source=source, span=token.span, text=text, loop=self._loop())

    def _loop(self) -> Origin | None:
        origins = [one.this.origin for one in self.open if one.loops]
        if not origins:
            return None
        return Origin.HISTORY if Origin.HISTORY in origins else origins[-1]

    def _begin(self, source: Source, token: Curly) -> None:
        words = token.words
        name = words[0] if words else ""
        block = _Open(token, name)
        if name == "role":
            role = words[1].strip("\"'") if len(words) > 1 else None
            self._add(self._mark(source, token, role))
        elif _is_chat_helper(source, token):
            self._add(self._mark(source, token, name))
        elif name not in _BRANCHES and name:
            over = words[1] if name in ("each", "with", "list") and len(words) > 1 else name
            block.this = replace(self._value(over), text=None)
            block.loops = name != "with"
            given = _BLOCK_NAMES.search(token.tag or "")
            block.names = dict.fromkeys(given[1].split() if given else (), block.this)
        self.open.append(block)

    def _close(self, source: Source) -> None:
        block = self.open.pop()
        if block.name in _BRANCHES and self._loop() is None and len(self.open) == 1:
            test = (block.token.tag or "").removeprefix(block.name).strip()
            self._add(
                Switch(
                    source=source,
                    span=block.token.span,
                    test=test,
                    value=joined(self._value(word) for word in block.token.words[1:]),
                    cases=max(2, len(block.arms)),
                )
            )
        self._add(*shorter_arms_marked(block.arms))

    def _mark(self, source: Source, token: Curly, role: str | None) -> Mark:
        role = "assistant" if role == "model" else role
        return Mark(source=source, span=token.span, role=role, loop=self._loop())

    def _printed(self, source: Source, token: Curly) -> Iterable[Item]:
        words = token.words
        if not words:
            return []
        if words[0] == "role" and len(words) > 1:
            return [self._mark(source, token, words[1].strip("\"'"))]
        if words[0] in ("section", "media") and len(words) > 1 and "this" not in words[1]:
            words = words[1:] if words[0] == "media" else []
        if words[0:1] == ["history"]:
            value = Value(origin=Origin.HISTORY, evidence=Evidence.DATAFLOW)
            piece = Piece(
                source=source,
                span=token.span,
                expression="history",
                value=value,
                loop=Origin.HISTORY,
            )
            return [self._mark(source, token, None), piece]
        if not words:
            return []
        value = self._value(words[0]) if len(words) == 1 else self._helped(words)
        if value.text is not None:
            return [self._piece(source, token, text=value.text)]
        return [
            Piece(
                source=source,
                span=token.span,
                expression=token.tag,
                value=value,
                loop=self._loop(),
            )
        ]

    def _helped(self, words: Sequence[str]) -> Value:
        """Return what a helper makes of its arguments; the helper itself may be a clock."""
        given = [self._value(word.partition("=")[2] or word) for word in words[1:]]
        return joined([named([words[0]], self.project.variables), *given])

    def _value(self, word: str) -> Value:
        if word[:1] in "\"'":
            return fixed(word.strip("\"'"))
        if word.lstrip("-").isdigit() or word in ("true", "false", "null"):
            return fixed(word)
        if word.startswith("("):
            inner = Curly(Span(0, 0), word[1:-1]).words
            return self._helped(inner) if len(inner) > 1 else UNKNOWN
        if word.startswith("@") and not word.startswith("@root"):
            return CONSTANT
        return self._of_path(word)

    def _of_path(self, word: str) -> Value:
        outer = word.startswith(("../", "@root"))
        path = [p for p in re.split(r"[./\[\]]+", word) if p and p not in ("@root", "..")]
        contexts = [one for one in self.open if one.loops or one.names]
        if path[:1] == ["this"] or word == ".":
            this = contexts[-1].this if contexts else UNKNOWN
            if len(path) > 1 and this.origin is Origin.UNKNOWN:
                return named(path[1:], self.project.variables, of_item=True)
            return this
        for context in reversed(contexts):
            if path and path[0] in context.names:
                return context.names[path[0]]
        in_item = bool(contexts) and not outer and len(path) == 1
        value = named(path, self.project.variables, of_item=in_item)
        if in_item and value.origin is Origin.UNKNOWN:
            return contexts[-1].this
        return value

    def _partial(self, source: Source, token: Curly) -> list[Item]:
        name = token.words[0].strip("\"'") if token.words else ""
        for pattern in _PARTIALS if name and self.depth < MAX_PARTIALS else ():
            found = self.project.sibling(source, pattern.format(name))
            if found is not None:
                self.depth += 1
                items = self.file(found, parted(found).body)
                self.depth -= 1
                return items
        return []


def _is_chat_helper(source: Source, token: Curly) -> bool:
    """Whether a block makes its content a message: ``{{#system}}You help.{{/system}}``.

    A section that prints the value which it is named after is there only where that is given.
    """
    name = token.tag or ""
    if token.sigil != "#" or name not in _ROLES:
        return False
    closings = _places(source.text, rf"\{{\{{~?\s*/\s*{name}\b")
    after = bisect_left(closings, token.span.end)
    if after == len(closings):
        return False
    printed = _places(source.text, rf"\{{\{{+[~&]?\s*({name}\b|this\b|\.|[#^/]?\s*\.)")
    within = bisect_left(printed, token.span.end)
    return within == len(printed) or printed[within] >= closings[after]


@lru_cache(maxsize=12)
def _places(text: str, pattern: str) -> list[int]:
    """Return where a pattern stands in a text: asked again for each block of it."""
    return [found.start() for found in re.finditer(pattern, text)]
