"""Where a text goes that a fix moves: among the messages of a prompt, told by what ends them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.fingerprints import common_units

LEAST_ENDS = 2
"""Of messages in a prompt, for the newest to be known: it begins behind the one before."""
_SAMPLE = 32
"""Prompts of which the newest messages are compared, to see what a template begins them with."""
_MOST_HEAD = 8


class Destination(Enum):
    """Where a fix puts a text."""

    FIRST = "behind the instructions"
    NEWEST = "in front of the newest message"
    END = "to the end of the newest message"
    BEHIND = "behind the fixed text"
    NOWHERE = "out"


def place_for(units: NDArray[np.int32], to: Destination, end_of_turn: int | None) -> int:
    """Return where a text is put into a prompt; its end where messages cannot be told apart."""
    ends = ends_of(units, end_of_turn)
    if to is Destination.FIRST and ends:
        return ends[0] + 1
    if to is Destination.NEWEST and len(ends) >= LEAST_ENDS:
        return ends[-2] + 1
    return len(units)


def ends_of(units: NDArray[np.int32], end_of_turn: int | None) -> list[int]:
    """Return where the messages of a prompt end."""
    ends = [] if end_of_turn is None else np.flatnonzero(units == end_of_turn).tolist()
    return list(map(int, ends))


def end_of_first(units: NDArray[np.int32], end_of_turn: int | None) -> int | None:
    """Return where the first message of a prompt ends; None where none does."""
    return next((end for end in ends_of(units, end_of_turn) if end), None)  # at 0 none has begun


def head_of_turn(prompts: Iterable[NDArray[np.int32]], end_of_turn: int | None) -> int:
    """Return how many units the template puts between two messages, with the role."""
    newest = []
    for units in islice(prompts, _SAMPLE):
        ends = ends_of(units, end_of_turn)
        if len(ends) >= LEAST_ENDS:
            newest.append(units[ends[-2] + 1 :][:_MOST_HEAD])
    pairs = [common_units(newest[0], other) for other in newest[1:]]
    return min(pairs, default=0)
