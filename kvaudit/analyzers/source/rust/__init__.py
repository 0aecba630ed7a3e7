"""Rust source: functions that build prompts, parsed with tree-sitter from the extra ``source``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.analyzers.source.ecmascript.tree import missing_grammar
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_WORTH_PARSING = re.compile(
    r"fn\s+\w*(prompt|system|instruction|persona)|impl\b[^{};]*(Prompt|Instruction)\w*[^{};]*\bfor\b"
)


def _sniff(source: Source) -> Sniffed:
    return Sniffed.CERTAIN if source.path.endswith(".rs") else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    if not _WORTH_PARSING.search(source.text):
        return ()
    from kvaudit.analyzers.source.rust.reading import read_rust

    return read_rust(source, project)


READER = Reader(
    name="rust",
    title="Rust source",
    suffixes=(".rs",),
    sniff=_sniff,
    read=_read,
    missing=lambda: missing_grammar("rust"),
)
