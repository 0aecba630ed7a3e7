"""Which container a file is, told from its beginning and never from its name."""

from __future__ import annotations

from collections.abc import Sequence

from kvaudit.logs.containers import Records, jsonl
from kvaudit.logs.format import LogFormat
from kvaudit.logs.source import Source


def open_records(source: Source, formats: Sequence[LogFormat]) -> Records:
    """Return the records of a file; raises `InputError` where it is nothing that holds any."""
    return jsonl.read(source)
