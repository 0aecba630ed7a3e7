"""Lines of a log, and the requests in them.

A line may be a request body, or hold one under a name that exporters use. Values are plain Python
ones; where in the file they stand is looked up only for what is reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.template.request_log.parts import fill
from kvaudit.analyzers.template.request_log.request import Path, Record, Usage
from kvaudit.core.sources import Source

MAX_LINE = 8 << 20
MAX_BROKEN = 0.2
"""More lines than this share that are no JSON: it is no log of requests."""

_PARTS = ("messages", "contents", "system", "tools", "instructions", "systemInstruction")
_INSIDE = ("body", "request", "request_body", "requestBody", "payload", "params", "kwargs", "input")
_SESSION = (
    "session_id",
    "sessionId",
    "session",
    "conversation_id",
    "conversationId",
    "thread_id",
    "threadId",
    "chat_id",
    "trace_id",
)
_TIMES = (
    "timestamp",
    "time",
    "ts",
    "created_at",
    "start_time",
    "startTime",
    "created",
    "arrived_s",
)
_READ = ("cache_read_input_tokens", "cached_tokens", "cache_read", "cache_read_tokens",
    "cacheReadInputTokens", "cachedContentTokenCount", "prompt_cache_hit_tokens")  # fmt: skip
_WRITTEN = ("cache_creation_input_tokens", "cache_write_tokens", "cache_write",
    "cache_creation", "cacheWriteInputTokens")  # fmt: skip
_PROMPT = ("prompt_tokens", "input_tokens", "promptTokenCount", "inputTokens")


def records(source: Source) -> Iterator[Record]:
    """Yield the requests of a log, line by line. Raises `Unreadable` where most lines are none."""
    broken = read = 0
    for number, start, end in _lines(source.text):
        row = _parsed(source.text[start:end])
        read += 1
        if row is None:
            broken += 1
            if read >= 20 and broken > MAX_BROKEN * read:
                break
            continue
        body, path = _body(row)
        record = Record(
            source=source,
            start=start,
            end=end,
            number=number,
            body=body,
            path=path,
            session=_session(row, body),
            time=_time(row, body),
            usage=_usage(row),
        )
        fill(record)
        yield record
    if broken > MAX_BROKEN * read:
        raise Unreadable(f"{broken} of its first {read} lines are no JSON objects")


def _lines(text: str) -> Iterator[tuple[int, int, int]]:
    at, number = 0, 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        number += 1
        if text[at:end].strip():
            yield number, at, end
        at = end + 1


def _parsed(line: str) -> dict[str, Any] | None:
    if len(line) > MAX_LINE:
        return None
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _body(row: dict[str, Any]) -> tuple[Mapping[str, Any], Path]:
    """Return the request in a row, and the way to it; the row itself where it has none inside."""
    if any(isinstance(row.get(name), (list, str, dict)) for name in _PARTS):
        return row, ()
    if isinstance(row.get("prompt"), str) and "model" in row:
        return row, ()
    for name in _INSIDE:
        inner = row.get(name)
        if isinstance(inner, dict):
            if any(part in inner for part in _PARTS) or _is_conversation(inner.get("input")):
                return inner, (name,)
            deeper = inner.get("body")
            if isinstance(deeper, dict) and any(part in deeper for part in _PARTS):
                return deeper, (name, "body")
        if name != "input" and _is_conversation(inner):
            return {"messages": inner}, ()
    return row, ()


def _is_conversation(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and isinstance(value[0], dict)
        and "role" in value[0]
    )


def _session(row: Mapping[str, Any], body: Mapping[str, Any]) -> str | None:
    metadata = (row.get("metadata"), body.get("metadata"))
    for owner in (row, body, *(m for m in metadata if isinstance(m, dict))):
        for name in _SESSION:
            found = owner.get(name)
            if isinstance(found, (str, int)) and found != "":
                return str(found)
    return None


def _time(row: Mapping[str, Any], body: Mapping[str, Any]) -> float | None:
    for owner in (row, body):
        for name in _TIMES:
            found = owner.get(name)
            if isinstance(found, bool):
                continue
            if isinstance(found, (int, float)):
                return float(found) / (1000 if found > 1e11 else 1)
            if isinstance(found, str) and re.match(r"\d{4}-\d\d-\d\d[T ]", found):
                try:
                    return datetime.fromisoformat(found.replace("Z", "+00:00")).timestamp()
                except (ValueError, OverflowError):
                    return None
    return None


def _usage(row: Mapping[str, Any]) -> Usage:
    answers = [row.get("response"), row.get("response_body"), row]
    bodies = [a.get("body") for a in answers if isinstance(a, dict)]
    owners = [a.get("usage") for a in (*answers, *bodies) if isinstance(a, dict)]
    for owner in (*owners, row):
        if not isinstance(owner, dict):
            continue
        details = [owner.get(name) for name in ("prompt_tokens_details", "input_tokens_details")]
        flat = {**owner, **{k: v for d in details if isinstance(d, dict) for k, v in d.items()}}
        lifetimes = owner.get("cache_creation")
        by_lifetime = lifetimes if isinstance(lifetimes, dict) else owner
        usage = Usage(
            prompt=_number(flat, _PROMPT),
            read=_number(flat, _READ),
            written=_number(flat, _WRITTEN),
            written_5m=_number(by_lifetime, ("ephemeral_5m_input_tokens",)),
            written_1h=_number(by_lifetime, ("ephemeral_1h_input_tokens",)),
        )
        if usage.read is not None or usage.written is not None:
            return usage
    return Usage()


def _number(row: Mapping[str, Any], names: Sequence[str]) -> float | None:
    for name in names:
        found = row.get(name)
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            return float(found)
    return None
