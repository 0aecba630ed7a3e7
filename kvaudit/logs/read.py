"""Logs read as a stream of requests, with an account of every record that is not one.

Memory does not grow with the log, but for 24 bytes a request (see `checks`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import cast

from kvaudit.core.errors import InputError, UsageError
from kvaudit.core.hash_rows import HashRows, RowScan
from kvaudit.core.redact import mask_secrets, one_line, shown
from kvaudit.core.requests import Request
from kvaudit.core.summaries import Note
from kvaudit.logs.ceiling import LengthCeiling
from kvaudit.logs.checks import LogChecks, impossible
from kvaudit.logs.containers import Records, RecordsAndRows, hash_lines, jsonl
from kvaudit.logs.containers.open import reader_of
from kvaudit.logs.detect import SAMPLE_RECORDS, detect, sureness
from kvaudit.logs.format import LINE, BadRecord, LogFormat, Row
from kvaudit.logs.formats.table import mapped
from kvaudit.logs.registry import all_formats, find_format
from kvaudit.logs.source import Source, open_source

_EXAMPLES = 20
_QUOTED_CHARACTERS = 40
# A sample of long records stops here, so that it does not fill the memory.
_SAMPLE_BYTES = 32 << 20
# From so many broken records on, a log that is mostly broken is given up at once.
_HOPELESS = 1000


class LogReader:
    """Iterate over the requests of one or more log files, one file after the other.

    Iterating again reads the files again. The counters speak of the iteration that ran last
    and are complete when it has ended. Raises `InputError` for what cannot be read, at the
    first record or, for too many broken records and for a file that is cut off, at the end.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        input_format: str = "auto",
        mapping: Mapping[str, str] | None = None,
        max_broken_share: float = 0.01,
        limit: int | None = None,
        now_s: float | None = None,
        show_text: bool = False,
        columns: Sequence[str] = (),
    ) -> None:
        """Open the files; ``now_s`` (epoch seconds) is what arrivals are held against.

        ``show_text`` lets messages quote the log, but for its secrets. ``columns`` are names in
        its records that each request is to carry beside its own fields.
        """
        self._formats = _candidates(input_format, mapping)
        self._sources = [open_source(path) for path in paths]
        self._max_broken_share = max_broken_share
        self._limit = limit
        self._now_s = now_s
        self._show_text = show_text
        self._columns = tuple(columns)
        self.size_bytes = sum(source.size_bytes for source in self._sources)
        self._reset()

    def _reset(self) -> None:
        self.records = 0
        """Records found, broken and skipped ones included."""
        self.broken = 0
        self.broken_examples: list[str] = []
        """The first broken records as ``file:line: reason``."""
        self.skipped: Counter[str] = Counter()
        """Records left out on purpose, by reason."""
        self.notes: list[Note] = []
        self._found: dict[str, None] = {}
        self._checks = LogChecks(self._now_s)
        self._yielded = 0

    @property
    def format_name(self) -> str:
        """The format of the files read so far; several are joined by commas."""
        return ", ".join(self._found)

    @property
    def bytes_read(self) -> int:
        """How far the files have been read, for a progress bar over ``size_bytes``."""
        return sum(source.bytes_read for source in self._sources)

    def digest(self) -> str:
        """Return the SHA-256 of all bytes of the files, as they are on disk, in their order."""
        made = hashlib.sha256()
        for source in self._sources:
            for chunk in source.stored():
                made.update(chunk)
        return made.hexdigest()

    def __iter__(self) -> Iterator[Request]:
        """Yield the requests in file order."""
        return cast("Iterator[Request]", self._read(None))

    def with_columns(self, scan: RowScan) -> Iterator[Request | HashRows]:
        """Yield the same requests, those in columns that ``scan`` can read."""
        return self._read(scan)

    def _read(self, scan: RowScan | None) -> Iterator[Request | HashRows]:
        self._reset()
        if self._limit is not None or self._columns:
            scan = None
        for source in self._sources:
            for request in self._of_file(source, scan):
                if type(request) is HashRows:
                    self._checks.see_rows(request)
                    yield request
                    continue
                assert type(request) is Request
                self._checks.see(request)
                self._yielded += 1
                yield request
                if self._yielded == self._limit:
                    self.notes += self._checks.notes()
                    return
        self.notes += self._checks.notes()
        self._refuse_if_broken(self._max_broken_share)

    def _of_file(self, source: Source, scan: RowScan | None) -> Iterator[Request | HashRows]:
        read = reader_of(source, self._formats)
        records, sample = self._sampled(source, read(source))
        good = [row for _, row in sample if isinstance(row, dict)]
        if not sample:
            self.notes.append(Note(topic="empty", text=f"{source.name} holds no records"))
            return
        if not good:
            number, reason = sample[0]
            raise InputError(
                f"{source.name} cannot be read as a log; line {number} is {reason}; "
                "kvaudit reads JSON lines, JSON, CSV and Parquet"
            )
        if len(sample) == 1:
            records, good = self._opened(records, good[0])
        log_format = self._format_of(good, source)
        self._found[log_format.name] = None
        found: RecordsAndRows = records
        if scan is not None and _can_be_scanned(read, sample, log_format):
            found = hash_lines.read(source, scan)
        del sample, good, records  # or they would be held until the file has been read
        ceiling = LengthCeiling()
        yield from ceiling.passed_on(self._parsed(found, log_format, source))
        self.notes += ceiling.notes()

    def _sampled(
        self, source: Source, records: Records
    ) -> tuple[Records, list[tuple[int, Row | BadRecord]]]:
        sample: list[tuple[int, Row | BadRecord]] = []
        good = broken = 0
        for record in records:
            sample.append(record)
            good += self._tells(record[1])
            broken += isinstance(record[1], BadRecord)
            if good == SAMPLE_RECORDS or broken == _HOPELESS or source.bytes_out > _SAMPLE_BYTES:
                break
        return chain(sample, records), sample

    def _tells(self, row: Row | BadRecord) -> bool:
        """Return whether a record says something about the format: most lines of text do not."""
        return isinstance(row, dict) and (LINE not in row or _is_known(row, self._formats))

    def _opened(self, records: Records, row: Row) -> tuple[Records, list[Row]]:
        """Return the records inside a file's only object, unless it is a record itself."""
        inner = None if _is_known(row, self._formats) else _only_list(row)
        if inner is None:
            return records, [row]
        return iter(enumerate(inner, 1)), inner[:SAMPLE_RECORDS]

    def _format_of(self, rows: Sequence[Row], source: Source) -> LogFormat:
        if len(self._formats) == 1:
            return self._formats[0]
        return detect(rows, self._formats, source.name, show_text=self._show_text)

    def _parsed(
        self, records: RecordsAndRows, log_format: LogFormat, source: Source
    ) -> Iterator[Request | HashRows]:
        parser = log_format.parser()
        for number, row in records:
            if type(row) is HashRows:
                block_tokens = log_format.scanned_block_tokens or 0
                yield row._replace(first=self.records + 1, block_tokens=block_tokens)
                self.records += row.requests
                continue
            self.records += 1
            try:
                if type(row) is not dict:
                    raise row  # type: ignore[misc]
                requests = parser.parse(row)
                if self._columns:
                    requests = self._with_columns(requests, row)
                yield from self._numbered(requests)
            except BadRecord as reason:
                self._count_broken(f"{source.name}:{number}: {reason}", reason.quoted)
            except RecursionError:
                self._count_broken(f"{source.name}:{number}: it is nested too deeply")
        try:
            yield from self._numbered(parser.finish())
        except BadRecord as reason:
            self._count_broken(f"{source.name}: {reason}")
        self.skipped.update(parser.skipped)
        self.notes += parser.notes

    def _with_columns(self, requests: Iterable[Request], row: Row) -> Iterator[Request]:
        """Yield the requests of a record with the columns that were asked for."""
        columns = {name: row.get(name) for name in self._columns}
        return (replace(request, columns=columns) for request in requests)

    def _numbered(self, requests: Iterable[Request]) -> Iterator[Request]:
        for place, request in enumerate(requests):
            if reason := impossible(request):
                raise BadRecord(reason)
            if request.id:
                yield request
            else:
                yield replace(request, id=f"{self.records}.{place}" if place else f"{self.records}")

    def _count_broken(self, description: str, quoted: str | None = None) -> None:
        self.broken += 1
        if len(self.broken_examples) < _EXAMPLES:
            if quoted is not None:
                quote = shown(quoted, show_text=self._show_text)
                description += f": {quote[:_QUOTED_CHARACTERS]}"
            self.broken_examples.append(one_line(mask_secrets(description)))
        if self.broken >= _HOPELESS:
            self._refuse_if_broken(max(0.5, self._max_broken_share))

    def _refuse_if_broken(self, share: float) -> None:
        if self.broken > share * self.records:
            raise InputError(
                f"{self.broken:,} of {self.records:,} records are broken, more than the "
                f"{self._max_broken_share:.3g} allowed; the first is {self.broken_examples[0]}"
            )


def _candidates(input_format: str, mapping: Mapping[str, str] | None) -> tuple[LogFormat, ...]:
    if mapping is not None:
        if input_format not in ("auto", "table"):
            raise UsageError(
                f"--map reads a table, and --input-format says {input_format}; leave one out"
            )
        return (mapped(mapping),)
    return all_formats() if input_format == "auto" else (find_format(input_format),)


def _can_be_scanned(
    read: Callable[[Source], Records], sample: Sequence[object], log_format: LogFormat
) -> bool:
    """Return whether requests may stand in columns; a file's only object may hold them all."""
    return read is jsonl.read and len(sample) > 1 and log_format.scanned_block_tokens is not None


def _is_known(row: Row, formats: Sequence[LogFormat]) -> bool:
    return any(sureness(log_format, row) for log_format in formats)


def _only_list(row: Row, depth: int = 2) -> list[Row] | None:
    """Return the one list of objects in an object, or in an object inside it."""
    lists = [
        value
        for value in row.values()
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value)
    ]
    if not lists and depth > 1:
        inner = [_only_list(value, depth - 1) for value in row.values() if isinstance(value, dict)]
        lists = [found for found in inner if found is not None]
    return lists[0] if len(lists) == 1 else None
