"""Which container a file is, told from its beginning and never from its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import orjson

from kvaudit.core.errors import InputError
from kvaudit.logs.containers import Records, delimited, document, jsonl, parquet, plain
from kvaudit.logs.format import LINE, LogFormat
from kvaudit.logs.source import Source

# How many lines may come before the first JSON object: what rotation left of a line, a banner.
_JUNK_LINES = 20


def reader_of(source: Source, formats: Sequence[LogFormat]) -> Callable[[Source], Records]:
    """Return what reads the records of a file; raises `InputError` where it holds none."""
    if source.magic() == parquet.MAGIC:
        return parquet.read
    head, whole = source.head()
    lines = [line for line in head.split(b"\n") if line.strip()]
    if not lines:
        return jsonl.read
    if lines[0].lstrip().startswith((b"{", b"[")):
        return document.read if _is_document(lines) else jsonl.read
    # The last line may have been cut by the end of the head.
    lines = lines if whole else lines[:-1]
    text_formats = [log_format for log_format in formats if log_format.reads_text]
    if any(_is_known(line, text_formats) for line in lines):
        return plain.read
    if any(_is_object(line) for line in lines[:_JUNK_LINES]):
        return jsonl.read
    if lines and (delimiter := delimited.sniff(lines[0], source.name)):
        return partial(delimited.read, delimiter=delimiter)
    raise InputError(
        f"{source.name} is text, but neither JSON nor CSV nor the log of a known server; "
        "kvaudit reads JSON lines, JSON, CSV, Parquet and vLLM logs"
    )


def _is_document(lines: Sequence[bytes]) -> bool:
    """Return whether a text that starts like JSON is one document and not one object a line."""
    first = lines[0].lstrip()
    if first.startswith(b"["):
        return True
    # A pretty-printed object goes on with a key; where the next line starts an object of its
    # own, the first one is a broken record.
    return len(lines) > 1 and not _is_object(first) and not lines[1].startswith(b"{")


def _is_object(line: bytes) -> bool:
    if not line.lstrip().startswith(b"{"):
        return False
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


def _is_known(line: bytes, text_formats: Sequence[LogFormat]) -> bool:
    row = {LINE: line.decode(errors="replace")}
    return any(log_format.recognise(row) for log_format in text_formats)
