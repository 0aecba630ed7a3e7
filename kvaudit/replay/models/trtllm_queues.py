"""Free blocks of TensorRT-LLM: one queue for each level of memory and each retention priority.

Read from TensorRT-LLM main as stored in 2026, ``cpp/tensorrt_llm/batch_manager``,
``evictionPolicy.cpp`` (``LRUEvictionPolicy``), and ``KvCacheRetentionConfig`` of ``executor.h``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import UsageError
from kvaudit.core.prompts import PromptBatch

PRIMARY, HOST = 0, 1
"""Levels of memory: the accelerator's, and the host's."""
DEFAULT_PRIORITY = 35
MAX_PRIORITY = 100
NO_PRIORITY = -1
"""Of a request that asks for none."""
OFFLOAD_MIN_PRIORITY = 30
"""What is retained at less is not moved to the host (kDefaultSecondaryOffloadMinPriority)."""


@dataclass(slots=True, eq=False)
class Block:
    """A block of memory; it stands in the search tree when it has a parent."""

    level: int
    text: bytes = b""
    parent: Block | None = None
    children: dict[bytes, Block] = field(default_factory=dict)
    """By their text."""
    priority: int = DEFAULT_PRIORITY
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
                self._freed[level] -= 1
                return queue.popitem(last=False)[0]
        raise AssertionError("no block is free")

    def add(self, block: Block) -> None:
        """Free a block: it is the last of its priority (releaseBlock)."""
        self._queues[block.level][block.priority][block] = None
        self._freed[block.level] += 1

    def claim(self, block: Block, priority: int | None) -> None:
        """Use a free block that was found, and retain it as asked, if asked (claimBlock)."""
        del self._queues[block.level][block.priority][block]
        self._freed[block.level] -= 1
        if priority is not None:
            block.priority = priority

    def all_free(self) -> list[Block]:
        """Return the blocks that were used and are free."""
        return [block for level in self._queues for queue in level for block in queue]

    def _has_unused(self, level: int) -> bool:
        size = self.sizes[level]
        return size is None or self.made[level] < size

    def _unused(self, level: int) -> Block:
        self.made[level] += 1
        return Block(level)


def retention_priorities(prompts: PromptBatch) -> NDArray[np.int64]:
    """Return the priority that each request asks for, or `NO_PRIORITY`.

    Raises `UsageError` for one that the engine does not have.
    """
    asked = [NO_PRIORITY] * len(prompts.prompt_tokens)
    for i, facts in enumerate(prompts.requests):
        if facts.priority is not None:
            if not 0 <= facts.priority <= MAX_PRIORITY:
                nearest = 0 if facts.priority < 0 else MAX_PRIORITY
                raise UsageError(
                    f"request {facts.id}: priority {facts.priority} is no retention priority of "
                    f"TensorRT-LLM, which are 0 to {MAX_PRIORITY}; the nearest is {nearest}"
                )
            asked[i] = facts.priority
    return np.array(asked, np.int64)
