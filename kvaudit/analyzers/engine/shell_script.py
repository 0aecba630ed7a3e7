"""Shell scripts that start engines."""

from __future__ import annotations

from collections.abc import Sequence

from kvaudit.analyzers.engine.documents import documents_of, may_start_engine
from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.core.document import Document
from kvaudit.core.sources import Source, Span


def _sniff(source: Source) -> Sniffed:
    if not source.path.lower().endswith(tuple(READER.suffixes)):
        return Sniffed.NO
    return Sniffed.CONTENT if may_start_engine(source) else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    from kvaudit.analyzers.engine.scripts import started
    from kvaudit.analyzers.engine.words import shell_commands

    return documents_of(started(source, shell_commands(source.text, Span)), READER.name)


READER = Reader(
    name="shell-script",
    title="Engines that shell scripts start",
    suffixes=(".sh", ".bash"),
    sniff=_sniff,
    read=_read,
)
