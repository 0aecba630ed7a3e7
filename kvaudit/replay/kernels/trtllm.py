"""TensorRT-LLM's pools, compiled; `kvaudit.replay.models.trtllm` is what they must equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.kernels.trtllm_queues import expiring_with_room, nothing_expires
from kvaudit.replay.kernels.trtllm_requests import EVICTED, OFFLOADED, Sizes, Work, serve_all
from kvaudit.replay.kernels.trtllm_tree import BLOCKS, MADE, PEAK_HOST, empty_pool, roomy
from kvaudit.replay.models.tiers import TierState
from kvaudit.replay.models.trtllm_retention import (
    DEFAULT_OPTIONS,
    PartialReuse,
    TrtllmOptions,
    lifespans_us,
    retention_priorities,
)
from kvaudit.replay.models.trtllm_search import Served
from kvaudit.replay.outcomes import CacheOutcome, all_served, check_sizes

_UNBOUNDED = 1 << 30


class CompiledTrtllmPool:
    """`TrtllmPool` for large logs. Grows to 60 bytes a block that was ever used, and its tokens."""

    def __init__(
        self,
        *,
        capacity_blocks: int | None,
        block_size: int,
        host_blocks: int | None = 0,
        options: TrtllmOptions = DEFAULT_OPTIONS,
    ) -> None:
        """Take what the reference takes."""
        check_sizes(capacity_blocks, block_size)
        self.block_size = block_size
        self.moved_tokens: NDArray[np.int64] = np.empty((1, 0), np.int64)
        """Tokens of blocks moved to the host, by request of the last batch."""
        self._sizes = Sizes(
            block_size,
            _UNBOUNDED if capacity_blocks is None else capacity_blocks,
            _UNBOUNDED if host_blocks is None else host_blocks,
            capacity_blocks is not None,
            host_blocks is not None,
            options.offload_min_priority,
            list(PartialReuse).index(options.partial_reuse),
        )
        self._ranges = _range_table(options)
        self._has_durations = options.retention.has_durations
        self._last_us = 0
        self._pool = empty_pool(block_size)
        self._expiring = nothing_expires()
        self._next_unknown_id = -1

    @property
    def lower_tiers(self) -> Sequence[TierState]:
        """Return what is to be told of the host."""
        size = self._sizes.host_blocks if self._sizes.host_bounded else None
        return [TierState(size, int(self._pool.totals[PEAK_HOST]))]

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other; block keys are not needed."""
        return self.replay_some(prompts, blocks, all_served(prompts))

    def replay_some(
        self, prompts: PromptBatch, blocks: BlockBatch, served: NDArray[np.bool_]
    ) -> CacheOutcome:
        """Serve the marked requests one after the other, and only look at the others."""
        tokens = prompts.prompt_tokens + prompts.output_tokens
        unknown = np.where(served, tokens - np.diff(prompts.offsets), 0)
        firsts = self._next_unknown_id - (np.cumsum(unknown) - unknown)
        self._next_unknown_id -= int(unknown.sum())
        needed = int((-(-tokens // self.block_size))[served].sum())
        sizes = self._sizes
        # Each block of a request may be a new one, and may send one to the host, twice.
        most = min(sizes.blocks + sizes.host_blocks, int(self._pool.totals[BLOCKS]) + 4 * needed)
        self._pool = roomy(self._pool, most, needed)
        if self._has_durations:
            self._expiring = expiring_with_room(self._expiring, most, needed)
        arrived, ended = lifespans_us(prompts, self._last_us)
        self._last_us = int(arrived[-1]) if len(arrived) else self._last_us
        work = Work(
            units=prompts.units,
            offsets=prompts.offsets,
            prompt_tokens=prompts.prompt_tokens,
            output_tokens=prompts.output_tokens,
            roots=-2 - prompts.namespaces.astype(np.int64),
            priorities=retention_priorities(prompts),
            arrived=arrived,
            ended=ended,
            expiring=self._expiring,
            ranges=self._ranges,
            unknown=firsts,
            served=served,
        )
        answer = np.zeros((len(served), len(Served._fields)), np.int64)
        longest = int(tokens.max(initial=0))
        text = np.empty(longest, np.int32)
        table = np.empty(-(-longest // self.block_size), np.int64)
        serve_all(self._pool, sizes, work, text, table, answer)
        self.moved_tokens = answer[:, OFFLOADED][None] * self.block_size
        host = answer[:, 5]
        return CacheOutcome(
            cached_tokens=answer[:, 0],
            hit_blocks=answer[:, 1],
            admitted=answer[:, 2].astype(np.bool_),
            evicted_blocks=answer[:, EVICTED],
            held_blocks=answer[:, 4],
            peak_blocks=int(self._pool.totals[MADE]),
            tier_tokens=np.vstack([answer[:, 0] - host, host]) if sizes.host_blocks else None,
        )


def _range_table(options: TrtllmOptions) -> NDArray[np.int64]:
    """Return the rows of `Work.ranges`."""
    asked = options.retention
    rows = [(p.start, _UNBOUNDED if p.end is None else p.end, *p.retained) for p in asked.ranges]
    return np.array([*rows, (0, _UNBOUNDED, *asked.decode)], np.int64)
