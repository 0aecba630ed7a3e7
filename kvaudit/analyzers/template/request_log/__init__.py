"""Logs of requests, one JSON object a line: each request against the one before it.

Rows of counters without their requests are read too. Lines that hold questions and answers, as
data sets for training do, are compared like any others: what does not go on from one another
says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePosixPath

from kvaudit.analyzers.reader import Project, Reader, Sniffed
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_MARKS = (
    '"messages"',
    '"contents"',
    '"tools"',
    '"system"',
    '"instructions"',
    '"prompt_tokens"',
    '"input_tokens"',
    '"cached_tokens"',
    '"cache_read',
    '"prompt"',
    '"prompt_token_ids"',
    '"token_ids"',
)
_LINES = 3


def _sniff(source: Source) -> Sniffed:
    name = PurePosixPath(source.path).name.lower()
    if not name.endswith(tuple(READER.suffixes)):
        return Sniffed.NO
    seen = [line for line in _first_lines(source.text) if line.strip()]
    marked = [line for line in seen if line.lstrip()[:1] == "{" and any(m in line for m in _MARKS)]
    if not seen or len(marked) < len(seen):
        return Sniffed.NO
    try:
        json.loads(seen[0])
    except (ValueError, RecursionError):
        # The first line may be broken, or the file one object over many lines.
        return Sniffed.NAME if len(seen) > 1 and name.endswith(".jsonl") else Sniffed.NO
    return Sniffed.CERTAIN if len(seen) > 1 or not name.endswith(".json") else Sniffed.NO


def _first_lines(text: str) -> list[str]:
    lines: list[str] = []
    at = 0
    while at < len(text) and len(lines) < _LINES:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        lines.append(text[at:end])
        at = end + 1
    return lines


def _read(source: Source, project: Project) -> Sequence[Document]:
    from kvaudit.analyzers.template.request_log.documents import read_log

    return read_log(source, project)


READER = Reader(
    name="request-log",
    title="Logs of request bodies or usage rows (JSONL): consecutive requests are compared",
    suffixes=(".jsonl", ".ndjson", ".json", ".log", ".txt"),
    sniff=_sniff,
    read=_read,
)
