"""The history as it was sent: every message once, in the bytes it had when it was the newest.

That mends what rewrites, strips or leaves out parts of the past. A client that drops old messages
is mended by dropping rarely: nothing until there is twice what it keeps, and then down to that.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import orjson

from kvaudit.analyzers.divergence.repairs.one_kind import RESEMBLES, OneKind, text_of
from kvaudit.analyzers.template.request_log.texts import alike
from kvaudit.core.requests import SYSTEM_ROLES, Json, Request
from kvaudit.core.why import Cause

_SESSIONS = 4096
"""Sessions whose last request is remembered."""


class _Last(NamedTuple):
    """The last request of a session."""

    logged: Sequence[Json]
    sent: list[Json]
    """The messages as they would have been sent."""
    kind: OneKind | None


class AsSent:
    """Sends the history of each session as it was."""

    def __init__(self, *, drops: bool = False, only: Cause | None = None) -> None:
        """``drops`` lets the client drop old messages, but rarely.

        What happened to the history is taken back if it was of ``only`` one kind; None is any.
        """
        self._drops, self._only = drops, only
        self._last: OrderedDict[str, _Last] = OrderedDict()
        self._limits: dict[str, int] = {}

    def mend(self, request: Request) -> Request:
        """Return the request with its history as it was sent."""
        key = _key(request)
        if request.messages is None or key is None:
            return request
        messages = list(request.messages)
        last = self._last.pop(key, None)
        kind = None if last is None else last.kind
        if self._only is not None:
            kind, head = kind or OneKind(self._only), _instructions(messages)
            sent = [*messages[:head], *kind.mended(messages[head:])]
        else:
            sent = messages if last is None else _with_history(last, messages)
        if self._drops:
            limit = max(self._limits.get(key, 0), _size(messages))
            self._limits[key] = limit
            sent = _dropped(sent, limit)
        self._last[key] = _Last(messages, sent, kind)
        if len(self._last) > _SESSIONS:
            self._limits.pop(self._last.popitem(last=False)[0], None)
        return request if sent == messages else replace(request, messages=sent)


def _key(request: Request) -> str | None:
    """Return what tells a session; without an id, how its conversation begins."""
    if request.session is not None:
        return f"s{request.session}"
    begin = next((m for m in request.messages or () if m.get("role") not in SYSTEM_ROLES), None)
    return None if begin is None else f"m{orjson.dumps(begin, default=str)[:400]!r}"


def _with_history(last: _Last, messages: list[Json]) -> list[Json]:
    """Return what was sent before and what is new since."""
    at = _place_of(last.logged, messages) if last.logged else None
    if at is None:
        return messages
    head = _instructions(messages)
    return [*messages[:head], *last.sent[_instructions(last.sent) :], *messages[at + 1 :]]


def _instructions(messages: Sequence[Json]) -> int:
    return next(
        (n for n, m in enumerate(messages) if m.get("role") not in SYSTEM_ROLES), len(messages)
    )


def _place_of(before: Sequence[Json], messages: list[Json]) -> int | None:
    """Return where the newest message of the request before stands now, perhaps rewritten."""
    newest, at = before[-1], len(before) - 1
    same = [n for n, message in enumerate(messages) if message == newest]
    if same:
        return same[-1]
    role, text = newest.get("role"), text_of(newest)
    best, likeness = None, RESEMBLES
    for n in range(len(messages) - 1, -1, -1):
        if messages[n].get("role") != role:
            continue
        found = _likeness(text, text_of(messages[n]))
        if found > likeness + (0.05 if best is not None else 0):
            best, likeness = n, found
    if best is None and at < len(messages) and messages[at].get("role") == role:
        head = _instructions(before)
        alike_first = before[head : head + 1] == messages[_instructions(messages) :][:1]
        return at if alike_first and at > head else None
    return best


def _likeness(one: str, other: str) -> float:
    short, long = sorted((one.strip(), other.strip()), key=len)
    return 1.0 if len(short) > 8 and short in long else alike(one, other)


def _dropped(messages: list[Json], limit: int) -> list[Json]:
    """Return the messages, without the oldest ones down to the limit if they are twice as long."""
    if _size(messages) <= 2 * limit:
        return messages
    head = _instructions(messages)
    kept, size = len(messages), _size(messages[:head])
    while kept > head and size + _size(messages[kept - 1 : kept]) <= limit:
        kept -= 1
        size += _size(messages[kept : kept + 1])
    while kept < len(messages) - 1 and messages[kept].get("role") in ("assistant", "tool"):
        kept += 1  # a conversation begins with what its user said
    return [*messages[:head], *messages[min(kept, len(messages) - 1) :]]


def _size(messages: Sequence[Json]) -> int:
    return sum(len(text_of(message)) for message in messages)
