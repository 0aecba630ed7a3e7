"""What was read of a log, kept on disk so that two requests can be compared later.

Texts are written as they are read, in file order; units as they are replayed. The files take
what the prompts take, four bytes a unit beside it, and are gone once they are closed.
"""

from __future__ import annotations

import json
import os
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import orjson
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.sessions import Sessions
from kvaudit.core.requests import Request
from kvaudit.core.scratch import room_for

KEPT_REQUESTS = 64
"""Parsed requests that are remembered; neighbours are compared with the same ones."""
_FIELDS = ("id", "tenant", "user", "session", "messages", "tools", "prompt", "media_hashes")


class Texts(Protocol):
    """The requests of a log by number."""

    @property
    def sessions(self) -> Sequence[str | None]:
        """Of each request."""
        ...

    @property
    def request(self) -> Callable[[int], Request]:
        """What returns a request: what a chat template needs of it, and whose it is."""
        ...


class RecordedTexts:
    """The requests of a log, which can be asked for again by number once they were read."""

    def __init__(self, requests: Iterable[Request]) -> None:
        """Take the log; iterating over this reads it."""
        self._requests = requests
        self._file = tempfile.TemporaryFile(prefix="kvaudit-")  # noqa: SIM115 - as long as this
        self._ends = array("q")
        self.sessions: list[str | None] = []
        """Of each request; told from its messages where the log names none."""
        self.request = lru_cache(KEPT_REQUESTS)(self._read)

    def close(self) -> None:
        """Let the file go."""
        self.request.cache_clear()
        self._file.close()

    def __iter__(self) -> Iterator[Request]:
        """Read the log from its beginning."""
        self._file.seek(0)
        self._file.truncate()
        del self._ends[:]
        self.sessions = []
        self.request.cache_clear()
        end, sessions = 0, Sessions()
        with room_for("the texts of the log, which are compared with one another"):
            for request in self._requests:
                self.sessions.append(sessions.of(request))
                end += self._file.write(_packed(request))
                self._ends.append(end)
                yield request

    def _read(self, number: int) -> Request:
        """Return a request that was read: what a chat template needs of it, and whose it is."""
        self._file.flush()
        start = self._ends[number - 1] if number else 0
        raw = os.pread(self._file.fileno(), self._ends[number] - start, start)
        return Request(**(_unpacked(raw) | {"session": self.sessions[number]}))


class KeptRequests:
    """Some requests of a log as they were changed, by number."""

    def __init__(self) -> None:
        """Start empty."""
        self._file = tempfile.TemporaryFile(prefix="kvaudit-")  # noqa: SIM115 - as long as this
        self._at: dict[int, tuple[int, int]] = {}
        self._end = 0

    def close(self) -> None:
        """Let the file go."""
        self._file.close()

    def add(self, number: int, request: Request) -> None:
        """Keep a request, in place of what was kept of it before."""
        with room_for("the texts of the log as a fix leaves them"):
            size = self._file.write(_packed(request))
        self._at[number] = (self._end, size)
        self._end += size

    def get(self, number: int, session: str | None) -> Request | None:
        """Return a request, which is of a session; None where it was not changed."""
        if number not in self._at:
            return None
        self._file.flush()
        start, size = self._at[number]
        raw = os.pread(self._file.fileno(), size, start)
        return Request(**(_unpacked(raw) | {"session": session}))


def _packed(request: Request) -> bytes:
    kept = {name: value for name in _FIELDS if (value := getattr(request, name)) is not None}
    try:
        return orjson.dumps(kept, default=list)
    except TypeError:  # half of a surrogate pair, or a number beyond 64 bits
        return json.dumps(kept, default=list).encode()


def _unpacked(raw: bytes) -> dict[str, Any]:
    try:
        fields = orjson.loads(raw)
    except orjson.JSONDecodeError:  # as `json` spells what orjson does not write
        fields = json.loads(raw)
    assert isinstance(fields, dict)
    return fields


class RecordedUnits:
    """The prompts' units in replay order."""

    def __init__(self) -> None:
        """Start empty."""
        self._file = tempfile.TemporaryFile(prefix="kvaudit-")  # noqa: SIM115 - as long as this
        self._ends = array("q", [0])

    def close(self) -> None:
        """Let the file go."""
        self._file.close()

    def start_over(self) -> None:
        """Forget all requests, since the log is replayed again."""
        self._file.seek(0)
        self._file.truncate()
        del self._ends[1:]

    def append(self, units: NDArray[np.int32]) -> None:
        """Keep the next request's units."""
        with room_for("the tokens of the log, which are compared with one another"):
            self._ends.append(self._ends[-1] + self._file.write(units.tobytes()))

    def length(self, place: int) -> int:
        """Return how many units a request has."""
        return (self._ends[place + 1] - self._ends[place]) // 4

    def of(self, place: int, start: int = 0) -> NDArray[np.int32]:
        """Return the units of the request that was appended at a place, from ``start`` on."""
        self._file.flush()
        begin, end = self._ends[place] + 4 * start, self._ends[place + 1]
        return np.frombuffer(os.pread(self._file.fileno(), end - begin, begin), np.int32)
