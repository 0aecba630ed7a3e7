"""One JSON document: an array of records, or one object; also several, one after the other.

A document is parsed as a whole, so its size is limited; JSON lines have no limit. Which list
inside an object holds the records is decided by the reader, which knows the formats.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import orjson

from kvaudit.core.errors import InputError
from kvaudit.logs.containers import Records
from kvaudit.logs.format import BadRecord
from kvaudit.logs.source import Source

MAX_DOCUMENT_BYTES = 256 << 20
"""Parsed JSON takes three to eight times its size in memory."""


def read(source: Source, *, max_bytes: int = MAX_DOCUMENT_BYTES) -> Records:
    """Yield the objects of a JSON file, numbered by their place; an object alone is one."""
    text = _whole_text(source, max_bytes)
    try:
        found = [orjson.loads(text)]
    except orjson.JSONDecodeError:
        found = list(_one_after_the_other(text, source.name))
    records = found[0] if len(found) == 1 and isinstance(found[0], list) else found
    for number, row in enumerate(records, 1):
        yield number, row if type(row) is dict else BadRecord("a JSON value that is no object")


def _whole_text(source: Source, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    for chunk in source.chunks():
        parts.append(chunk)
        if source.bytes_out > max_bytes:
            raise InputError(
                f"{source.name} is one JSON document of more than {max_bytes >> 20} MiB; "
                f"write one record a line, for example: jq -c '.[]' {source.name} > log.jsonl"
            )
    return b"".join(parts)


def _one_after_the_other(text: bytes, name: str) -> Iterator[Any]:
    """Yield each of several documents, as jq prints them; NaN and infinity are accepted."""
    decoder = json.JSONDecoder()
    try:
        rest = text.decode()
        at = len(rest) - len(rest.lstrip())
        while at < len(rest):
            row, end = decoder.raw_decode(rest, at)
            json.dumps(row, ensure_ascii=False).encode()  # half a surrogate pair fails here
            yield row
            at = end + len(rest[end:]) - len(rest[end:].lstrip())
    except json.JSONDecodeError as error:
        cut = "; it may be cut off, copy it again" if error.pos >= len(rest.rstrip()) - 1 else ""
        raise InputError(
            f"{name} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}{cut}"
        ) from None
    except UnicodeError:
        raise InputError(f"{name} is not valid UTF-8; convert it to UTF-8") from None
    except RecursionError:
        raise InputError(f"{name} is JSON that is nested too deeply for a log") from None
