"""Prompts that LangChain saved: JSON or YAML with ``_type``, or objects with ``lc`` and ``id``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

HEAD_CHARS = 200_000
_SAVED = re.compile(
    r"[\"']?_type[\"']?\s*:\s*[\"']?(?:prompt|few_shot|chat)\b"
    r"|[\"']?input_variables[\"']?\s*:\s*(?:\[|\n\s*- +[\"']?\w+[\"']?\s*$)"
    r"|[\"']?lc[\"']?\s*:\s*1\b",
    re.MULTILINE,
)
_WORDS = ("_type", "input_variables", '"lc"', "'lc'", "lc:")
_SAYS = re.compile(r"[\"']?(?:template|prefix|kwargs|examples)[\"']?\s*:")


def _sniff(source: Source) -> Sniffed:
    if not source.path.lower().endswith(tuple(READER.suffixes)):
        return Sniffed.NO
    head = source.text[:HEAD_CHARS]
    if not any(word in head for word in _WORDS):  # most files end here, and patterns cost more
        return Sniffed.NO
    return Sniffed.CERTAIN if _SAVED.search(head) and _SAYS.search(head) else Sniffed.NO


def _read(source: Source, project: Project) -> Sequence[Document]:
    from kvaudit.analyzers.template.langchain_saved.read import read_saved

    return read_saved(source, project)


READER = Reader(
    name="langchain-saved",
    title="Prompts that LangChain saved (JSON, YAML)",
    suffixes=(".json", ".yaml", ".yml"),
    sniff=_sniff,
    read=_read,
)
