"""What is odd about a log as a whole, collected while it is read.

Grows by 24 bytes a request (a 64-bit hash of the id and of the parent's, the arrival); all
else is counters. Nothing here changes a request: duplicates are kept, order is left alone.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter

from kvaudit.core.hash_rows import HashRows
from kvaudit.core.requests import Mark, Request
from kvaudit.core.summaries import Note

MOST_TOKENS = 10**8
"""Ten times the longest context that any model has."""

LATEST_S = 1e20
"""Nanoseconds taken for seconds stay below; the span between two times is a finite number."""

# Clocks of two machines differ by seconds, not by a day.
_FUTURE_MARGIN_S = 86_400.0

_FORMS = re.compile(r"\[(.*?)\|(.*?)\]")
_MARK_TEXTS = {
    Mark.TRUNCATED_PROMPT: "[has|have] a prompt that the log cut short; [it is|they are] not "
    "replayed, since what follows the cut is unknown",
    Mark.UNIDENTIFIED_MEDIA: "[holds|hold] an image or other media that the log does not "
    "identify; [it is|they are] not replayed, since whether two images are equal cannot be told",
    Mark.HISTORY_NOT_LOGGED: "[continues|continue] a history that the log does not contain; "
    "[it is|they are] not replayed, since the prompt is unknown",
}


class LogChecks:
    """Sees every request once, in file order; `notes` then says what was found."""

    def __init__(self, now_s: float | None) -> None:
        """Take the present in epoch seconds, or None to accept any arrival."""
        self._now_s = now_s
        self._ids = array("q")
        self._parents = array("q")
        self._arrivals = array("d")
        self._marks: Counter[Mark] = Counter()
        self._future = 0
        self._no_time = 0
        self._over_cached = 0

    def see(self, request: Request) -> None:
        """Take note of one request."""
        arrived_s = request.arrived_s
        self._ids.append(hash(request.id))
        self._parents.append(0 if request.parent is None else hash(request.parent))
        if arrived_s is None:
            self._no_time += 1
            self._arrivals.append(float("nan"))
        else:
            self._arrivals.append(arrived_s)
            if self._now_s is not None and arrived_s > self._now_s + _FUTURE_MARGIN_S:
                self._future += 1
        if request.marks:
            self._marks.update(request.marks)
        if request.cached_tokens and request.cached_tokens > (request.prompt_tokens or 2**62):
            self._over_cached += 1

    def see_rows(self, rows: HashRows) -> None:
        """Take note of requests in columns; their ids are numbers, and all have a time."""
        numbers = range(rows.first, rows.first + rows.requests)
        self._ids.extend(map(hash, map(str, numbers)))
        self._parents.frombytes(bytes(8 * rows.requests))
        self._arrivals.frombytes(rows.arrived_s.tobytes())
        if self._now_s is not None:
            self._future += int((rows.arrived_s > self._now_s + _FUTURE_MARGIN_S).sum())

    def notes(self) -> list[Note]:
        """Return what the reader of a report must know, in a fixed order."""
        found = [
            *(self._of_mark(mark) for mark in Mark if self._marks[mark]),
            self._duplicates(),
            self._children_before_parents(),
            self._times(),
            self._unsorted(),
            _note("future", self._future, "{} arrived later than tomorrow; check the time unit"),
            _note(
                "cached-over-prompt",
                self._over_cached,
                "{} [reports|report] more cached tokens than prompt tokens; the log counts one of "
                "them differently, so its own hit rate is not to be trusted",
            ),
        ]
        return [note for note in found if note is not None]

    def _of_mark(self, mark: Mark) -> Note:
        count = self._marks[mark]
        return Note(topic=mark.value, text=_worded(f"{{}} {_MARK_TEXTS[mark]}", count), count=count)

    def _times(self) -> Note | None:
        if self._no_time == len(self._ids):
            return _note("no-times", self._no_time, "the log has no times; file order is kept")
        return _note("no-times", self._no_time, "{} [has|have] no time of arrival")

    def _duplicates(self) -> Note | None:
        import numpy as np

        ids = np.frombuffer(self._ids, dtype=np.int64)
        unique, first = np.unique(ids, return_index=True)
        again = len(ids) - len(unique)
        if not again:
            return None
        repeated = np.ones(len(ids), dtype=bool)
        repeated[first] = False
        place = int(np.flatnonzero(repeated)[0]) + 1
        return _note(
            "duplicate-ids",
            again,
            f"{{}} [has|have] an id that came before, the first is number {place}; all are kept",
        )

    def _children_before_parents(self) -> Note | None:
        import numpy as np

        parents = np.frombuffer(self._parents, dtype=np.int64)
        child = np.flatnonzero(parents)
        if not len(child):
            return None
        ids = np.frombuffer(self._ids, dtype=np.int64)
        arrivals = np.frombuffer(self._arrivals, dtype=np.float64)
        order = np.argsort(ids, kind="stable")
        at = np.minimum(np.searchsorted(ids, parents[child], sorter=order), len(ids) - 1)
        parent = order[at]
        known = ids[parent] == parents[child]
        child, parent = child[known], parent[known]
        timed = ~np.isnan(arrivals[child]) & ~np.isnan(arrivals[parent])
        # By time where both have one, else by place in the file.
        early = np.where(timed, arrivals[child] < arrivals[parent], child < parent)
        return _note(
            "children-before-parents",
            int(early.sum()),
            "{} [comes|come] before the request [it continues|they continue]; the log may be "
            "newest first, or its clocks disagree",
        )

    def _unsorted(self) -> Note | None:
        import numpy as np

        arrivals = np.frombuffer(self._arrivals, dtype=np.float64)
        timed = arrivals[~np.isnan(arrivals)]
        return _note(
            "order",
            int((timed[1:] < timed[:-1]).sum()),
            "{} arrived before the one written above; all are replayed by time of arrival",
        )


def _worded(text: str, count: int) -> str:
    """Return ``text`` about so many requests; ``[has|have]`` is one or the other."""
    agreed = _FORMS.sub(lambda form: form[1 if count == 1 else 2], text)
    return agreed.format(f"{count:,} request{'' if count == 1 else 's'}")


def _note(topic: str, count: int, text: str) -> Note | None:
    """Return a note, or None where it concerns no request."""
    return Note(topic=topic, text=_worded(text, count), count=count) if count else None


def impossible(request: Request) -> str | None:
    """Return why a request cannot have been, or None: replay takes a block for every token."""
    counts = {
        "prompt_tokens": request.prompt_tokens,
        "output_tokens": request.output_tokens,
        "cached_tokens": request.cached_tokens,
        "block_tokens": request.block_tokens,
    }
    for name, count in counts.items():
        if count is not None and count > MOST_TOKENS:
            return f"{name} is {count:,}, and no request has that many"
    if request.arrive_step is not None and request.arrive_step >= 2**63:
        return "arrive_step does not fit into 64 bits"
    if request.arrived_s is not None and abs(request.arrived_s) > LATEST_S:
        return "arrived_s is no point in time"
    return None
