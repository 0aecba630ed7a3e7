"""Plain text logs: a line is a record, and the formats that know the server read it."""

from __future__ import annotations

from kvaudit.logs.containers import Records
from kvaudit.logs.containers.lines import Lines, TooLong
from kvaudit.logs.format import LINE, BadRecord
from kvaudit.logs.source import Source


def read(source: Source) -> Records:
    """Yield the lines of a text log that are not empty."""
    for number, line in enumerate(Lines(source.chunks()), 1):
        if isinstance(line, TooLong):
            yield number, line.reason()
            continue
        try:
            text = line.decode().rstrip("\r")
        except UnicodeDecodeError as bad:
            yield number, BadRecord(f"not valid UTF-8 at byte {bad.start + 1}")
            continue
        if text.strip():
            yield number, {LINE: text}
