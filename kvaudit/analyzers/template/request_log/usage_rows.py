"""Faults that only the provider's counters show.

A prompt that stays near its size while far fewer of its tokens are read: the start of the history
moves. Requests that start together and each write the same prefix. Writes that nobody reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kvaudit.analyzers.template.request_log.change import Change
from kvaudit.analyzers.template.request_log.request import Path, Record
from kvaudit.core.document import Position

_LEAST_TOKENS = 2_000
_TOGETHER_S = 2.0
_FANS = 3
_WRITES_PER_READ = 5
_CALLS = 10


def lost_history(earlier: Record, later: Record) -> Change | None:
    """Tell whether the history that a request could have read was cut or changed before it."""
    prompt, before = later.usage.prompt, earlier.usage.prompt
    read = later.usage.read
    if prompt is None or before is None or read is None or before < _LEAST_TOKENS:
        return None
    if not 0.85 * before <= prompt <= 1.02 * before or read > 0.5 * before:
        return None
    if not read and not earlier.usage.read:
        return None  # nothing was ever cached
    return Change(
        earlier=earlier,
        later=later,
        path=later.path,
        kind="trimmed",
        detail=f"{read:,.0f} of {prompt:,.0f} tokens were read, and the prompt before had "
        f"{before:,.0f}",
        position=Position.HISTORY,
        lost=int(4 * (min(before, prompt) - read)),
    )


@dataclass(slots=True)
class Writes:
    """What is seen of writes over a whole log."""

    calls: int = 0
    written: float = 0
    read: float = 0
    marked: Record | None = None
    """The first request that wrote."""
    fan: list[Record] = field(default_factory=list)
    found_fan: bool = False

    def add(self, record: Record) -> Iterator[Change]:
        """Count a request; yield a fan-out once it is wide enough."""
        usage = record.usage
        self.calls += usage.written is not None
        self.written += usage.written or 0
        self.read += usage.read or 0
        if usage.written and self.marked is None and record.has_request:
            self.marked = record
        if self.found_fan or record.time is None or not record.has_request:
            return
        if not usage.written or usage.read:
            self.fan = []
            return
        if self.fan and not _together(self.fan[0], record):
            self.fan = []
        self.fan.append(record)
        if len(self.fan) > _FANS:
            self.found_fan = True
            second = self.fan[1]
            yield Change(
                earlier=self.fan[0],
                later=second,
                path=_head(second),
                kind="fan-out-before-write",
                detail=f"{len(self.fan)} requests within {_TOGETHER_S:g} s each wrote about "
                f"{usage.written:,.0f} tokens, and none read them",
            )

    def unread(self) -> Change | None:
        """Tell whether far more was written than read, over enough calls."""
        first = self.marked
        if first is None or self.calls < _CALLS or self.written <= _WRITES_PER_READ * self.read:
            return None
        return Change(
            earlier=first,
            later=first,
            path=_head(first),
            kind="one-shot-write",
            detail=f"{self.calls:,} requests wrote {self.written:,.0f} tokens and read "
            f"{self.read:,.0f}",
        )


def lifetime_dropped(record: Record) -> Change | None:
    """Tell whether a longer lifetime was asked for everywhere, and only a shorter was written."""
    asked = list(_lifetimes(record)) if record.usage.written_5m else []
    hour, minutes = record.usage.written_1h, record.usage.written_5m
    if not asked or any(ttl != "1h" for ttl in asked) or hour != 0 or not minutes:
        return None
    return Change(
        earlier=record,
        later=record,
        path=_head(record),
        kind="ttl-dropped",
        detail=f"every marker says 1h, and {minutes:,.0f} tokens were written for five minutes: "
        "something on the way leaves the ttl out",
    )


def _lifetimes(record: Record) -> Iterator[str]:
    """Yield the lifetime of every marker of a request; the default of those without one."""
    stack: list[object] = [record.body]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            marker = value.get("cache_control")
            if isinstance(marker, dict):
                yield str(marker.get("ttl", "5m"))
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)


def _together(first: Record, record: Record) -> bool:
    assert first.time is not None
    assert record.time is not None
    if not 0 <= record.time - first.time <= _TOGETHER_S or not first.usage.written:
        return False
    same_size = abs((record.usage.written or 0) / first.usage.written - 1) < 0.2
    return same_size and _texts(first) == _texts(record) and first.tools == record.tools


def _texts(record: Record) -> Sequence[str]:
    return [t.text for t in record.system]


def _head(record: Record) -> Path:
    """Return the way to the beginning of a request."""
    if record.tools:
        return record.tools[0][0]
    return record.system[0].path if record.system else record.path
