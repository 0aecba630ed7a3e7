"""vLLM's block pool where several requests hold blocks at once.

Read from vLLM 0.33.0, ``vllm/v1/core/block_pool.py``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from kvaudit.replay.models.kv_groups import NULL
from kvaudit.replay.models.paged import UNKNOWN


class SharedPool:
    """vLLM's block pool with reference counts."""

    def __init__(self, capacity_blocks: int) -> None:
        """Start with every block free; block numbers are 0 to ``capacity_blocks`` less one."""
        self.capacity_blocks = capacity_blocks
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(range(capacity_blocks))
        self._empty = capacity_blocks  # free blocks without KV
        self._users = [0] * capacity_blocks
        self._key_of: dict[int, int] = {}
        self._blocks_of: dict[int, dict[int, None]] = {}

    @property
    def free_blocks(self) -> int:
        """How many blocks no request holds; they may still hold KV that can be hit."""
        return len(self._free)

    @property
    def held_blocks(self) -> int:
        """How many blocks hold KV that a later request could be given."""
        return len(self._key_of)

    @property
    def used_blocks(self) -> int:
        """How many blocks requests hold."""
        return self.capacity_blocks - len(self._free)

    @property
    def occupied_blocks(self) -> int:
        """How many blocks a request holds or that hold KV which can be hit."""
        return self.capacity_blocks - self._empty

    def find(self, key: int) -> int | None:
        """Return the block that got the key first, or None. Changes nothing."""
        blocks = self._blocks_of.get(key)
        return None if blocks is None else next(iter(blocks))

    def key_of(self, block: int) -> int | None:
        """Return the block's key, or None where it has none."""
        return self._key_of.get(block)

    def unused(self, blocks: Sequence[int]) -> int:
        """Return how many of the blocks no request holds."""
        return sum(block != NULL and not self._users[block] for block in blocks)

    def touch(self, blocks: Sequence[int]) -> None:
        """Take hit blocks into use."""
        for block in blocks:
            if block == NULL:
                continue
            if not self._users[block]:
                del self._free[block]
            self._users[block] += 1

    def pop(self) -> tuple[int, bool]:
        """Take the block at the head of the free queue; return whether that evicts KV."""
        block, _ = self._free.popitem(last=False)
        self._users[block] = 1
        key = self._key_of.pop(block, None)
        if key is None:
            self._empty -= 1
            return block, False
        if key != UNKNOWN:
            blocks = self._blocks_of[key]
            del blocks[block]
            if not blocks:
                del self._blocks_of[key]
        return block, True

    def insert(self, block: int, key: int) -> None:
        """Give a block that has been filled its key."""
        self._key_of[block] = key
        if key != UNKNOWN:
            self._blocks_of.setdefault(key, {})[block] = None

    def release(self, blocks: Sequence[int], *, unkeyed_first: bool) -> None:
        """Give up blocks, in the order in which they are to be taken.

        All go to the tail of the queue; with ``unkeyed_first``, those without a key to its head.
        """
        head: list[int] = []
        for block in blocks:
            if block == NULL:
                continue
            self._users[block] -= 1
            if self._users[block]:
                continue
            keyed = block in self._key_of
            self._empty += not keyed
            if keyed or not unkeyed_first:
                self._free[block] = None
            else:
                head.append(block)
        for block in reversed(head):
            self._free[block] = None
            self._free.move_to_end(block, last=False)
