"""From the bytes of a file to its text, and back to the same bytes.

What no reader could make sense of is refused here, with a reason: files too large to be a prompt,
binary ones, and text in an encoding that is neither UTF-8 nor marked UTF-16.
"""

from __future__ import annotations

import codecs
import os
import select
import stat
from dataclasses import dataclass
from pathlib import Path

MAX_BYTES = 4 << 20
"""A larger file is no prompt and no module that builds one."""
MAX_LOG_BYTES = 64 << 20
"""Logs of requests, one a line, are compared line by line and may be larger."""
PIPE_SECONDS = 2.0
"""How long a named pipe is waited for."""
_LOGS = (".jsonl", ".ndjson")

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Undecodable(Exception):
    """A file that is no text; the message says why, as a phrase."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text without its byte order mark, and how it was written."""

    text: str
    mark: bytes
    encoding: str

    def encode(self, text: str) -> bytes:
        """Return another text as this file would hold it."""
        return self.mark + text.encode(self.encoding)


def decode(data: bytes) -> Decoded:
    """Return the text of a file. Raises `Undecodable`."""
    mark, encoding = next((m for m in _MARKS if data.startswith(m[0])), (b"", "utf-8"))
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        raise Undecodable(
            "it is binary"
            if b"\0" in data and not mark
            else f"it is not {_spelled(encoding)}: {_where(error)}"
        ) from None
    if "\0" in text:
        raise Undecodable("it is binary")
    return Decoded(text, mark, encoding)


def _opened(path: str, flags: int) -> int:
    """Open a file; a pipe that nobody writes to is not waited for. Raises `Undecodable`."""
    if not stat.S_ISFIFO(os.stat(path).st_mode):
        return os.open(path, flags)
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not select.select([descriptor], [], [], PIPE_SECONDS)[0]:
        os.close(descriptor)
        raise Undecodable("it is a pipe that nobody writes to")
    os.set_blocking(descriptor, True)
    return descriptor


def read_bytes(path: Path) -> bytes:
    """Return what a file holds, if it is not too large. Raises `Undecodable`."""
    log = path.suffix.lower() in _LOGS
    limit = MAX_LOG_BYTES if log else MAX_BYTES
    try:
        with open(path, "rb", opener=_opened) as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise Undecodable(f"it cannot be read: {error.strerror}") from None
    if len(data) > limit:
        kind = "the most that is read of a log" if log else "which no prompt is"
        raise Undecodable(f"it is larger than {limit >> 20} MiB, {kind}")
    return data


def _spelled(encoding: str) -> str:
    return encoding[:6].upper().rstrip("-")


def _where(error: UnicodeDecodeError) -> str:
    byte = error.object[error.start]
    return f"byte 0x{byte:02x} at offset {error.start}"
