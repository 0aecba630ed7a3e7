"""Free blocks of TensorRT-LLM: one queue for each level of memory and each retention priority.

Read from the main branch of TensorRT-LLM, 2026, ``cpp/tensorrt_llm/batch_manager``,
``evictionPolicy.cpp`` (``LRUEvictionPolicy``). Times are microseconds.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from kvaudit.replay.models.trtllm_retention import (
    DEFAULT_PRIORITY,
    MAX_PRIORITY,
    NO_DURATION,
    NO_PRIORITY,
    Retained,
)

PRIMARY, HOST = 0, 1
"""Levels of memory: the accelerator's, and the host's."""


@dataclass(slots=True, eq=False)
class Block:
    """A block of memory; it stands in the search tree when it has a parent."""

    level: int
    text: bytes = b""
    parent: Block | None = None
    children: dict[bytes, Block] = field(default_factory=dict)
    """By their text."""
    priority: int = DEFAULT_PRIORITY
    duration_us: int = NO_DURATION
    """How long it keeps its priority from its next release on."""
    release: int = 0
    """Number of the release after which its priority is to fall; 0 for none."""
    is_keyed: bool = False
    """Whether it was given tokens; they stay when it leaves the tree, and then say nothing."""

    def subtree(self) -> Iterator[Block]:
        """Yield what continues the block, the deepest first, and then the block."""
        for child in self.children.values():
            yield from child.subtree()
        yield self


class FreeQueues:
    """The blocks that nobody uses, lowest priority first, then the one freed first.

    ``sizes`` are the blocks of each level; None is as many as are asked for, and then none that
    was used is ever taken while there are others.
    """

    def __init__(self, sizes: tuple[int | None, int | None]) -> None:
        """Start with every block free, at the default priority."""
        self.sizes = sizes
        self.made = [0, 0]
        """Blocks of each level that were ever in use; the others stand before all that were."""
        self._queues = [
            [OrderedDict[Block, None]() for _ in range(MAX_PRIORITY + 1)] for _ in sizes
        ]
        self._freed = [0, 0]
        self._releases = 0
        self._expiring: list[tuple[int, int, Block]] = []
        """A heap of when a priority falls, and after which release; a block that was used or
        released again since is passed over."""

    def refresh(self, now_us: int) -> None:
        """Let the priorities fall that were asked for until now (``refresh``)."""
        while self._expiring and self._expiring[0][0] <= now_us:
            _, release, block = heapq.heappop(self._expiring)
            if block.release == release:
                self._remove(block)
                block.priority = DEFAULT_PRIORITY
                self._append(block)

    def has_free(self, level: int) -> bool:
        """Whether a block of the level is free (getNumFreeBlocks)."""
        return self._has_unused(level) or self._freed[level] > 0

    def take(self, level: int) -> Block:
        """Take out the block that is to be used next; there must be one (getFreeBlock)."""
        if self.sizes[level] is None:
            return self._unused(level)
        for priority, queue in enumerate(self._queues[level]):
            if priority == DEFAULT_PRIORITY and self._has_unused(level):
                return self._unused(level)
            if queue:
                block = next(iter(queue))
                self._remove(block)
                return block
        raise AssertionError("no block is free")

    def add(self, block: Block, now_us: int) -> None:
        """Free a block: it is the last of its priority (releaseBlock)."""
        self._append(block)
        if block.duration_us != NO_DURATION and block.priority != DEFAULT_PRIORITY:
            self._releases += 1
            block.release = self._releases
            until_us = now_us + block.duration_us
            heapq.heappush(self._expiring, (until_us, self._releases, block))

    def claim(self, block: Block, retained: Retained) -> None:
        """Use a free block that was found, and retain it as asked (claimBlock).

        One that asks for no priority leaves it, but takes away how long it was to last.
        """
        self._remove(block)
        if retained.priority != NO_PRIORITY:
            block.priority = retained.priority
        block.duration_us = retained.duration_us

    def all_free(self) -> list[Block]:
        """Return the blocks that were used and are free."""
        return [block for level in self._queues for queue in level for block in queue]

    def _append(self, block: Block) -> None:
        self._queues[block.level][block.priority][block] = None
        self._freed[block.level] += 1

    def _remove(self, block: Block) -> None:
        del self._queues[block.level][block.priority][block]
        self._freed[block.level] -= 1
        block.release = 0

    def _has_unused(self, level: int) -> bool:
        size = self.sizes[level]
        return size is None or self.made[level] < size

    def _unused(self, level: int) -> Block:
        self.made[level] += 1
        return Block(level)
