"""What holds the records of a log: JSON lines, one JSON document, delimited text, Parquet, text.

A container yields ``(number, record)`` with the record's line or row number from 1. A record
that cannot be read is a `BadRecord` in its place; only what makes the rest of the file
unreadable raises `InputError`.
"""

from collections.abc import Iterator

from kvaudit.logs.format import BadRecord, Row

Records = Iterator[tuple[int, Row | BadRecord]]
