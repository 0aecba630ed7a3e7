"""Dockerfiles whose image starts an engine: FROM, ENV, RUN, ENTRYPOINT and CMD."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kvaudit.analyzers.engine.documents import documents_of, may_start_engine
from kvaudit.analyzers.engine.invocation import Deployment, Setting
from kvaudit.analyzers.engine.words import Word, without_comment_lines
from kvaudit.analyzers.reader import Project, Reader, Sniffed, is_called
from kvaudit.core.document import Document
from kvaudit.core.sources import Source, Span

_INSTRUCTION = re.compile(
    r"^[ \t]*(FROM|ENV|ENTRYPOINT|CMD)[ \t]+((?:[^\n\\]|\\\r?\n|\\.)*)",
    re.MULTILINE | re.IGNORECASE,
)
_STRING = re.compile(r"\"((?:[^\"\\]|\\.)*)\"")
_PAIR = re.compile(r"(?<!\w)([A-Za-z_]\w*)[ =]\"?([^\s\"]*)")


def _sniff(source: Source) -> Sniffed:
    if not is_called(source.path, READER.suffixes):
        return Sniffed.NO
    return Sniffed.CONTENT if may_start_engine(source) else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    return documents_of(_started(source), READER.name)


def _started(source: Source) -> Deployment:
    from kvaudit.analyzers.engine.programs import of_image
    from kvaudit.analyzers.engine.scripts import started

    image = ""
    variables: list[Setting] = []
    parts: dict[str, list[list[Word]]] = {}
    for found in _INSTRUCTION.finditer(without_comment_lines(source.text)):
        word = found[1].upper()
        if word == "FROM":
            # What an earlier stage would have started is not what this image starts.
            image, variables, parts = found[2].split()[0] if found[2].split() else "", [], {}
        elif word == "ENV":
            variables += _variables(found)
        else:
            parts[word] = list(_commands(found))
    entry, arguments = parts.get("ENTRYPOINT", []), parts.get("CMD", [])
    if len(entry) == 1 and len(arguments) == 1:
        commands = [[*entry[0], *arguments[0]]]
    else:
        commands = [*entry, *arguments]
    return started(
        source,
        commands,
        image=image,
        variables=variables,
        assumed=of_image(image) if image else None,
    )


def _variables(found: re.Match[str]) -> Iterator[Setting]:
    from kvaudit.analyzers.engine.flags import variable

    for pair in _PAIR.finditer(found[2]):
        start = found.start(2) + pair.start()
        yield variable(pair[1], pair[2], Span(start, found.start(2) + pair.end()))


def _commands(found: re.Match[str]) -> Iterator[list[Word]]:
    from kvaudit.analyzers.engine.words import shell_commands

    at = found.start(2)
    if not found[2].lstrip().startswith("["):
        yield from shell_commands(found[2], lambda start, end: Span(at + start, at + end))
        return
    listed = [
        (text[1].replace('\\"', '"'), at + text.start(), at + text.end())
        for text in _STRING.finditer(found[2])
    ]
    words: list[Word] = []
    for text, start, end in listed:
        if " " in text and not text.startswith(("{", "-", "[")):
            inside = start + 1
            yield from shell_commands(text, lambda s, e, i=inside: Span(i + s, i + e))  # type: ignore[misc]
        else:
            words.append(Word(text, Span(start, end)))
    if words:
        yield words


READER = Reader(
    name="dockerfile",
    title="Engines that an image starts (Dockerfile)",
    suffixes=("dockerfile", ".dockerfile", "containerfile"),
    sniff=_sniff,
    read=_read,
)
