"""What one log format is: how to recognise its records, and how to turn them into requests.

A format is one module in ``kvaudit/logs/formats`` that defines ``FORMAT``. It sees records as
dictionaries, whatever container they came in (JSONL, JSON, CSV, Parquet, text lines).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

from kvaudit.core.requests import Request
from kvaudit.core.summaries import Note

Row = dict[str, Any]
"""One record of a container: a JSON object, a CSV row (text values, None where the cell is
empty), a Parquet row, or ``{LINE: text}`` for a line of a plain text log."""

Fields = dict[str, Any]
"""Some fields of a `Request`, by name; None or absent where the source does not say."""

LINE = "\x00line"
"""The only key of a text log's record; no JSON log has it."""


class Sureness(IntEnum):
    """How sure a format is that a record is its own."""

    NO = 0
    GENERIC = 1
    """A shape several formats share, such as a top-level ``messages`` list."""
    CHARACTERISTIC = 2
    """Fields that together are found in this format only."""
    UNMISTAKABLE = 3
    """A marker that names the format, such as a schema version."""
    OWN = 4
    """kvaudit's own record and token logs, which come before all others."""


class BadRecord(Exception):
    """A record that cannot be understood; the text says why, as a phrase.

    ``quoted`` is the text of the log that this is about. It is shown behind the phrase, whole
    only where prompt text may be shown: a mistaken mapping takes prompts for anything.
    """

    def __init__(self, reason: str, quoted: str | None = None) -> None:
        """Say why, and of what text."""
        super().__init__(reason)
        self.quoted = quoted


class Parser(Protocol):
    """Turns one file's records into requests, in file order; may keep state between them.

    A request whose ``id`` is empty gets its record's number, counted from 1 over all files.
    """

    skipped: Counter[str]
    """Records left out on purpose, by reason."""
    notes: list[Note]
    """What the reader of a report must know about how the file was understood."""

    def parse(self, row: Row) -> Iterable[Request]:
        """Return the requests that are complete after this record.

        Raises `BadRecord`; the record is then counted as broken and reading goes on.
        """

    def finish(self) -> Iterable[Request]:
        """Return what was held back until the end of the file."""


class EachRow:
    """A parser for formats where every record is a request of its own, or none."""

    def __init__(self, to_request: Callable[[Row], Request | None]) -> None:
        """Take ``to_request``, which returns None for a record that is no request."""
        self._to_request = to_request
        self.skipped: Counter[str] = Counter()
        self.notes: list[Note] = []

    def parse(self, row: Row) -> Iterable[Request]:
        """Return the row's request, if it is one."""
        request = self._to_request(row)
        if request is None:
            self.skipped["not a request"] += 1
            return ()
        return (request,)

    def finish(self) -> Iterable[Request]:
        """Return nothing: no record is held back."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFormat:
    """One log format."""

    name: str
    """What ``--input-format`` takes, in kebab case."""
    title: str
    """One line for help and documentation."""
    recognise: Callable[[Row], Sureness]
    parser: Callable[[], Parser]
    reads_text: bool = False
    """Whether it knows a plain text log, and so ``{LINE: text}`` records."""
    scanned_block_tokens: int | None = None
    """Tokens a block of records that a `kvaudit.core.hash_rows.RowScan` reads as the parser does;
    None where it does not."""
