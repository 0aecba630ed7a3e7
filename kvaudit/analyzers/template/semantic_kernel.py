"""Semantic Kernel prompts: ``{{$variable}}``, ``{{plugin.function $argument}}``.

They stand in files of their own, or in YAML under ``template``, there also in Handlebars.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kvaudit.analyzers.reader import Project, Reader, Sniffed, Unreadable
from kvaudit.analyzers.template import sections
from kvaudit.analyzers.template.compose import compose
from kvaudit.analyzers.template.curly import Curly, scan
from kvaudit.analyzers.template.giants import refuse_giants
from kvaudit.analyzers.template.pieces import MAX_PIECES, Item, Piece
from kvaudit.analyzers.template.values import (
    CONSTANT,
    Value,
    fixed,
    joined,
    known,
    named,
    named_call,
)
from kvaudit.core.document import Document, Origin
from kvaudit.core.sources import Source, Span

_VARIABLE = re.compile(r"\{\{\s*\$\w")
_FORMAT = re.compile(r"^template_format[ \t]*:[ \t]*[\"']?([\w-]+)", re.MULTILINE)
_TEMPLATE = re.compile(r"^(?P<indent>[ \t]*)template[ \t]*:[ \t]*[|>][-+\d]*[ \t]*\r?\n", re.M)
# The functions of the kernel's own time plugin; those not listed give parts of a day.
_DAYS = frozenset({"date", "today", "year", "month", "monthnumber", "day", "dayofweek", "daysago"})
_CLOCKS = frozenset(
    {"now", "utcnow", "time", "hour", "hournumber", "minute", "minutes", "second", "seconds"}
)


def _sniff(source: Source) -> Sniffed:
    name = source.path.lower()
    if name.endswith("skprompt.txt"):
        return Sniffed.CERTAIN
    variable = _VARIABLE.search(source.text, 0, 64_000)
    if name.endswith(".txt"):
        return Sniffed.CERTAIN if variable else Sniffed.NO
    if not name.endswith((".yaml", ".yml")) or not _TEMPLATE.search(source.text, 0, 64_000):
        return Sniffed.NO
    return Sniffed.CERTAIN if variable or _FORMAT.search(source.text, 0, 64_000) else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    refuse_giants(len(source.text))
    part = Span(0, len(source.text))
    template_format = "semantic-kernel"
    if source.path.lower().endswith((".yaml", ".yml")):
        part = _block(source.text)
        named_format = _FORMAT.search(source.text)
        template_format = named_format[1].lower() if named_format else template_format
    if template_format == "handlebars":
        items = sections.rendered(source, project, part)
    elif template_format in ("jinja", "jinja2"):
        from kvaudit.analyzers.template.jinja import render

        items = render.rendered(source, project, part=part)
    elif template_format == "semantic-kernel":
        items = list(_items(source, part, project.variables))
    else:
        raise Unreadable(f"its template_format {template_format} is not read")
    return compose(source, "semantic-kernel", items)


def _block(text: str) -> Span:
    """Return where the block under ``template:`` stands: all lines that are indented deeper."""
    opened = _TEMPLATE.search(text)
    if opened is None:
        raise Unreadable("it has no block of text under template")
    deeper = re.compile(rf"(?:{re.escape(opened['indent'])}[ \t]+[^\n]*\n?|[ \t]*\r?\n)*")
    body = deeper.match(text, opened.end())
    return Span(opened.end(), body.end() if body else opened.end())


def _items(source: Source, part: Span, said: Mapping[str, Origin]) -> Iterator[Item]:
    for count, token in enumerate(scan(source.text, part)):
        if count > MAX_PIECES:
            raise Unreadable(f"it has more than {MAX_PIECES} pieces")
        if token.tag is None:
            yield Piece(source=source, span=token.span, text=source.text[slice(*token.span)])
        elif token.words:
            value = _value(token, said)
            if value.text is not None:
                yield Piece(source=source, span=token.span, text=value.text)
            else:
                yield Piece(source=source, span=token.span, expression=token.tag, value=value)


def _value(token: Curly, said: Mapping[str, Origin]) -> Value:
    first, *arguments = token.words
    if first.startswith("$") or first[:1] in "\"'":
        return _argument(first, said)
    path = first.split(".")
    if path[0].lower() in ("time", "timeplugin", "timeskill"):
        function = path[-1].lower()
        if function in _CLOCKS:
            return known(Origin.CLOCK)
        return known(Origin.DATE) if function in _DAYS else CONSTANT
    return joined([named_call(path, said), *(_argument(word, said) for word in arguments)])


def _argument(word: str, said: Mapping[str, Origin]) -> Value:
    if word[:1] in "\"'":
        return fixed(word.strip("\"'"))
    name = word.rpartition("=")[2]
    return named(name.lstrip("$").split("."), said) if name.startswith("$") else CONSTANT


READER = Reader(
    name="semantic-kernel",
    title="Semantic Kernel prompts (skprompt.txt, YAML, and text with {{$variables}})",
    suffixes=("skprompt.txt", ".yaml", ".yml", ".txt"),
    sniff=_sniff,
    read=_read,
)
