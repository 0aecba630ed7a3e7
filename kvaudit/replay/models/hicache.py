"""SGLang's pool with HiCache's host tier below it, one request at a time.

Read from SGLang 0.5.4 to 0.5.23, ``managers/schedule_policy.py`` (``add_one_req``) and
``mem_cache/hiradix_cache.py``, since 0.5.19 ``unified_radix_cache.py`` (``load_back``). A copy to
the host is done before the next request comes, and one from the host before its prefill.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.models.hicache_pool import HostPool
from kvaudit.replay.models.hicache_releases import FETCH_TOKENS, LOAD_BACK_TOKENS, HostRules
from kvaudit.replay.models.hiradix import HiRadixTree
from kvaudit.replay.models.radix import PAGE, Node, path_up
from kvaudit.replay.models.sglang import Prompt, SglangCache
from kvaudit.replay.models.sglang_releases import Counted, Rules
from kvaudit.replay.models.tiers import Sized, Tier, TierState, WritePolicy
from kvaudit.replay.outcomes import CacheOutcome


class HiCache(SglangCache):
    """One engine instance; ``capacity_tokens`` and ``host_pages`` None never evict."""

    tree: HiRadixTree

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
        """Take the pools, what the release does, and when nodes are copied down.

        Fewer than ``fetch_tokens`` are not fetched from storage.
        """
        super().__init__(
            capacity_tokens=capacity_tokens,
            page_size=page_size,
            rules=rules._replace(counted=counted_with_host(rules, host_rules, write)),
            policy=policy,
        )
        self.host_rules = host_rules
        self._fetch_tokens = fetch_tokens
        self._may_fetch = may_fetch(
            host_rules,
            capacity_pages=self.capacity_pages,
            host_pages=host_pages,
            page_size=page_size,
        )
        self.host = HostPool(host_pages, storage)
        self.tree = HiRadixTree(
            policy,
            split_keeps_age=rules.split_keeps_age,
            host=self.host,
            write=write,
            rules=host_rules,
        )
        self.moved_tokens: NDArray[np.int64] = np.empty((0, 0), np.int64)
        """Tokens copied down, shape (tiers, requests of the last batch)."""
        self._below: list[tuple[int, int, int, int]] = []
        """By request of the batch: hits of host and storage, pages copied there."""
        self._found = 0, 0

    @property
    def lower_tiers(self) -> Sequence[Sized]:
        """Return the host, and the storage where there is one."""
        host = TierState(self.host.capacity_pages, self.host.peak)
        return [host] if self.host.storage is None else [host, self.host.storage]

    def held_keys(self) -> list[int]:
        """Return the keys of all pages on the device; negative ones are of unknown text."""
        return self._keys(node for node in self.tree.nodes() if node.on_device)

    def held_below(self) -> list[Collection[int]]:
        """Return the keys of all pages on the host, and in storage where there is one."""
        host = self._keys(node for node in self.tree.nodes() if node.on_host)
        return [host] if self.host.storage is None else [host, self.host.storage.held]

    @property
    def storage(self) -> Tier | None:
        """Return the last tier, if it is not the host."""
        return self.host.storage

    @staticmethod
    def _keys(nodes: Iterable[Node]) -> list[int]:
        return [key for node in nodes for key in memoryview(node.pages).cast("i")]

    def replay_some(
        self, prompts: PromptBatch, blocks: BlockBatch, served: NDArray[np.bool_]
    ) -> CacheOutcome:
        """Serve the batch's requests one after the other.

        None is only looked at: that is for replicas, which have no tiers below them.
        """
        assert served.all()
        self._below = []
        outcome = super().replay_some(prompts, blocks, served)
        tiers = 1 if self.host.storage is None else 2
        below = np.array(self._below, np.int64).reshape(-1, 4).T
        hits, self.moved_tokens = below[:tiers], below[2 : 2 + tiers] * self.page_size
        pages = np.vstack([outcome.hit_blocks - hits.sum(axis=0), hits])
        return replace(outcome, tier_tokens=pages * self.page_size)

    def _serve(
        self, path: bytes, tokens: int, outputs: int, computed: int, priority: int
    ) -> tuple[int, bool, int, int]:
        copied, stored = self.host.copied_pages, self.host.stored_pages
        self._found = 0, 0
        served = super()._serve(path, tokens, outputs, computed, priority)
        moved = self.host.copied_pages - copied, self.host.stored_pages - stored
        self._below.append((*self._found, *moved))
        return served

    def _begin(self, prompt: Prompt, hits: int, node: Node) -> tuple[int, Node]:
        """Fetch from storage, load back what follows on the host, and take room for the rest."""
        tree = self.tree
        fetched = self._fetch(prompt)
        chain = tree.chain_on_host()
        pages = sum(len(below.pages) // PAGE for below in chain)
        if pages * self.page_size < LOAD_BACK_TOKENS:
            return super()._begin(prompt, hits, node)
        with tree.kept_on_host(chain):
            if self._make_room_for(pages):
                tree.load_back(chain)
                self.used_pages += pages
                self._found = max(0, pages - fetched), min(pages, fetched)
                tree.hold(chain[0])
                tree.release(node)
                hits, node = hits + pages, chain[0]
            begun = super()._begin(prompt, hits, node)
        tree.note_copies(chain if sum(self._found) else [])
        return begun

    def _fetch(self, prompt: Prompt) -> int:
        """Put on the host what storage has of the pages after the last match; return how many.

        The scheduler asks for them when the request arrives (``_prefetch_kvcache``), and here it
        waits until they are there.
        """
        tree, rules, storage = self.tree, self.host_rules, self.host.storage
        last = tree.deepest
        known = sum(len(node.pages) for node in path_up(last))
        end = len(prompt.path) if rules.asks_whole_prompt else prompt.reusable * PAGE
        asked = memoryview(prompt.path[known:end]).cast("i").tolist()
        if storage is None or not self._is_worth_fetching(asked) or not self._may_fetch:
            return 0
        with tree.kept_on_host([last]):
            if rules.reserves_ahead:
                asked = self._with_room(asked)
            if not (last is tree.root or last.on_host):
                return 0  # its pages are looked up under a key that nothing was stored by
            found = list(takewhile(storage.held.__contains__, asked))
            if not self._is_worth_fetching(found):
                return 0
            storage.touch(found)
            fetched = self._put_on_host(prompt.path, known, len(self._with_room(found)))
        tree.match(prompt.path[: prompt.reusable * PAGE])
        return fetched

    def _put_on_host(self, path: bytes, known: int, pages: int) -> int:
        """Hold pages that were fetched; return how many of them were new."""
        tree = self.tree
        end = known + pages * PAGE
        tree.match(path[:end])
        held = sum(len(node.pages) for node in path_up(tree.deepest))
        if held >= end:
            return 0
        tree.put_on_host(tree.deepest, path[held:end])
        return (end - held) // PAGE

    def _is_worth_fetching(self, pages: Sequence[int]) -> bool:
        return len(pages) * self.page_size >= self._fetch_tokens

    def _with_room(self, pages: list[int]) -> list[int]:
        """Return those that the host has room for, once that is made; none if they are too few."""
        if self.tree.make_room_on_host(len(pages)):
            return pages
        part = pages[: self.host.free]
        return part if self.host_rules.fetches_part and self._is_worth_fetching(part) else []

    def _make_room_for(self, pages: int) -> bool:
        """Evict for what is loaded back; return whether it fits then (``load_back``)."""
        if self.capacity_pages is None:
            return True
        missing = pages - (self.capacity_pages - self.used_pages)
        if missing > 0:
            freed = self.tree.evict(missing if self.host_rules.unified else pages)
            self.used_pages -= freed
            self._evicted_pages += freed
            missing -= freed
        return missing <= 0


def counted_with_host(rules: Rules, host_rules: HostRules, write: WritePolicy) -> Counted:
    """_inc_hit_count: the tree with a host tier counts in all releases, but not to write back."""
    if write is WritePolicy.BACK:
        return Counted.NEVER
    return rules.counted if host_rules.unified else Counted.EACH_INSERT


def may_fetch(
    host_rules: HostRules, *, capacity_pages: int | None, host_pages: int | None, page_size: int
) -> bool:
    """Whether storage is asked at all (``prefetch_capacity_limit``)."""
    if not host_rules.fetches_into_spare_host or host_pages is None:
        return True
    if capacity_pages is None:
        return False
    return int(0.8 * (host_pages - capacity_pages) * page_size) > 0
