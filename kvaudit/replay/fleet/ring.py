"""Consistent hashing: a key keeps its replica, and few keys move when one is added."""

from __future__ import annotations

from bisect import bisect
from hashlib import blake2b

POINTS = 150
"""Places of each replica on the ring, as in SGLang's gateway (``core/worker_registry.rs``)."""


class HashRing:
    """Replicas at pseudo-random places of a circle; a key belongs to the next one."""

    def __init__(self, replicas: int) -> None:
        """Place the replicas by their numbers."""
        places = sorted(
            (_place(f"{replica}#{point}".encode()), replica)
            for replica in range(replicas)
            for point in range(POINTS)
        )
        self._places = [place for place, _ in places]
        self._replicas = [replica for _, replica in places]

    def replica(self, key: bytes) -> int:
        """Return the replica of a key."""
        return self._replicas[bisect(self._places, _place(key)) % len(self._replicas)]


def _place(key: bytes) -> int:
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "little")
