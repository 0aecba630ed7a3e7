"""Requests of which a log says hashes, counts and a time, in columns instead of one by one.

A trace of block hashes holds millions of numbers and nothing else. An object for each of its
requests would cost many times what is then done with the numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class HashRows(NamedTuple):
    """Consecutive requests of a log; arrays have one entry a request unless stated."""

    first: int
    """Number of the first one's record, from 1: the ids of these requests."""
    block_tokens: int
    arrived_s: NDArray[np.float64]
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    block_ids: NDArray[np.int64]
    """Of all requests; as `kvaudit.core.requests.Request.block_ids`."""
    offsets: NDArray[np.int64]
    """``block_ids[offsets[i]:offsets[i + 1]]`` are those of request i; shape (requests + 1,)."""

    @property
    def requests(self) -> int:
        """How many requests there are."""
        return len(self.arrived_s)


class RowScan(Protocol):
    """Reads lines of a trace as long as they say nothing but what `HashRows` holds."""

    def __call__(self, text: bytes, begin: int, end: int) -> tuple[HashRows, int]:
        """Return the requests of ``text[begin:end]``, and where the first line of another kind is.

        The last line ends in a newline, too. ``first`` and ``block_tokens`` are the caller's to
        fill in.
        """
        ...
