"""vLLM's block pool where several requests hold blocks at once.

Read from vLLM 0.33.0, folder ``vllm/v1/core``; the file is named beside each rule.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from kvaudit.replay.models.paged import UNKNOWN
from kvaudit.replay.models.vllm_releases import FreeOrder


class SharedPool:
    """vLLM's block pool with reference counts."""

    def __init__(
        self,
        *,
        capacity_blocks: int,
        block_size: int,
        free_order: FreeOrder,
        eagle: bool = False,
    ) -> None:
        """Start with every block free; block numbers are 0 to ``capacity_blocks`` less one."""
        self.block_size = block_size
        self.free_order = free_order
        self.eagle = eagle
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
    def occupied_blocks(self) -> int:
        """How many blocks a request holds or that hold KV which can be hit."""
        return self.capacity_blocks - self._empty

    def lookup(self, keys: Sequence[int], tokens: int) -> list[int]:
        """Return the blocks of the longest cached prefix of ``tokens``. Changes nothing."""
        # kv_cache_manager.py, get_computed_blocks: the last token is computed again.
        found: list[int] = []
        for key in keys[: max(0, tokens - 1) // self.block_size]:
            blocks = self._blocks_of.get(key)
            if blocks is None:
                break
            found.append(next(iter(blocks)))  # the block that got the key first
        if self.eagle and found:
            found.pop()  # single_type_kv_cache_manager.py: the drafter needs its hidden states
        return found

    def blocks_of(self, tokens: int) -> int:
        """Return how many blocks so many tokens take."""
        return -(-tokens // self.block_size)

    def unused(self, blocks: Sequence[int]) -> int:
        """Return how many of the blocks no request holds."""
        return sum(not self._users[block] for block in blocks)

    def touch(self, blocks: Sequence[int]) -> None:
        """Take hit blocks into use."""
        for block in blocks:
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

    def release(self, table: Sequence[int]) -> None:
        """Give a request's blocks back, the last one first."""
        # block_pool.py, free_blocks: those without a key go to the head, in this same order.
        head: list[int] = []
        for block in reversed(table):
            self._users[block] -= 1
            if self._users[block]:
                continue
            keyed = block in self._key_of
            self._empty += not keyed
            if keyed or self.free_order is FreeOrder.ALL_TO_TAIL:
                self._free[block] = None
            else:
                head.append(block)
        for block in reversed(head):
            self._free[block] = None
            self._free.move_to_end(block, last=False)
