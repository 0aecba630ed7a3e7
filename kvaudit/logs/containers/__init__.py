"""What holds the records of a log: JSON lines, one JSON document, delimited text, Parquet, text.

A container yields ``(number, record)`` with the record's line or row number from 1. A record
that cannot be read is a `BadRecord` in its place; only what makes the rest of the file
unreadable raises `InputError`.
"""

from collections.abc import Iterator

from kvaudit.core.hash_rows import HashRows
from kvaudit.logs.format import BadRecord, Row

Records = Iterator[tuple[int, Row | BadRecord]]
RecordsAndRows = Iterator[tuple[int, Row | BadRecord | HashRows]]
"""Where requests may stand in columns; their number is that of the first one's line."""
