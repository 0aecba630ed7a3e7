"""LMCache's address space, compiled; `kvaudit.replay.models.chunk_room` is what it must equal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import inner
from kvaudit.replay.kernels.growth import grown

NO_ROOM = -1
_UNBOUNDED = 1 << 60


class Room(NamedTuple):
    """The gaps, by start."""

    gaps: NDArray[np.int64]
    """How many there are, shape (1,)."""
    start: NDArray[np.int64]
    tokens: NDArray[np.int64]


def empty_room(tokens: int | None) -> Room:
    """Return one gap that is everything."""
    size = _UNBOUNDED if tokens is None else tokens
    return Room(np.ones(1, np.int64), np.zeros(1, np.int64), np.array([size], np.int64))


def with_gaps(room: Room, chunks: int) -> Room:
    """Return the room with place for the gaps between so many chunks."""
    return room._replace(start=grown(room.start, chunks + 2), tokens=grown(room.tokens, chunks + 2))


@inner
def reserve(room: Room, tokens: int) -> int:
    """Return the start of so much room in the first gap that has it, or `NO_ROOM`."""
    for at in range(room.gaps[0]):
        if room.tokens[at] >= tokens:
            start = room.start[at]
            room.start[at] += tokens
            room.tokens[at] -= tokens
            if room.tokens[at] == 0:
                _close(room, at)
            return int(start)
    return NO_ROOM


@inner
def give_back(room: Room, start: int, tokens: int) -> None:
    """Take room back."""
    at, end = 0, room.gaps[0]
    while at < end:
        middle = (at + end) // 2
        if room.start[middle] < start:
            at = middle + 1
        else:
            end = middle
    meets_before = at > 0 and room.start[at - 1] + room.tokens[at - 1] == start
    meets_after = at < room.gaps[0] and start + tokens == room.start[at]
    if meets_before:
        room.tokens[at - 1] += tokens
        if meets_after:
            room.tokens[at - 1] += room.tokens[at]
            _close(room, at)
    elif meets_after:
        room.start[at] = start
        room.tokens[at] += tokens
    else:
        for place in range(room.gaps[0], at, -1):
            room.start[place], room.tokens[place] = room.start[place - 1], room.tokens[place - 1]
        room.start[at], room.tokens[at] = start, tokens
        room.gaps[0] += 1


@inner
def _close(room: Room, at: int) -> None:
    room.gaps[0] -= 1
    for place in range(at, room.gaps[0]):
        room.start[place], room.tokens[place] = room.start[place + 1], room.tokens[place + 1]
