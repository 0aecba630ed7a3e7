"""Which application a request is of, whatever values its instructions are filled in with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from kvaudit.analyzers.divergence.repairs.one_form import instructions_of
from kvaudit.analyzers.divergence.spelling import squeezed
from kvaudit.core.requests import Request

_LEAST_CHARS = 24
"""Shorter lines are headings, which many applications have."""


class Applications:
    """Tells applications by the line of their instructions that most requests have."""

    def __init__(self, requests: Iterable[Request]) -> None:
        """Read all requests once, for the lines they have."""
        self._often: Counter[int] = Counter()
        for request in requests:
            self._often.update(_lines(request))

    def of(self, request: Request) -> int:
        """Return what all requests of an application have in common; 0 without instructions."""
        return max(_lines(request), key=lambda line: (self._often[line], line), default=0)


def _lines(request: Request) -> Iterator[int]:
    if (request.messages or [{}])[0].get("role") == "user":
        return
    for text in instructions_of(request):
        yield from {_number(line) for line in text.split("\n") if len(line) >= _LEAST_CHARS}


def _number(line: str) -> int:
    """Return a number for a line that is the same in every process, since the greatest is taken."""
    bare = squeezed(line).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(bare, digest_size=8).digest())
