"""kvaudit's own record: any subset of the fields of `Request`, by their names.

``messages`` and ``tools`` are JSON, or texts that hold JSON (as in Parquet and CSV).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvaudit.core.requests import Mark, Request, Status
from kvaudit.logs.api.media import find_media
from kvaudit.logs.format import BadRecord, EachRow, LogFormat, Row, Sureness
from kvaudit.logs.values import fields
from kvaudit.logs.values.times import epoch_seconds

_MARKERS = frozenset({"arrived_s", "arrive_step", "answer_group", "block_ids"})


def is_record(row: Row) -> bool:
    """Return whether the row has a field that only kvaudit's record has."""
    return not _MARKERS.isdisjoint(row)


def _status(value: object, name: str) -> Status:
    word = fields.text(value, name)
    if word is None:
        return Status.UNKNOWN
    try:
        return Status(word)
    except ValueError:
        raise BadRecord(f"{name} is not one of {', '.join(Status)}", word) from None


def _marks(value: object, name: str) -> frozenset[Mark]:
    words = fields.json_value(value, name) or ()
    try:
        return frozenset(Mark(word) for word in words)
    except (ValueError, TypeError):
        raise BadRecord(f"{name} holds something that is not one of {', '.join(Mark)}") from None


def _hashes(value: object, name: str) -> tuple[str, ...]:
    words = fields.json_value(value, name) or ()
    if not isinstance(words, (list, tuple)) or not all(isinstance(word, str) for word in words):
        raise BadRecord(f"{name} is not a list of texts")
    return tuple(words)


def _response_format(value: object, name: str) -> Any:
    if isinstance(value, dict):
        return value
    try:
        parsed = fields.json_value(_text(value, name), name)
    except BadRecord:
        parsed = None
    return parsed if isinstance(parsed, dict) else value


def _object(value: object, name: str) -> Any:
    parsed = value if isinstance(value, dict) else fields.json_value(value, name)
    if parsed is not None and not isinstance(parsed, dict):
        raise BadRecord(f"{name} is not a JSON object")
    return parsed


def _seconds(value: object, name: str) -> float | None:
    """Return seconds of any epoch: a number as it is, a date and time as Unix seconds."""
    if isinstance(value, (int, float)) or value is None:
        return fields.number(value, name)
    try:
        return fields.number(value, name)
    except BadRecord:
        return epoch_seconds(value, name)


def _text(value: object, name: str) -> str | None:
    """Return a text as it is, the empty one too: a record reads back as it was written."""
    return value if isinstance(value, str) else fields.text(value, name)


READ: dict[str, Callable[[Any, str], Any]] = {
    "id": _text,
    "arrived_s": _seconds,
    "finished_s": _seconds,
    "status": _status,
    "model": _text,
    "tenant": _text,
    "user": _text,
    "session": _text,
    "parent": _text,
    "salt": _text,
    "lora": _text,
    "messages": fields.json_objects,
    "tools": fields.json_objects,
    "prompt": _text,
    "media_hashes": _hashes,
    "token_ids": fields.token_ids,
    "output_ids": fields.token_ids,
    "block_ids": fields.block_ids,
    "block_tokens": fields.integer,
    "block_scope": _text,
    "prompt_tokens": fields.integer,
    "output_tokens": fields.integer,
    "response": _text,
    "temperature": fields.number,
    "top_p": fields.number,
    "seed": fields.signed,
    "max_tokens": fields.integer,
    "response_format": _response_format,
    "cached_tokens": fields.integer,
    "cache_write_5m_tokens": fields.integer,
    "cache_write_1h_tokens": fields.integer,
    "response_cache_hit": fields.flag,
    "ttft_s": fields.number,
    "prompt_cache_key": _text,
    "cache_options": _object,
    "instance": _text,
    "answer_group": _text,
    "arrive_step": fields.integer,
    "priority": fields.signed,
    "marks": _marks,
}
"""How each field of the record is read from a log; the one list of the fields' names."""
assert READ.keys() == set(Request.record_fields())


def to_request(row: Row) -> Request:
    """Return the request that a row of named fields describes; other keys are ignored."""
    found = {
        name: READ[name](value, name)
        for name, value in row.items()
        if value is not None and name in READ
    }
    if not found:
        raise BadRecord("no field of kvaudit's record is in it")
    if "messages" in found and "media_hashes" not in found:
        found = find_media(found["messages"] or ()) | found
    found["id"] = found.get("id") or ""
    return Request(**found)


FORMAT = LogFormat(
    name="record",
    title="kvaudit's own record, as kvaudit convert writes it",
    recognise=lambda row: Sureness.OWN if is_record(row) else Sureness.NO,
    parser=lambda: EachRow(to_request),
)
