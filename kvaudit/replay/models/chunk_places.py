"""The places LMCache keeps chunks in, and what each drops first.

Read from LMCache 0.5.6, ``lmcache/v1/storage_backend``: ``cache_policy``, ``local_disk_backend.py``
``submit_put_task`` and ``remote_backend.py``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple


class Chunk(NamedTuple):
    """A chunk of a prompt; only the last one may be partial."""

    key: int
    tokens: int


class Place:
    """Chunks in the order in which a policy drops them: lru, fifo, mru or lfu."""

    def __init__(self, policy: str) -> None:
        """Start empty."""
        self.policy = policy
        self.held: OrderedDict[int, int] = OrderedDict()
        """How often each was used."""

    def leading(self, chunks: Sequence[Chunk]) -> int:
        """Return how many of the chunks are held, up to the first that is not."""
        return next((n for n, c in enumerate(chunks) if c.key not in self.held), len(chunks))

    def touch(self, chunks: Iterable[Chunk]) -> None:
        """Count a use of held chunks, one after the other."""
        for key, _ in chunks:
            self.held[key] += 1
            if self.policy != "fifo":
                self.held.move_to_end(key)

    def first_out(self, spared: Collection[int] = ()) -> int | None:
        """Return the chunk that goes first, or None where all that is held is spared."""
        free = (key for key in self.held if key not in spared)
        if self.policy == "lfu":
            # Of those used least, the one that came to that count first.
            return min(free, key=self.held.__getitem__, default=None)
        if self.policy == "mru":
            free = (key for key in reversed(self.held) if key not in spared)
        return next(free, None)


class Disk(Place):
    """The local disk: the policy of the CPU tier, a size of its own."""

    def __init__(self, policy: str, tokens: int | None) -> None:
        """Start empty; ``tokens`` None never drops anything."""
        super().__init__(policy)
        self.tokens = tokens
        self._sizes: dict[int, int] = {}
        self._used_tokens = 0
        self.peak_chunks = 0

    def put(self, chunks: Iterable[Chunk]) -> int:
        """Write the chunks of one request; return the tokens of those not there before."""
        # Writes end after the request's last chunk was offered, so that none of its new chunks
        # makes room for another one.
        written: list[Chunk] = []
        for chunk in chunks:
            if chunk.key in self.held:
                self.touch([chunk])
            elif self._makes_room(chunk.tokens, written):
                written.append(chunk)
        for key, tokens in written:
            self.held[key], self._sizes[key] = 1, tokens
            self._used_tokens += tokens
        self.peak_chunks = max(self.peak_chunks, len(self.held))
        return sum(chunk.tokens for chunk in written)

    def _makes_room(self, tokens: int, written: Sequence[Chunk]) -> bool:
        if self.tokens is None:
            return True
        coming = tokens + sum(chunk.tokens for chunk in written)
        if coming > self.tokens:  # not even an empty disk would do, so nothing is dropped
            return False
        while self._used_tokens + coming > self.tokens:
            oldest = self.first_out()
            assert oldest is not None
            del self.held[oldest]
            self._used_tokens -= self._sizes.pop(oldest)
        return True


class Remote(Place):
    """A store elsewhere: LMCache drops nothing there.

    With a size, the store drops what was read or written longest ago, as Redis can be told to.
    """

    def __init__(self, chunks: int | None) -> None:
        """Start empty; ``chunks`` None never drops anything."""
        super().__init__("lru")
        self.chunks = chunks
        self.peak_chunks = 0

    def put(self, chunks: Iterable[Chunk]) -> int:
        """Write the chunks of one request; return the tokens of those not there before."""
        new = 0
        for key, tokens in chunks:
            new += tokens * (key not in self.held)
            self.held[key] = 1
            self.held.move_to_end(key)
            if self.chunks is not None and len(self.held) > self.chunks:
                self.held.popitem(last=False)
        self.peak_chunks = max(self.peak_chunks, len(self.held))
        return new
