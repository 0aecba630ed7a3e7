"""SGLang's pool, compiled; `kvaudit.replay.models.sglang` is what it must equal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.kernels.compiled import compiled, inner
from kvaudit.replay.kernels.key_paths import Path
from kvaudit.replay.kernels.radix_ranks import KEEP_ALL, POLICIES
from kvaudit.replay.kernels.radix_tree import (
    EVICTABLE,
    HELD,
    Tree,
    empty_tree,
    evict,
    held_prefix,
    hold,
    insert,
    match,
    release,
    with_paths,
    with_room,
)
from kvaudit.replay.kernels.sglang_work import (
    UNBOUNDED,
    Answer,
    Work,
    answer_for,
    outcome_of,
    work_of,
)
from kvaudit.replay.models.sglang_pairs import PairPages
from kvaudit.replay.models.sglang_releases import Counted, Kept, Rules
from kvaudit.replay.outcomes import CacheOutcome, all_served, check_sizes

_USED, _PEAK = range(2)


class _Settings(NamedTuple):
    capacity: int
    """In pages."""
    page_size: int
    policy: int
    keeps_age: bool
    keeps_output: bool
    evicts_shortfall: bool
    counts: bool
    counts_once: bool
    parts_output: bool
    unpaired: int
    """Tokens of a text that the tree leaves out."""


class CompiledSglangCache:
    """`SglangCache` for large logs.

    Grows to 8 bytes a run of consecutive keys, of which a request has a handful, and about 150
    bytes a node that was ever made, of which there are at most six a request, and mostly two.
    """

    def __init__(
        self,
        *,
        capacity_tokens: int | None,
        page_size: int,
        rules: Rules,
        policy: str = "lru",
        eagle: bool = False,
    ) -> None:
        """Take what the reference takes."""
        check_sizes(capacity_tokens, page_size)
        bounded = capacity_tokens is not None
        self.page_size = page_size
        self._by_priority = policy == "priority"
        self._rules = rules
        self._pairs = PairPages(page_size) if eagle else None
        self._tree = empty_tree()
        self._pool = np.zeros(2, np.int64)  # used pages, most ever used
        self._settings = _Settings(
            capacity=capacity_tokens // page_size if capacity_tokens is not None else UNBOUNDED,
            page_size=page_size,
            policy=POLICIES[policy] if bounded else KEEP_ALL,
            keeps_age=rules.split_keeps_age,
            keeps_output=rules.kept is Kept.ALL,
            evicts_shortfall=rules.evicts_shortfall,
            counts=rules.counted is not Counted.NEVER,
            counts_once=rules.counted is Counted.ONCE,
            parts_output=rules.parts_output,
            unpaired=int(eagle),
        )

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
            pairs=self._pairs,
        )
        answer = answer_for(requests)
        tree, runs = with_paths(self._tree, work.runs, work.known)
        self._tree = with_room(tree, requests)
        _serve_all(self._tree, self._pool, runs, work, self._settings, answer)
        return outcome_of(answer, self.page_size, int(self._pool[_PEAK]))


@compiled
def _serve_all(
    tree: Tree,
    pool: NDArray[np.int64],
    runs: NDArray[np.int64],
    work: Work,
    settings: _Settings,
    answer: Answer,
) -> None:
    """Serve the batch's requests; ``runs`` says where those of each begin."""
    for request in range(len(work.tokens)):
        path = Path(runs[request], work.known[request])
        if work.served[request]:
            _serve(tree, pool, path, work, settings, answer, request)
        else:
            reusable = _kept(settings, work.tokens[request] - 1)
            answer.hit_pages[request] = held_prefix(tree, path, min(reusable, path.pages))
        answer.held_pages[request] = tree.totals[HELD]


@inner
def _serve(
    tree: Tree,
    pool: NDArray[np.int64],
    path: Path,
    work: Work,
    settings: _Settings,
    answer: Answer,
    request: int,
) -> None:
    """Run one request to its end; the rules are told of in the reference."""
    size, policy, keeps_age = settings.page_size, settings.policy, settings.keeps_age
    tokens, outputs = work.tokens[request], work.outputs[request]
    priority = work.priority[request]
    reusable = min(_kept(settings, tokens - 1), path.pages)
    found, node = match(tree, path, reusable, policy, keeps_age)
    hits = found.page
    own_end = -(-tokens // size)
    asked = own_end - hits + (1 if size > 1 else 0)
    hold(tree, node)
    if asked > settings.capacity - pool[_USED] + tree.totals[EVICTABLE]:
        release(tree, node, policy)
        answer.admitted[request] = False
        return
    evicted = _take(tree, pool, settings, own_end - hits, asked)
    own_start = hits
    prompt_pages = _kept(settings, tokens)
    counted_from = 0 if settings.counts else -1
    if outputs > 1:
        known, longer = insert(tree, path, prompt_pages, priority, counted_from, policy, keeps_age)
        pool[_USED] -= max(0, known - own_start)
        own_start = prompt_pages
        if settings.counts_once:
            counted_from = prompt_pages
        hold(tree, longer)
        release(tree, node, policy)
        node = longer
    computed = tokens + max(outputs - work.uncomputed[request], 0)
    computed, own_end, for_output = _decode(tree, pool, settings, tokens, own_end, computed)
    kept = _kept(settings, computed if settings.keeps_output else tokens)
    known, _ = insert(tree, path, kept, priority, counted_from, policy, keeps_age)
    if settings.parts_output and 0 < prompt_pages < kept:
        insert(tree, path, prompt_pages, priority + 1, -1, policy, keeps_age)
    pool[_USED] -= max(0, known - own_start) + own_end - kept
    release(tree, node, policy)
    answer.hit_pages[request] = hits
    answer.evicted_pages[request] = evicted + for_output


@inner
def _decode(
    tree: Tree,
    pool: NDArray[np.int64],
    settings: _Settings,
    tokens: int,
    own_end: int,
    computed: int,
) -> tuple[int, int, int]:
    """Go on from a prompt to ``computed`` tokens, or as far as there is room.

    Returns the tokens computed in the end, the pages they take, and how many were evicted.
    """
    size, evicted = settings.page_size, 0
    if tokens < min(computed, own_end * size):
        evicted += _take(tree, pool, settings, 0, 1)
    while own_end * size < computed:
        free = settings.capacity - pool[_USED]
        if free + tree.totals[EVICTABLE] < 1:
            computed = own_end * size
            break
        # Page after page, but those that need no eviction at once.
        pages = max(1, min(free, -(-computed // size) - own_end))
        evicted += _take(tree, pool, settings, pages, pages)
        own_end += pages
        if (own_end - 1) * size + 1 < min(computed, own_end * size):
            evicted += _take(tree, pool, settings, 0, 1)
    return computed, own_end, evicted


@inner
def _kept(settings: _Settings, tokens: int) -> int:
    """Return the pages that the tree takes of so many tokens."""
    return int(max(tokens - settings.unpaired, 0) // settings.page_size)


@inner
def _take(tree: Tree, pool: NDArray[np.int64], settings: _Settings, pages: int, asked: int) -> int:
    """Use so many pages of the pool, after evicting until ``asked`` are free."""
    evicted = 0
    missing = asked - (settings.capacity - pool[_USED])
    if missing > 0:
        evicted = evict(tree, missing if settings.evicts_shortfall else asked, settings.policy)
        pool[_USED] -= evicted
    pool[_USED] += pages
    pool[_PEAK] = max(pool[_PEAK], pool[_USED])
    return evicted
