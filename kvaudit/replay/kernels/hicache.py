"""SGLang's pool with HiCache's host tier, compiled; `kvaudit.replay.models.hicache` is its twin.

Write-through and write-through-selective, without storage: what the others need, the order in
which copies were made and the keys of each node's pages, is not kept here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.kernels.hicache_requests import PEAK, Settings, serve_from
from kvaudit.replay.kernels.hicache_state import HOST_PEAK, HiRules, empty_hitree, with_room
from kvaudit.replay.kernels.radix_tree import KEEP_ALL, POLICIES
from kvaudit.replay.kernels.sglang import UNBOUNDED, answer_for, outcome_of, work_of
from kvaudit.replay.models.hicache import counted_with_host
from kvaudit.replay.models.hicache_releases import HITS_TO_WRITE, HostRules
from kvaudit.replay.models.sglang_releases import Counted, Kept, Rules
from kvaudit.replay.models.tiers import TierState, WritePolicy
from kvaudit.replay.outcomes import CacheOutcome, all_served, check_sizes


class CompiledHiCache:
    """`HiCache` for large logs.

    Grows to 4 bytes a distinct page of the log and about 150 bytes a node that was ever made, of
    which there are at most six a request, and mostly two.
    """

    def __init__(
        self,
        *,
        capacity_tokens: int | None,
        page_size: int,
        rules: Rules,
        host_rules: HostRules,
        host_pages: int | None,
        write: WritePolicy,
        policy: str = "lru",
    ) -> None:
        """Take what the reference takes, but for storage and write-back."""
        check_sizes(capacity_tokens, page_size)
        assert write is not WritePolicy.BACK
        counted = counted_with_host(rules, host_rules, write)
        self.page_size = page_size
        self._by_priority = policy == "priority"
        self._rules = rules
        self._host_pages = host_pages
        self._hi = empty_hitree()
        self._pool = np.zeros(3, np.int64)  # used pages, most ever used, evicted for this request
        self._settings = Settings(
            capacity=capacity_tokens // page_size if capacity_tokens is not None else UNBOUNDED,
            page_size=page_size,
            keeps_output=rules.kept is Kept.ALL,
            evicts_shortfall=rules.evicts_shortfall,
            counts=counted is not Counted.NEVER,
            counts_once=counted is Counted.ONCE,
            parts_output=rules.parts_output,
            tree=HiRules(
                policy=KEEP_ALL if capacity_tokens is None else POLICIES[policy],
                keeps_age=rules.split_keeps_age,
                host_pages=UNBOUNDED if host_pages is None else host_pages,
                hits_to_write=HITS_TO_WRITE[write],
                unified=host_rules.unified,
                needs_parent=host_rules.needs_parent,
                finds_orphans=host_rules.finds_orphans,
            ),
        )
        self.moved_tokens: NDArray[np.int64] = np.empty((1, 0), np.int64)
        """Tokens copied down, shape (tiers, requests of the last batch)."""

    @property
    def lower_tiers(self) -> list[TierState]:
        """Return the host."""
        return [TierState(self._host_pages, int(self._hi.host[HOST_PEAK]))]

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        return self.replay_some(prompts, blocks, all_served(prompts))

    def replay_some(
        self, prompts: PromptBatch, blocks: BlockBatch, served: NDArray[np.bool_]
    ) -> CacheOutcome:
        """Serve the marked requests one after the other, and only look at the others."""
        requests = len(served)
        work = work_of(
            prompts,
            blocks,
            served,
            page_size=self.page_size,
            rules=self._rules,
            by_priority=self._by_priority,
        )
        answer = answer_for(requests)
        below = np.zeros((2, requests), np.int64)
        keys = int(blocks.keys.max(initial=-1)) + 1
        done = 0
        while done < requests:
            self._hi = with_room(self._hi, keys, requests - done)
            done = serve_from(done, self._hi, self._pool, work, self._settings, answer, below)
        self.moved_tokens = below[1:] * self.page_size
        pages = np.vstack([answer.hit_pages - below[0], below[:1]])
        return outcome_of(answer, self.page_size, int(self._pool[PEAK]), pages * self.page_size)
