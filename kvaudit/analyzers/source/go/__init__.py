"""Go source: functions that build prompts, parsed with tree-sitter from the extra ``source``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.analyzers.source.ecmascript.tree import missing_grammar
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_WORTH_PARSING = re.compile(
    r"func\s*(\([^)]*\))?\s*\w*([pP]rompt|[sS]ystem|[iI]nstruction|[pP]ersona)"
)


def _sniff(source: Source) -> Sniffed:
    return Sniffed.CERTAIN if source.path.endswith(".go") else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    if not _WORTH_PARSING.search(source.text):
        return ()
    from kvaudit.analyzers.source.go.reading import read_go

    return read_go(source, project)


READER = Reader(
    name="go",
    title="Go source",
    suffixes=(".go",),
    sniff=_sniff,
    read=_read,
    missing=lambda: missing_grammar("go"),
)
