"""One request after the other through HiCache's device and host, compiled.

`kvaudit.replay.models.hicache` is what it must equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import compiled, inner
from kvaudit.replay.kernels.hicache_eviction import evict, offer_node
from kvaudit.replay.kernels.hicache_fetch import FetchRules, fetch
from kvaudit.replay.kernels.hicache_links import note_copy
from kvaudit.replay.kernels.hicache_state import (
    COPIED,
    STORED,
    HiPath,
    HiRules,
    HiTree,
    Paths,
    has_room,
)
from kvaudit.replay.kernels.hicache_tree import bring_up, insert, match
from kvaudit.replay.kernels.radix_nodes import LENGTH, PARENT
from kvaudit.replay.kernels.radix_tree import EVICTABLE, HELD, hold, let_go
from kvaudit.replay.kernels.sglang_work import Answer, Work
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
    storage: FetchRules


@compiled
def serve_from(
    first: int,
    hi: HiTree,
    pool: NDArray[np.int64],
    work: Work,
    paths: Paths,
    settings: Settings,
    answer: Answer,
    below: NDArray[np.int64],
) -> int:
    """Serve requests as long as there is room for what they offer; return the next one.

    The rows of ``below`` are pages that hit on the host and in storage, and pages copied there.
    """
    for request in range(first, len(work.tokens)):
        if not has_room(hi):
            return request
        start, known = paths.starts[request], work.known[request]
        path = HiPath(paths.runs[request], known, paths.keys[start : start + known])
        copied, stored = hi.host[COPIED], hi.host[STORED]
        pool[EVICTED] = 0
        _serve(hi, pool, path, work, settings, answer, below[:, request], request)
        below[2, request] = hi.host[COPIED] - copied
        below[3, request] = hi.host[STORED] - stored
        answer.held_pages[request] = hi.tree.totals[HELD]
    return len(work.tokens)


@inner
def _serve(
    hi: HiTree,
    pool: NDArray[np.int64],
    path: HiPath,
    work: Work,
    settings: Settings,
    answer: Answer,
    below: NDArray[np.int64],
    request: int,
) -> None:
    """Run one request to its end; the rules are told of in the reference."""
    size, rules = settings.page_size, settings.tree
    tokens, priority = work.tokens[request], work.priority[request]
    reusable = min((tokens - 1) // size, path.pages)
    found, node, deepest, _ = match(hi, path, reusable, rules)
    own_end = -(-tokens // size)
    spare = 1 if size > 1 else 0
    hold(hi.tree, node)
    if own_end - found + spare > settings.capacity - pool[USED] + hi.tree.totals[EVICTABLE]:
        _release(hi, node, rules)
        answer.admitted[request] = False
        return
    prompt_pages = tokens // size
    asked = min(prompt_pages, path.pages)
    fetched, deepest = fetch(hi, path, asked, reusable, deepest, rules, settings.storage)
    loaded, node = _load_back(hi, pool, settings, node, deepest, own_end - found)
    below[0], below[1] = max(0, loaded - fetched), min(loaded, fetched)
    own_start = hits = found + loaded
    counted_from = 0 if settings.counts else -1
    if work.outputs[request] > 1:
        known, longer = insert(hi, path, prompt_pages, priority, counted_from, rules)
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
    known, _ = insert(hi, path, kept, priority, counted_from, rules)
    if settings.parts_output and 0 < prompt_pages < kept:
        insert(hi, path, prompt_pages, priority + 1, -1, rules)
    pool[USED] -= max(0, known - own_start) + own_end - kept
    _release(hi, node, rules)
    answer.hit_pages[request] = hits
    answer.evicted_pages[request] = pool[EVICTED]


@inner
def _load_back(
    hi: HiTree, pool: NDArray[np.int64], settings: Settings, node: int, deepest: int, missing: int
) -> tuple[int, int]:
    """Take room for a prompt that misses pages after ``node``, which is held.

    What the host has of them, up to ``deepest``, is loaded back if it is worth it and fits.
    Returns how many pages were, and the last node on the device, which is held.
    """
    tree, rules = hi.tree, settings.tree
    spare = 1 if settings.page_size > 1 else 0
    pages, above = 0, deepest
    while above != node:
        pages += tree.nodes[above, LENGTH]
        above = tree.nodes[above, PARENT]
    if pages * settings.page_size < LOAD_BACK_TOKENS:
        _take(hi, pool, settings, missing, missing + spare)
        return 0, node
    _keep_on_host(hi, node, deepest, True)
    loaded = 0
    lacking = pages - (settings.capacity - pool[USED])
    if lacking > 0:
        lacking -= _evict(hi, pool, lacking if rules.unified else pages, settings)
    if lacking <= 0:
        loaded = pages
        _bring_up_to(hi, node, deepest)
        pool[USED] += pages
        hold(tree, deepest)
        _release(hi, node, rules)
    _take(hi, pool, settings, missing - loaded, missing - loaded + spare)
    _keep_on_host(hi, node, deepest, False)
    above = deepest
    while above != node:
        offer_node(hi, above, rules)
        if loaded > 0 and rules.orders_copies:
            note_copy(hi, above)
        above = tree.nodes[above, PARENT]
    return loaded, deepest if loaded > 0 else node


@inner
def _keep_on_host(hi: HiTree, node: int, deepest: int, kept: bool) -> None:
    """Keep what stands after ``node``, up to ``deepest``, on the host meanwhile, or no longer."""
    while deepest != node:
        hi.kept[deepest] = kept
        deepest = hi.tree.nodes[deepest, PARENT]


@inner
def _bring_up_to(hi: HiTree, node: int, deepest: int) -> None:
    """Put what stands after ``node``, up to ``deepest``, on the device again."""
    while deepest != node:
        bring_up(hi, deepest)
        deepest = hi.tree.nodes[deepest, PARENT]


@inner
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


@inner
def _release(hi: HiTree, node: int, rules: HiRules) -> None:
    let_go(hi.tree, node)
    offer_node(hi, node, rules)


@inner
def _take(hi: HiTree, pool: NDArray[np.int64], settings: Settings, pages: int, asked: int) -> None:
    """Use so many pages of the pool, after evicting until ``asked`` are free."""
    missing = asked - (settings.capacity - pool[USED])
    if missing > 0:
        _evict(hi, pool, missing if settings.evicts_shortfall else asked, settings)
    pool[USED] += pages
    pool[PEAK] = max(pool[PEAK], pool[USED])


@inner
def _evict(hi: HiTree, pool: NDArray[np.int64], pages: int, settings: Settings) -> int:
    freed = evict(hi, pages, settings.tree)
    pool[USED] -= freed
    pool[EVICTED] += freed
    return int(freed)
