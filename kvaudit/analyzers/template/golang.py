"""Go's text/template in rendered order, as Ollama and other Go programs write prompts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.template.pieces import MAX_PIECES, Item, Piece, Switch, shorter_arms_marked
from kvaudit.analyzers.template.values import CONSTANT, UNKNOWN, Value, fixed, joined, known, named
from kvaudit.core.document import Observation, Origin, Position
from kvaudit.core.sources import Source, Span

MAX_DEPTH = 150
MAX_ACTION = 20_000

# The outer repeat is not possessive: with a look-ahead in it that never matches before Python
# 3.11.5. Each character begins one alternative only, so there is nothing to try again.
_ACTION = re.compile(
    r"\{\{(-\s)?\s*+(/\*.*?\*/|(?:\"(?:[^\"\\\n]|\\.)*+\"|`[^`]*+`|[^\"`}]|\}(?!\}))*)\}\}", re.S
)
_WORD = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|`[^`]*+`|\|\|?|:?=|[^\s()|,]+")
_ASSIGNED = re.compile(r"(\$\w+(?:\s*,\s*\$\w+)?)\s*:?=\s*(.*)", re.DOTALL)
_KEYWORDS = frozenset({"if", "range", "with", "define", "block"})
_DEFINES = re.compile(r"define\s+[\"`]([^\"`]*)[\"`]")
_CALLS = re.compile(r"\s*[\"`]([^\"`]*)[\"`]")
_LAST = re.compile(r"\$last|\bslice\b|\blen\b")
_HOUR = re.compile(r"15|03|04|05|PM|Kitchen|RFC|Unix")


@dataclass(slots=True)
class _Open:
    word: str
    test: str
    span: Span
    arms: list[list[Item]] = field(default_factory=lambda: [[]])
    dot: Value | None = None


def rendered(source: Source, part: Span, said: Mapping[str, Origin]) -> list[Item]:
    """Return a template's pieces in rendered order; raises `Unreadable`."""
    return _Walk(source, said).run(part)


class _Walk:
    def __init__(self, source: Source, said: Mapping[str, Origin]) -> None:
        self.source = source
        self.said = said
        self.open = [_Open("", "", Span(0, 0))]
        self.names: dict[str, Value] = {}
        self.tokens: list[tuple[Span, str | None]] = []
        self.defined: dict[str, Span] = {}
        """Bodies of templates in the file, as tokens from and to, by name."""
        self.ends: dict[int, int] = {}
        """Where a definition is over, by where its body begins."""
        self.called: list[str] = []
        self.printed: set[str] = set()
        self.count = 0

    def run(self, part: Span) -> list[Item]:
        for token in _actions(self.source.text, part):
            self.tokens.append(token)
            self._count_one()
        self._find_defined()
        self._through(Span(0, len(self.tokens)))
        # Who executes the templates of a file by name prints those that no other one does.
        for name, body in self.defined.items():
            if name not in self.printed:
                self._call(name, body)
        while len(self.open) > 1:
            self._close()
        return self.open[0].arms[-1]

    def _count_one(self) -> None:
        self.count += 1
        if self.count > 2 * MAX_PIECES or len(self.open) > MAX_DEPTH:
            raise Unreadable(f"it has more than {MAX_PIECES} pieces, or {MAX_DEPTH} levels")

    def _find_defined(self) -> None:
        begun: list[int] = []
        for index, (_, action) in enumerate(self.tokens):
            word = (action or "").partition(" ")[0]
            if word in _KEYWORDS:
                begun.append(index)
            elif word == "end" and begun:
                start = begun.pop()
                name = _DEFINES.match(self.tokens[start][1] or "")
                if name is not None:
                    self.defined[name[1]] = Span(start + 1, index)
                    self.ends[start + 1] = index + 1

    def _through(self, body: Span) -> None:
        at = body.start
        while at < body.end:
            span, action = self.tokens[at]
            at += 1
            self._count_one()
            if action is None:
                text = self.source.text[slice(*span)]
                self._add(Piece(source=self.source, span=span, text=text, loop=self._loop()))
            elif at in self.ends:
                at = self.ends[at]
            else:
                self._act(span, action)

    def _call(self, name: str, body: Span) -> None:
        """Print a template of the file; one that prints itself is gone through once."""
        if name in self.called:
            return
        self.printed.add(name)
        self.called.append(name)
        self._through(body)
        self.called.pop()

    def _add(self, *items: Item) -> None:
        self.open[-1].arms[-1] += items

    def _loop(self) -> Origin | None:
        origins = [one.dot.origin for one in self.open if one.word == "range" and one.dot]
        if not origins:
            return None
        return Origin.HISTORY if Origin.HISTORY in origins else origins[-1]

    def _act(self, span: Span, action: str) -> None:
        word, _, rest = action.partition(" ")
        if word in _KEYWORDS:
            self._begin(word, rest, span)
        elif word == "template":
            name = _CALLS.match(rest)
            if name is not None and name[1] in self.defined:
                self._call(name[1], self.defined[name[1]])
        elif word == "else" and len(self.open) > 1:
            self.open[-1].arms.append([])
        elif word == "end":
            if len(self.open) > 1:
                self._close()
        elif word not in ("else", "continue", "break", "") and action[:2] != "/*":
            self._print(span, action)

    def _begin(self, word: str, rest: str, span: Span) -> None:
        assigned = _ASSIGNED.fullmatch(rest)
        value = self._value(assigned[2] if assigned else rest)
        if assigned:
            self.names |= dict.fromkeys(re.findall(r"\$\w+", assigned[1]), value)
        dot = replace(value, text=None) if word in ("range", "with") else None
        self.open.append(_Open(word, rest, span, dot=dot))

    def _close(self) -> None:
        block = self.open.pop()
        if block.word == "if":
            self._add(*self._of_branch(block))
        self._add(*shorter_arms_marked(block.arms))

    def _of_branch(self, block: _Open) -> Iterator[Item]:
        if self._loop() is Origin.HISTORY and "Tools" in block.test and _LAST.search(block.test):
            yield Observation(
                kind="tools-follow-last-user",
                source=self.source,
                span=block.span,
                detail=f"they are printed where {block.test}",
                position=Position.TOOLS,
            )
        elif len(self.open) == 1:
            yield Switch(
                source=self.source,
                span=block.span,
                test=block.test,
                value=self._value(block.test),
                cases=max(2, len(block.arms)),
            )

    def _print(self, span: Span, action: str) -> None:
        assigned = _ASSIGNED.fullmatch(action)
        if assigned:
            self.names |= dict.fromkeys(re.findall(r"\$\w+", assigned[1]), self._value(assigned[2]))
            return
        value = self._value(action)
        text, loop = value.text, self._loop()
        if text is not None:
            self._add(Piece(source=self.source, span=span, text=text, loop=loop))
            return
        self._add(Piece(source=self.source, span=span, expression=action, value=value, loop=loop))

    def _value(self, action: str) -> Value:
        words = _WORD.findall(action)
        if "now" in words or "currentTime" in words:
            layouts = [word for word in words if word[:1] in '"`']
            by_day = bool(layouts) and not any(_HOUR.search(layout) for layout in layouts)
            return known(Origin.DATE if by_day else Origin.CLOCK)
        values = [self._of_word(word) for word in words]
        if len(values) == 1:
            return values[0]
        return joined(values) if values else UNKNOWN

    def _of_word(self, word: str) -> Value:
        if word[:1] in '"`':
            return fixed(word.strip('"`'))
        if word.startswith("$") and not word.startswith("$."):
            return self.names.get(word.partition(".")[0], UNKNOWN)
        if not word.lstrip("$").startswith("."):
            return CONSTANT  # a function, a number, or a word of the language
        path = [part for part in word.lstrip("$").split(".") if part]
        dots = [one.dot for one in self.open if one.dot is not None]
        if word.startswith("$") or not dots:
            return named(path, self.said)
        if not path or dots[-1].origin is not Origin.UNKNOWN:
            return dots[-1]
        return named(path, self.said, of_item=True)


def _actions(text: str, part: Span) -> Iterator[tuple[Span, str | None]]:
    """Yield runs of text (None) and actions; trim marks take white space off the text."""
    at, trim = part.start, False
    while at < part.end:
        start = text.find("{{", at, part.end)
        found = (
            _ACTION.match(text, start, min(part.end, start + MAX_ACTION)) if start >= 0 else None
        )
        if start >= 0 and found is None:
            raise Unreadable("an action of the template is never closed")
        stop = start if found else part.end
        run = text[at:stop]
        begin = at + (len(run) - len(run.lstrip()) if trim else 0)
        end = stop - (len(run) - len(run.rstrip()) if found and found[1] else 0)
        if end > begin:
            yield Span(begin, end), None
        if found is None:
            return
        inner = found[2].strip()
        trim = inner.endswith("-") and (inner == "-" or inner[-2].isspace())
        yield Span(*found.span()), inner.removesuffix("-").strip() if trim else inner
        at = found.end()
