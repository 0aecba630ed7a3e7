"""Units of systemd, and quadlets, that start an engine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kvaudit.analyzers.engine.documents import documents_of, may_start_engine
from kvaudit.analyzers.engine.invocation import Setting
from kvaudit.analyzers.engine.words import Word, without_comment_lines
from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.core.document import Document
from kvaudit.core.sources import Source, Span

_ENTRY = re.compile(
    r"^(ExecStart|Exec|Environment|Image)[ \t]*=((?:[^\n\\]|\\\r?\n|\\.)*)", re.MULTILINE
)
_PAIR = re.compile(r"[\"']?(?<!\w)([A-Za-z_]\w*)=([^\s\"']*)[\"']?")


def _sniff(source: Source) -> Sniffed:
    if not source.path.lower().endswith(tuple(READER.suffixes)):
        return Sniffed.NO
    return Sniffed.CONTENT if may_start_engine(source) else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    from kvaudit.analyzers.engine.programs import of_image
    from kvaudit.analyzers.engine.scripts import started

    image = ""
    variables: list[Setting] = []
    commands: list[list[Word]] = []
    for found in _ENTRY.finditer(without_comment_lines(source.text)):
        if found[1] == "Image":
            image = found[2].strip()
        elif found[1] == "Environment":
            variables += _variables(found)
        else:
            commands += _commands(found)
    deployment = started(
        source,
        commands,
        image=image,
        variables=variables,
        assumed=of_image(image) if image else None,
    )
    return documents_of(deployment, READER.name)


def _variables(found: re.Match[str]) -> Iterator[Setting]:
    from kvaudit.analyzers.engine.flags import variable

    for pair in _PAIR.finditer(found[2]):
        start = found.start(2)
        yield variable(pair[1], pair[2], Span(start + pair.start(), start + pair.end()))


def _commands(found: re.Match[str]) -> list[list[Word]]:
    from kvaudit.analyzers.engine.words import shell_commands

    at = found.start(2)
    return shell_commands(found[2], lambda start, end: Span(at + start, at + end))


READER = Reader(
    name="systemd",
    title="Engines that a unit of systemd starts (.service, .container)",
    suffixes=(".service", ".container"),
    sniff=_sniff,
    read=_read,
)
