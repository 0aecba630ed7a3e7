"""One request after the other through HiCache's device and host, compiled.

`kvaudit.replay.models.hicache` is what it must equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.hicache_eviction import evict, offer_node
from kvaudit.replay.kernels.hicache_state import COPIED, HiRules, HiTree, has_room
from kvaudit.replay.kernels.hicache_tree import bring_up, insert, match
from kvaudit.replay.kernels.radix_tree import EVICTABLE, HELD, held_prefix, hold, let_go
from kvaudit.replay.kernels.sglang import Answer, Work
from kvaudit.replay.models.hicache_releases import LOAD_BACK_TOKENS

USED, PEAK, EVICTED = range(3)
"""Places in ``pool``: pages in use, the most ever, those evicted for the request that is served."""


class Settings(NamedTuple):
    """What the release does with a request, and the sizes."""

    capacity: int
    """In pages."""
    page_size: int
    keeps_output: bool
    evicts_shortfall: bool
    counts: bool
    counts_once: bool
    parts_output: bool
    tree: HiRules


@compiled
def serve_from(
    first: int,
    hi: HiTree,
    pool: NDArray[np.int64],
    work: Work,
    settings: Settings,
    answer: Answer,
    below: NDArray[np.int64],
) -> int:
    """Serve requests as long as there is room for what they offer; return the next one."""
    for request in range(first, len(work.tokens)):
        if not has_room(hi):
            return request
        start = work.starts[request]
        keys = work.keys[start : start + work.known[request]]
        if work.served[request]:
            copied = hi.host[COPIED]
            pool[EVICTED] = 0
            _serve(hi, pool, keys, work, settings, answer, below, request)
            below[1, request] = hi.host[COPIED] - copied
        else:
            reusable = (work.tokens[request] - 1) // settings.page_size
            answer.hit_pages[request] = held_prefix(hi.tree, keys, min(reusable, len(keys)))
        answer.held_pages[request] = hi.tree.totals[HELD]
    return len(work.tokens)


@compiled
def _serve(
    hi: HiTree,
    pool: NDArray[np.int64],
    keys: NDArray[np.int32],
    work: Work,
    settings: Settings,
    answer: Answer,
    below: NDArray[np.int64],
    request: int,
) -> None:
    """Run one request to its end; the rules are told of in the reference."""
    size, rules = settings.page_size, settings.tree
    tokens, priority = work.tokens[request], work.priority[request]
    found, node, deepest = match(hi, keys, min((tokens - 1) // size, len(keys)), rules)
    own_end = -(-tokens // size)
    spare = 1 if size > 1 else 0
    hold(hi.tree, node)
    if own_end - found + spare > settings.capacity - pool[USED] + hi.tree.totals[EVICTABLE]:
        _release(hi, node, rules)
        answer.admitted[request] = False
        return
    below[0, request], node = _load_back(hi, pool, settings, node, deepest)
    hits = found + below[0, request]
    _take(hi, pool, settings, own_end - hits, own_end - hits + spare)
    own_start, prompt_pages = hits, tokens // size
    counted_from = 0 if settings.counts else -1
    if work.outputs[request] > 1:
        known, longer = insert(hi, keys, prompt_pages, priority, counted_from, rules)
        pool[USED] -= max(0, known - own_start)
        own_start = prompt_pages
        if settings.counts_once:
            counted_from = prompt_pages
        hold(hi.tree, longer)
        _release(hi, node, rules)
        node = longer
    computed = tokens + max(work.outputs[request] - work.uncomputed[request], 0)
    own_end, computed = _decode(hi, pool, settings, tokens, own_end, computed)
    kept = (computed if settings.keeps_output else tokens) // size
    known, _ = insert(hi, keys, kept, priority, counted_from, rules)
    if settings.parts_output and 0 < prompt_pages < kept:
        insert(hi, keys, prompt_pages, priority + 1, -1, rules)
    pool[USED] -= max(0, known - own_start) + own_end - kept
    _release(hi, node, rules)
    answer.hit_pages[request] = hits
    answer.evicted_pages[request] = pool[EVICTED]


@compiled
def _load_back(
    hi: HiTree, pool: NDArray[np.int64], settings: Settings, node: int, deepest: int
) -> tuple[int, int]:
    """Load back what follows ``node`` on the host, up to ``deepest``, if it is worth it and fits.

    Returns the pages that were loaded, and the last node on the device, which is held.
    """
    tree, rules = hi.tree, settings.tree
    pages = 0
    above = deepest
    while above != node:
        pages += tree.length[above]
        above = tree.parent[above]
    if pages * settings.page_size < LOAD_BACK_TOKENS:
        return 0, node
    missing = pages - (settings.capacity - pool[USED])
    if missing > 0:
        missing -= _evict(hi, pool, missing if rules.unified else pages, settings)
    if missing > 0:
        return 0, node
    above = deepest
    while above != node:
        bring_up(hi, above)
        above = tree.parent[above]
    pool[USED] += pages
    hold(tree, deepest)
    _release(hi, node, rules)
    return pages, deepest


@compiled
def _decode(
    hi: HiTree,
    pool: NDArray[np.int64],
    settings: Settings,
    tokens: int,
    own_end: int,
    computed: int,
) -> tuple[int, int]:
    """Take pages until ``computed`` tokens have KV; return their end, and how many tokens do."""
    size = settings.page_size
    if tokens < min(computed, own_end * size):
        _take(hi, pool, settings, 0, 1)
    while own_end * size < computed:
        free = settings.capacity - pool[USED]
        if free + hi.tree.totals[EVICTABLE] < 1:
            computed = own_end * size
            break
        # Page after page, but those that need no eviction at once.
        pages = max(1, min(free, -(-computed // size) - own_end))
        _take(hi, pool, settings, pages, pages)
        own_end += pages
        if (own_end - 1) * size + 1 < min(computed, own_end * size):
            _take(hi, pool, settings, 0, 1)
    return own_end, computed


@compiled
def _release(hi: HiTree, node: int, rules: HiRules) -> None:
    let_go(hi.tree, node)
    offer_node(hi, node, rules)


@compiled
def _take(hi: HiTree, pool: NDArray[np.int64], settings: Settings, pages: int, asked: int) -> None:
    """Use so many pages of the pool, after evicting until ``asked`` are free."""
    missing = asked - (settings.capacity - pool[USED])
    if missing > 0:
        _evict(hi, pool, missing if settings.evicts_shortfall else asked, settings)
    pool[USED] += pages
    pool[PEAK] = max(pool[PEAK], pool[USED])


@compiled
def _evict(hi: HiTree, pool: NDArray[np.int64], pages: int, settings: Settings) -> int:
    freed = evict(hi, pages, settings.tree)
    pool[USED] -= freed
    pool[EVICTED] += freed
    return int(freed)
