"""SGLang's pool with HiCache's tiers, compiled; `kvaudit.replay.models.hicache` is its twin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.batches import offsets_of
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.kernels.hicache_fetch import FetchRules
from kvaudit.replay.kernels.hicache_pages import PageNumbers
from kvaudit.replay.kernels.hicache_requests import PEAK, Settings, serve_from
from kvaudit.replay.kernels.hicache_state import (
    HOST_PEAK,
    NO_STORAGE,
    HiRules,
    Paths,
    empty_hitree,
    with_room,
)
from kvaudit.replay.kernels.radix_ranks import KEEP_ALL, POLICIES
from kvaudit.replay.kernels.radix_tree import with_paths
from kvaudit.replay.kernels.recency import PEAK as STORAGE_PEAK
from kvaudit.replay.kernels.sglang_work import UNBOUNDED, Work, answer_for, outcome_of, work_of
from kvaudit.replay.key_runs import keys_of_runs
from kvaudit.replay.models.hicache import counted_with_host, may_fetch
from kvaudit.replay.models.hicache_releases import FETCH_TOKENS, HITS_TO_WRITE, HostRules
from kvaudit.replay.models.sglang_releases import Counted, Kept, Rules
from kvaudit.replay.models.tiers import Tier, TierState, WritePolicy
from kvaudit.replay.outcomes import CacheOutcome, all_served, check_sizes


class CompiledHiCache:
    """`HiCache` for large logs.

    Grows to 8 bytes a run of consecutive keys, of which a request has a handful, and about 220
    bytes a node that was ever made, of which there are at most six a request, and mostly two; with
    storage by 13 bytes a distinct page, also of generated tokens that the log does not hold.
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
        storage: Tier | None = None,
        policy: str = "lru",
        fetch_tokens: int = FETCH_TOKENS,
    ) -> None:
        """Take what the reference takes; of the storage, which is empty, only its size."""
        check_sizes(capacity_tokens, page_size)
        counted = counted_with_host(rules, host_rules, write)
        capacity_pages = None if capacity_tokens is None else capacity_tokens // page_size
        self.page_size = page_size
        self._by_priority = policy == "priority"
        self._rules = rules
        self._host_pages, self._storage = host_pages, storage
        self._hi = empty_hitree()
        self._pool = np.zeros(3, np.int64)  # used pages, most ever used, evicted for this request
        self._numbers = PageNumbers()
        fetches = storage is not None and may_fetch(
            host_rules, capacity_pages=capacity_pages, host_pages=host_pages, page_size=page_size
        )
        self._settings = Settings(
            capacity=_or_unbounded(capacity_pages),
            page_size=page_size,
            keeps_output=rules.kept is Kept.ALL,
            evicts_shortfall=rules.evicts_shortfall,
            counts=counted is not Counted.NEVER,
            counts_once=counted is Counted.ONCE,
            parts_output=rules.parts_output,
            tree=_tree_rules(
                rules,
                host_rules,
                policy=KEEP_ALL if capacity_tokens is None else POLICIES[policy],
                host_pages=host_pages,
                storage=storage,
                write=write,
            ),
            storage=_fetch_rules(
                host_rules, asks=fetches, least_pages=-(-fetch_tokens // page_size)
            ),
        )
        self.moved_tokens: NDArray[np.int64] = np.empty((1 + (storage is not None), 0), np.int64)
        """Tokens copied down, shape (tiers, requests of the last batch)."""

    @property
    def lower_tiers(self) -> list[TierState]:
        """Return the host, and the storage where there is one."""
        host = TierState(self._host_pages, int(self._hi.host[HOST_PEAK]))
        if self._storage is None:
            return [host]
        peak = int(self._hi.storage.totals[STORAGE_PEAK])
        return [host, TierState(self._storage.capacity_blocks, peak)]

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        requests = len(prompts.prompt_tokens)
        work, paths, keys = self._work(prompts, blocks)
        answer = answer_for(requests)
        below = np.zeros((4, requests), np.int64)
        longest = int(work.known.max(initial=0))
        done = 0
        while done < requests:
            self._hi = with_room(self._hi, keys, requests - done, longest, self._settings.tree)
            done = serve_from(
                done, self._hi, self._pool, work, paths, self._settings, answer, below
            )
        tiers = len(self.moved_tokens)
        hits, self.moved_tokens = below[:tiers], below[2 : 2 + tiers] * self.page_size
        pages = np.vstack([answer.hit_pages - hits.sum(axis=0), hits])
        return outcome_of(answer, self.page_size, int(self._pool[PEAK]), pages * self.page_size)

    def _work(self, prompts: PromptBatch, blocks: BlockBatch) -> tuple[Work, Paths, int]:
        """Return what the batch asks, its pages, and above all their keys with storage."""
        work = work_of(
            prompts,
            blocks,
            all_served(prompts),
            page_size=self.page_size,
            rules=self._rules,
            by_priority=self._by_priority,
        )
        keys, starts, count = np.empty(0, np.int32), np.zeros_like(work.known), 0
        if self._storage is not None:
            pages = np.maximum((work.tokens + work.outputs) // self.page_size, work.known)
            numbers, count = self._numbers.number(blocks, work.known, pages)
            keys, starts = keys_of_runs(numbers), offsets_of(pages)
            work = work._replace(runs=numbers, known=pages)
        tree, runs = with_paths(self._hi.tree, work.runs, work.known)
        self._hi = self._hi._replace(tree=tree)
        return work, Paths(runs, keys, starts), count


def _tree_rules(
    rules: Rules,
    host_rules: HostRules,
    *,
    policy: int,
    host_pages: int | None,
    storage: Tier | None,
    write: WritePolicy,
) -> HiRules:
    writes_back = write is WritePolicy.BACK
    storage_pages = NO_STORAGE
    if storage is not None:
        storage_pages = _or_unbounded(storage.capacity_blocks)
    return HiRules(
        policy=policy,
        keeps_age=rules.split_keeps_age,
        host_pages=_or_unbounded(host_pages),
        storage_pages=storage_pages,
        hits_to_write=HITS_TO_WRITE.get(write, UNBOUNDED),
        writes_back=writes_back,
        orders_copies=writes_back and host_rules.unified,
        unified=host_rules.unified,
        needs_parent=host_rules.needs_parent,
        finds_orphans=host_rules.finds_orphans,
    )


def _fetch_rules(host_rules: HostRules, *, asks: bool, least_pages: int) -> FetchRules:
    return FetchRules(
        asks=asks,
        least_pages=least_pages,
        asks_whole_prompt=host_rules.asks_whole_prompt,
        reserves_ahead=host_rules.reserves_ahead,
        fetches_part=host_rules.fetches_part,
    )


def _or_unbounded(pages: int | None) -> int:
    return UNBOUNDED if pages is None else pages
