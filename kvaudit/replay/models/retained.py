"""vLLM's block pool with a hint: the blocks of a session are kept for some time after each use.

No release of vLLM takes such a hint. TensorRT-LLM does: a retention priority with a duration,
after which a block goes back to the order of use (``KvCacheRetentionConfig``). This is that rule
on vLLM's queue: a free block that is retained is passed over while any other is free; when none
is, the one freed first goes, retained or not, so that no request waits for a hint. A request
without a session gives none, and takes none away.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.models.paged import VllmPool
from kvaudit.replay.models.vllm_releases import FreeOrder


class RetainingPool(VllmPool):
    """A `VllmPool` that passes over what a session used in the last ``retain_s`` seconds.

    Time is that of the requests' arrivals; one without a time arrives with its predecessor.
    """

    def __init__(
        self,
        *,
        capacity_blocks: int | None,
        block_size: int,
        free_order: FreeOrder,
        eagle: bool = False,
        retain_s: float,
    ) -> None:
        """Take the sizes that a `VllmPool` takes, and how long a block is retained."""
        super().__init__(
            capacity_blocks=capacity_blocks,
            block_size=block_size,
            free_order=free_order,
            eagle=eagle,
        )
        self.retain_s = retain_s
        self._now_s = -math.inf
        self._in_session = False
        self._frees = 0
        self._freed: dict[int, int] = {}  # block -> number of its last freeing
        self._until_s: dict[int, float] = {}
        # Heaps over free blocks by the number of their freeing; an entry whose block was freed
        # again since, or is in use, is passed over when it comes up.
        self._all: list[tuple[int, int]] = []
        self._plain: list[tuple[int, int]] = []
        self._retained: list[tuple[float, int, int]] = []

    def _arrive(self, prompts: PromptBatch, number: int) -> None:
        facts = prompts.requests[number]
        self._now_s = max(self._now_s, -math.inf if facts.arrived_s is None else facts.arrived_s)
        self._in_session = facts.session is not None

    def _release(self, table: Sequence[int]) -> None:
        super()._release(table)
        for block in reversed(table):
            if block not in self._free:
                continue  # without a key: a hole, which comes first anyway
            if self._in_session and block in self._key_of:
                self._until_s[block] = self._now_s + self.retain_s
            self._frees += 1
            self._freed[block] = self._frees
            heapq.heappush(self._all, (self._frees, block))
            until_s = self._until_s.get(block, -math.inf)
            if until_s > self._now_s:
                heapq.heappush(self._retained, (until_s, self._frees, block))
            else:
                heapq.heappush(self._plain, (self._frees, block))
        if len(self._all) > 4 * len(self._free) + 1024:
            self._drop_stale()

    def _drop_stale(self) -> None:
        """Keep the heaps as small as what is free, whatever passed through them."""
        self._all = [entry for entry in self._all if self._is_free(*entry)]
        self._plain = [entry for entry in self._plain if self._is_free(*entry)]
        self._retained = [entry for entry in self._retained if self._is_free(*entry[1:])]
        heapq.heapify(self._all)
        heapq.heapify(self._plain)
        heapq.heapify(self._retained)

    def _is_free(self, number: int, block: int) -> bool:
        """Whether a freeing is the block's last, and still holds."""
        return block in self._free and self._freed[block] == number

    def _next_to_go(self) -> int:
        while self._retained and self._retained[0][0] <= self._now_s:
            _, number, block = heapq.heappop(self._retained)
            heapq.heappush(self._plain, (number, block))
        for queue in (self._plain, self._all):
            while queue:
                number, block = heapq.heappop(queue)
                if self._is_free(number, block):
                    del self._free[block]
                    self._until_s.pop(block, None)
                    return block
        raise AssertionError("no block is free")
