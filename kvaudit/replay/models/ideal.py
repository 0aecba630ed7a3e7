"""The ideal cache: what reuse of contiguous prefixes could give, in any amount of memory.

No engine works like this one. All of a prompt may hit, its last token and a partial last
block included; what is known of the output is kept too; nothing is in flight. Without a
capacity it is the most that any prefix cache could reuse. With one, a block is dropped by

* ``lru``: the least recently used leaf, a leaf being a block that no held block continues;
* ``fifo``: the block that was admitted first, whatever continues it;
* ``optimal``: the leaf whose next use is furthest away, and a block that would be used
  later than all leaves, or never, is not admitted at all.

The request being served never loses what it hit, but under ``fifo``. These are the rules of
kvcache-simulator 0.1.3 (``kvcache_sim/policies.py``), whose published figures they reproduce.
"""

from __future__ import annotations

import heapq
from collections import Counter, OrderedDict
from collections.abc import Container, Iterator, Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.outcomes import CacheOutcome, all_served, check_sizes
from kvaudit.replay.paths import hit_tokens, request_paths

NEVER = 2**31 - 1
"""The next use of a block that no later prompt holds."""

ROOT = -1
"""Stands for the block before the first one of a path."""


class IdealPolicy(StrEnum):
    """What a bounded ideal cache drops."""

    LRU = "lru"
    FIFO = "fifo"
    OPTIMAL = "optimal"


class UnboundedIdeal:
    """The ideal cache that keeps everything. Holds two numbers.

    Its unit of reuse is that of the batch, or the block where the interner numbers tails.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._held_blocks = 0

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        if blocks.prompt_tails is None:
            hit_blocks = hit_units = blocks.shared_units
            new_blocks = blocks.new_units
        else:
            # A block is held if an earlier request brought its key.
            tail_hits = (blocks.prompt_tails >= 0) & (
                blocks.prompt_tails < blocks.known_before[:-1]
            )
            hit_blocks = blocks.shared_units // blocks.block_units + tail_hits
            hit_units = hit_blocks * blocks.block_units
            new_blocks = np.diff(blocks.known_before)
        held_blocks = self._held_blocks + np.cumsum(new_blocks)
        self._held_blocks += int(new_blocks.sum())
        requests = len(hit_blocks)
        return CacheOutcome(
            cached_tokens=hit_tokens(prompts, hit_units),
            hit_blocks=hit_blocks,
            admitted=np.ones(requests, np.bool_),
            evicted_blocks=np.zeros(requests, np.int64),
            held_blocks=held_blocks,
            peak_blocks=self._held_blocks,
        )


class IdealCache:
    """The ideal cache with room for ``capacity_blocks``, under ``lru`` or ``fifo``.

    Grows to about 150 bytes a block of the capacity.
    """

    def __init__(self, *, capacity_blocks: int, policy: IdealPolicy) -> None:
        """Take a capacity in the interner's blocks; `OptimalCache` does ``optimal``."""
        check_sizes(capacity_blocks)
        assert policy is not IdealPolicy.OPTIMAL
        self.capacity_blocks = capacity_blocks
        self._admit = self._admit_fifo if policy is IdealPolicy.FIFO else self._admit_lru
        self._held: OrderedDict[int, None] = OrderedDict()  # the next to go stands first
        self._peak_blocks = 0

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        return self.replay_some(prompts, blocks, all_served(prompts))

    def replay_some(
        self, prompts: PromptBatch, blocks: BlockBatch, served: NDArray[np.bool_]
    ) -> CacheOutcome:
        """Serve the marked requests one after the other, and only look at the others."""
        found = []
        paths = request_paths(prompts, blocks)
        pairs = _pairs(paths.keys, paths.offsets[:-1], paths.offsets[1:])
        for own, (prompt, whole) in zip(served.tolist(), pairs, strict=True):
            hits = _prefix_held(self._held, prompt)
            evicted = self._admit(prompt) + self._admit(whole) if own else 0
            found.append((hits, evicted, len(self._held)))
        return ideal_outcome(prompts, blocks, found, self._peak_blocks)

    def _admit_lru(self, path: Sequence[int]) -> int:
        """Use the held blocks of the path and add the others; return how many that evicts."""
        fitting = path[: self.capacity_blocks]
        hits = _prefix_held(self._held, fitting)
        for key in fitting[:hits]:
            del self._held[key]
        evicted = max(0, len(self._held) + len(fitting) - self.capacity_blocks)
        for _ in range(evicted):
            self._held.popitem(last=False)
        # Deepest first: a block is then always used after those that continue it, so the
        # least recently used block is a leaf.
        for key in reversed(fitting):
            self._held[key] = None
        self._peak_blocks = max(self._peak_blocks, len(self._held))
        if hits < len(fitting) < len(path):
            # Only blocks that were held when the request came are spared, so the first block
            # that finds no room takes that of the one before it, and has nothing to continue.
            del self._held[fitting[-1]]
            evicted += 1
        return evicted

    def _admit_fifo(self, path: Sequence[int]) -> int:
        evicted = 0
        for key in path:
            if key in self._held:
                continue
            if len(self._held) == self.capacity_blocks:
                self._held.popitem(last=False)
                evicted += 1
            self._held[key] = None
        self._peak_blocks = max(self._peak_blocks, len(self._held))
        return evicted


class OptimalCache:
    """The bounded ideal cache that knows the future, and so takes the whole log as one batch.

    Holds about 100 bytes a block of every request.
    """

    def __init__(self, *, capacity_blocks: int) -> None:
        """Take a capacity in the interner's blocks."""
        check_sizes(capacity_blocks)
        self.capacity_blocks = capacity_blocks
        self._uses: dict[int, list[int]] = {}  # requests to come that ask for a block, last first
        self._held: dict[int, int] = {}  # each block that is held, and the one before it
        self._continued: Counter[int] = Counter()  # held blocks that continue a block
        self._leaves: list[tuple[int, int]] = []  # heap; entries may be out of date

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve all requests of the log, one after the other."""
        paths = request_paths(prompts, blocks)
        served = self.serve(paths.keys, paths.offsets[:-1], paths.offsets[1:])
        # What is held never shrinks: a block is dropped only for another one.
        return ideal_outcome(prompts, blocks, served, len(self._held))

    def serve(
        self, keys: NDArray[np.int32], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return hits, evicted and held blocks of each request of a log, shape (requests, 3).

        Request i looks up and admits row 2i of the keys, then admits row 2i + 1.
        """
        pairs = list(_pairs(keys, starts, ends))
        for number in reversed(range(len(pairs))):
            for key in pairs[number][0]:
                self._uses.setdefault(key, []).append(number)
        served = []
        for prompt, whole in pairs:
            hits = _prefix_held(self._held, prompt)
            for key in prompt:
                self._uses[key].pop()
            evicted = self._admit(prompt) + self._admit(whole)
            served.append((hits, evicted, len(self._held)))
        return np.array(served, np.int64).reshape(-1, 3)

    def _next_use(self, key: int) -> int:
        uses = self._uses.get(key)
        return uses[-1] if uses else NEVER

    def _admit(self, path: Sequence[int]) -> int:
        """Add what is worth holding of the path; return how many blocks that evicts."""
        evicted = 0
        before = ROOT
        for key in path:
            if key not in self._held:
                if len(self._held) == self.capacity_blocks:
                    if not self._evict_later_than(self._next_use(key)):
                        break
                    evicted += 1
                self._held[key] = before
                self._continued[before] += 1
            before = key
        self._offer(before)
        return evicted

    def _offer(self, key: int) -> None:
        """Name the block as one that may be evicted, if it is a leaf."""
        if key != ROOT and not self._continued[key]:
            heapq.heappush(self._leaves, (-self._next_use(key), key))

    def _evict_later_than(self, next_use: int) -> bool:
        """Evict the leaf that is used last of all, if that is later than ``next_use``.

        It is never of the path being admitted: what comes later on a path is not used sooner.
        """
        while self._leaves:
            negative_use, key = self._leaves[0]
            held = key in self._held and not self._continued[key]
            current = held and -negative_use == self._next_use(key)
            if current and -negative_use <= next_use:
                return False
            heapq.heappop(self._leaves)
            if current:
                before = self._held.pop(key)
                self._continued[before] -= 1
                self._offer(before)
                return True
        return False


def _prefix_held(held: Container[int], path: Sequence[int]) -> int:
    """Return how many leading blocks of the path are held."""
    return next((n for n, key in enumerate(path) if key not in held), len(path))


def _pairs(
    keys: NDArray[np.int32], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the two rows of each request."""
    rows = [slice(start, end) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    for prompt, whole in zip(rows[::2], rows[1::2], strict=True):
        yield keys[prompt].tolist(), keys[whole].tolist()


def ideal_outcome(
    prompts: PromptBatch,
    blocks: BlockBatch,
    served: Sequence[tuple[int, int, int]] | NDArray[np.int64],
    peak_blocks: int,
) -> CacheOutcome:
    """Put hits, evicted and held blocks of each request into arrays."""
    hits, evicted, held = np.array(served, np.int64).reshape(-1, 3).T
    return CacheOutcome(
        cached_tokens=hit_tokens(prompts, hits * blocks.block_units),
        hit_blocks=hits,
        admitted=np.ones(len(hits), np.bool_),
        evicted_blocks=evicted,
        held_blocks=held,
        peak_blocks=peak_blocks,
    )
