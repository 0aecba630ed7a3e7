"""Prompts in Markdown and plain text: agents, commands, skills, system texts.

Such a file is fixed text, but for the marks that its client replaces: ``$ARGUMENTS``,
``${input:name}``, ``{{name}}``, and in plain text ``{name}`` as Python's ``format`` takes it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import PurePosixPath

from kvaudit.analyzers.markup import in_markup
from kvaudit.analyzers.reader import Project, Reader, Sniffed, Unreadable
from kvaudit.analyzers.template.compose import compose
from kvaudit.analyzers.template.fences import CODE, fenced
from kvaudit.analyzers.template.frontmatter import model_of, parted
from kvaudit.analyzers.template.giants import refuse_giants
from kvaudit.analyzers.template.pieces import MAX_PIECES, Item, Piece
from kvaudit.analyzers.template.promptlike import is_documentation
from kvaudit.analyzers.template.values import Value, named
from kvaudit.core.document import Document, Origin, Position
from kvaudit.core.sources import Source, Span

_FOLDERS = frozenset(
    {"agents", "agent", "commands", "skills", "prompts", "prompt", "chatmodes", "instructions"}
    | {"subagents", "personas", "patterns", "modes", "rules"}
)
_NAMES = re.compile(
    r"(?:^|[._-])(?:system|prompts?|instructions?|agents?|claude|gemini|skill|persona|chatmode)"
    r"(?:[._-]|$)"
)
_KEYS = re.compile(
    r"^(?:description|tools|model|allowed-tools|argument-hint|mode|applyTo)\s*:", re.MULTILINE
)
_CODE = frozenset((".py", ".js", ".jsx", ".ts", ".tsx", ".go", ".rs", ".java", ".cs", ".html"))
_BEGINS = re.compile(r"\s*(?:#!|\"\"\"|//|/\*|from |import |const |export |class |def |package )")
_STATEMENT = re.compile(
    r"^(?:from [\w.]+ import |import [\w.]+$|(?:async )?def \w+\("
    r"|(?:export )?(?:const|class|function) \w+)",
    re.MULTILINE,
)
MIN_STATEMENTS = 8
"""A text that shows some code in its lines holds fewer at their very beginning."""

_ARGUMENTS = re.compile(r"\$ARGUMENTS\b|\$\{input:([\w-]+)[^}\n]{0,200}\}")
_NAMED = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_FORMAT = re.compile(r"(?<![\w\\}{$])\{([a-z_][a-z0-9_]*)\}(?!\})")

_AND = r"(?:,? (?:and|or) |, ?)"
_LISTED_BEFORE = re.compile(rf"(?:\{{\w+\}}{_AND})+\Z")
_LISTED_AFTER = re.compile(rf"(?:{_AND}\{{\w+\}})+")
_COMMAND = re.compile(r"[ \t]*(?:[-*] +)?`?/(?:[\w{}-]+ [^\n]*|\w+-)?\Z")
_CALLED_A_MARK = re.compile(
    r" (?:variables?|placeholders?|parameters?|slots?|holes?|fields?|tokens?)\b"
)


def _is_code(text: str) -> bool:
    """Whether a text is a program: it begins like one, and goes on so."""
    return (
        _BEGINS.match(text) is not None
        and len(_STATEMENT.findall(text, 0, 20_000)) >= MIN_STATEMENTS
    )


def _sniff(source: Source) -> Sniffed:
    path = PurePosixPath(source.path.lower())
    if path.suffix not in (".md", ".txt", ".mdc") or is_documentation(source.path):
        return Sniffed.NO
    if (len(path.suffixes) > 1 and path.suffixes[-2] in _CODE) or _is_code(source.text):
        return Sniffed.NO  # a program that was given the name of a text
    if source.text.startswith("+++"):
        return Sniffed.NO  # front matter of a site's pages, and of the rules of this linter
    in_folder = bool({*path.parts[-4:-1]} & _FOLDERS)
    if path.suffix == ".txt":
        return Sniffed.NAME if in_folder or _NAMES.search(path.stem) else Sniffed.NO
    head = parted(source).head
    if head and _KEYS.search(head):
        return Sniffed.NAME
    return Sniffed.NAME if _NAMES.search(path.stem) or in_folder else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    refuse_giants(len(source.text))
    head, body = parted(source)
    items = list(_items(source, body, project.variables))
    is_command = any(
        isinstance(i, Piece) and i.expression and _ARGUMENTS.fullmatch(i.expression) for i in items
    )
    return compose(
        source,
        "markdown",
        items,
        model=model_of(head),
        # A command is typed by a person now and then, and is the newest message.
        position=Position.NEWEST if is_command else None,
        low_stakes=is_command,
    )


def _items(source: Source, body: Span, said: Mapping[str, Origin]) -> Iterator[Item]:
    at = body.start
    marks = sorted(_marks(source, body, said), key=lambda mark: mark[0])
    if len(marks) > MAX_PIECES:
        raise Unreadable(f"it has more than {MAX_PIECES} marks")
    for start, end, value in marks:
        if start < at:
            continue
        if start > at:
            yield Piece(source=source, span=Span(at, start), text=source.text[at:start])
        expression = source.text[start:end]
        yield Piece(source=source, span=Span(start, end), expression=expression, value=value)
        at = end
    if at < body.end:
        yield Piece(source=source, span=Span(at, body.end), text=source.text[at : body.end])


def _marks(
    source: Source, body: Span, said: Mapping[str, Origin]
) -> Iterator[tuple[int, int, Value]]:
    for found in _ARGUMENTS.finditer(source.text, *body):
        value = Value(origin=Origin.USER_INPUT)
        yield found.start(), found.end(), value
    shown = _Shown(source.text, body)
    patterns = [_NAMED] if _only_names(source.text, body, shown) else []
    folders = {*PurePosixPath(source.path.lower()).parts[-4:-1]}
    if source.path.lower().endswith(".txt") or folders & {"prompts", "prompt"}:
        patterns.append(_FORMAT)
    for pattern in patterns:
        for found in pattern.finditer(source.text, *body):
            if pattern is _FORMAT and _is_mentioned(source.text, found):
                continue
            if found.start() not in shown and not in_markup(source.text, Span(*found.span())):
                yield found.start(), found.end(), named([found[1]], said)


def _is_mentioned(text: str, mark: re.Match[str]) -> bool:
    """Whether a text speaks of a mark, as a page about a prompt does: ``{a}, {b} and {c}``.

    In a line that begins with a command it says what the command takes: ``/ask {question}``.
    """
    before, after = text[max(0, mark.start() - 120) : mark.start()], text[mark.end() :][:120]
    if _COMMAND.match(before.rpartition("\n")[2]):
        return True
    beside = (_LISTED_BEFORE.search(before), _LISTED_AFTER.match(after))
    listed = sum(len(_FORMAT.findall(side[0])) for side in beside if side is not None)
    return listed >= 2 or _CALLED_A_MARK.match(after) is not None


def _only_names(text: str, body: Span, shown: _Shown) -> bool:
    """Whether braces hold names throughout; else they are a sample of some template language.

    So they are where more are shown as code: a page that explains marks to who fills them in.
    """
    opened = [found.start() for found in re.compile(r"\{\{").finditer(text, *body)]
    bare = [at for at in opened if at not in shown]
    return 2 * len(bare) >= len(opened) and all(_NAMED.match(text, at) for at in bare)


class _Shown:
    """Code in a text, in which marks are examples."""

    def __init__(self, text: str, body: Span) -> None:
        """Find fenced blocks and code within lines."""
        within = (Span(*found.span()) for found in CODE.finditer(text, *body))
        spans = sorted([*fenced(text, body.start), *within])
        self._starts = [span.start for span in spans]
        self._reach = list(accumulate((span.end for span in spans), max))

    def __contains__(self, offset: int) -> bool:
        index = bisect_right(self._starts, offset) - 1
        return index >= 0 and offset < self._reach[index]


READER = Reader(
    name="markdown",
    title="Prompts in Markdown and plain text: agents, commands, skills, system texts",
    suffixes=(".md", ".mdc", ".txt"),
    sniff=_sniff,
    read=_read,
)
