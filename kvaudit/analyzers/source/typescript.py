"""TypeScript source, parsed with tree-sitter from the extra ``source``."""

from __future__ import annotations

from collections.abc import Sequence

from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.analyzers.source.ecmascript.beside import beside_prompts
from kvaudit.analyzers.source.ecmascript.tree import missing_grammar
from kvaudit.analyzers.source.ecmascript.worth import is_worth_parsing
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_SUFFIXES = (".ts", ".tsx", ".mts", ".cts")


def _sniff(source: Source) -> Sniffed:
    return Sniffed.CERTAIN if source.path.lower().endswith(_SUFFIXES) else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    found: list[Document] = []
    if is_worth_parsing(source.text):
        from kvaudit.analyzers.source.ecmascript.reading import read_module

        found += read_module(source, project, "typescript")
    return [*found, *beside_prompts(source, "typescript")]


READER = Reader(
    name="typescript",
    title="TypeScript source",
    suffixes=_SUFFIXES,
    sniff=_sniff,
    read=_read,
    missing=lambda: missing_grammar("typescript"),
)
