"""All checks of a log, in the order in which a reader should know of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from kvaudit.analyzers.log_checks import (
    above_possible,
    below_modelled,
    cached_over_prompt,
    double_counting,
    duplicate_rows,
    hits_without_speed,
    missing_turns,
    read_and_written,
    reversed_order,
)
from kvaudit.analyzers.log_checks.facts import LogFacts, Modelled
from kvaudit.core.summaries import Note
from kvaudit.core.why import LogCheck


class Check(Protocol):
    """Looks at a whole log."""

    def __call__(self, log: LogFacts, modelled: Modelled | None) -> LogCheck | None:
        """Return what is wrong, or None; a log that was not replayed has nothing modelled."""


CHECKS: Sequence[Check] = (
    cached_over_prompt.check,
    double_counting.check,
    read_and_written.check,
    duplicate_rows.check,
    missing_turns.check,
    reversed_order.check,
    above_possible.check,
    below_modelled.check,
    hits_without_speed.check,
)
_OF_NOTES = (
    "truncated-prompt",
    "length-ceiling",
    "unidentified-media",
    "history-not-logged",
    "children-before-parents",
    "future",
)
"""What the reader of a log says of it that is wrong with the log and not with the reading."""
_SAID_BY_CHECK = ("cached-over-prompt",)


def log_checks(log: LogFacts, modelled: Modelled | None, notes: Iterable[Note]) -> list[LogCheck]:
    """Return everything that is wrong with a log: what its reader said, then every check."""
    said = [
        LogCheck(check=note.topic, count=note.count or 0, message=note.text)
        for note in notes
        if note.topic in _OF_NOTES
    ]
    return [*said, *(found for check in CHECKS if (found := check(log, modelled)) is not None)]


def other_notes(notes: Iterable[Note]) -> list[Note]:
    """Return the notes that no check repeats."""
    return [note for note in notes if note.topic not in (*_OF_NOTES, *_SAID_BY_CHECK)]
