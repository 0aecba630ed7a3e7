"""A request log as numbers: one column a field, one row a request, equal values equal numbers.

Memory is four bytes a field and eight more a request, and about a hundred for each different
value; the values themselves are not kept.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.keys.logged.fields import canonical, value_of
from kvaudit.core.requests import NO_PROMPT, Request, Status

ABSENT = 0
"""The number of a missing value: an omitted temperature is none of the numbers."""
_DIGEST_BYTES = 16
Codes = NDArray[np.int32]
KeyFunction = Callable[[Request], str]


class _Column:
    def __init__(self) -> None:
        self.codes = array("i")
        self._known: dict[bytes, int] = {}

    def add(self, value: object) -> None:
        if value is None:
            self.codes.append(ABSENT)
            return
        whole = canonical(value)
        # What is shorter than a digest stands for itself; the two cannot be equal.
        short = len(whole) < _DIGEST_BYTES
        key = whole if short else blake2b(whole, digest_size=_DIGEST_BYTES).digest()
        self.codes.append(self._known.setdefault(key, len(self._known) + 1))


class KeyTable:
    """The requests that a cache of answers could be asked for, in the order of their arrival."""

    def __init__(
        self,
        requests: Iterable[Request],
        fields: Sequence[str],
        functions: Sequence[KeyFunction] = (),
    ) -> None:
        """Read a log; ``functions`` give a key each, which becomes a column too."""
        named = {name: _Column() for name in dict.fromkeys(fields)}
        made = [_Column() for _ in functions]
        numbers, times = array("q"), array("d")
        self.skipped: Counter[str] = Counter()
        """Requests that are left out, by reason."""
        latest = -np.inf
        for number, request in enumerate(requests):
            reason = unfit(request)
            if reason is not None:
                self.skipped[reason] += 1
                continue
            for name, column in named.items():
                column.add(value_of(request, name))
            for function, column in zip(functions, made, strict=True):
                column.add(function(request))
            arrived = request.arrived_s if request.arrived_s is not None else request.arrive_step
            latest = latest if arrived is None else float(arrived)
            times.append(latest)
            numbers.append(number)
        # One without a time counts as arriving with its predecessor in the file.
        order = np.argsort(np.array(times, np.float64), kind="stable")
        self.numbers = np.array(numbers, np.int64)[order]
        """Of each row, the number of its request in the order of the file."""
        self.columns = {name: _ordered(column, order) for name, column in named.items()}
        self.keys = [_ordered(column, order) for column in made]
        """One column for each function."""
        arrivals = np.array(times, np.float64)[order]
        known = arrivals[np.isfinite(arrivals)]
        self.span_s = float(known[-1] - known[0]) if len(known) > 1 else None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.numbers)

    def present(self, name: str) -> int:
        """Return how many requests have a field."""
        return int(np.count_nonzero(self.columns[name]))


def unfit(request: Request) -> str | None:
    """Return why a request is left out, or None.

    One that a response cache answered is asked about as well: it was a lookup.
    """
    if request.status is Status.ERROR:
        return "failed before the model"
    if request.marks:
        return ", ".join(sorted(request.marks))
    return None if request.has_prompt else NO_PROMPT


def distinct(codes: Codes) -> int:
    """Return how many different values there are, a missing one among them."""
    return len(np.unique(codes))


def _ordered(column: _Column, order: NDArray[np.intp]) -> Codes:
    return np.array(column.codes, np.int32)[order]
