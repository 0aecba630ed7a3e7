"""What leaves the device and the host in HiCache's tree, and what is copied; compiled.

`kvaudit.replay.models.hiradix` is what it must equal.
"""

from __future__ import annotations

from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.eviction_queue import NOBODY, offer, take
from kvaudit.replay.kernels.hicache_state import (
    COPIED,
    GONE,
    HOST_PEAK,
    HOST_USED,
    HiRules,
    HiTree,
)
from kvaudit.replay.kernels.radix_tree import EVICTABLE, HELD, KEEP_ALL, ROOT, rank


@compiled
def write_down(hi: HiTree, node: int, rules: HiRules) -> None:
    """Copy a node that was used often enough to the host, with what must stand there before it."""
    tree = hi.tree
    if not rules.unified:
        parent = tree.parent[node]
        if not rules.needs_parent or parent == ROOT or hi.on_host[parent]:
            _copy(hi, node, rules)
        return
    while not hi.on_host[node]:
        first = above = node
        while above != ROOT:
            if not hi.on_host[above]:
                first = above
            above = tree.parent[above]
        if not _copy(hi, first, rules):
            break


@compiled
def _copy(hi: HiTree, node: int, rules: HiRules) -> bool:
    """Copy a node to the host, if room can be made for it."""
    pages, host = hi.tree.length[node], hi.host
    missing = host[HOST_USED] + pages - rules.host_pages
    if missing > 0:
        _evict_host(hi, missing if rules.unified else pages, rules)
        if host[HOST_USED] + pages > rules.host_pages:
            return False
    hi.on_host[node] = True
    host[HOST_USED] += pages
    host[HOST_PEAK] = max(host[HOST_PEAK], host[HOST_USED])
    host[COPIED] += pages
    return True


@compiled
def _evict_host(hi: HiTree, pages: int, rules: HiRules) -> None:
    """Drop leaves that are on the host only."""
    tree, queue = hi.tree, hi.host_queue
    freed = 0
    while freed < pages and queue.size[0] > 0:
        leaf, first, second = take(queue)
        if leaf == NOBODY or not _is_free_host_leaf(hi, leaf, rules):
            continue
        now_first, now_second = rank(tree, leaf, rules.policy)
        if now_first != first or now_second != second:
            offer(queue, leaf, now_first, now_second)
            continue
        freed += tree.length[leaf]
        hi.on_host[leaf] = False
        hi.host[HOST_USED] -= tree.length[leaf]
        _cut_off(hi, leaf, rules)


@compiled
def evict(hi: HiTree, pages: int, rules: HiRules) -> int:
    """Take whole leaves off the device until ``pages`` are free there; return how many are."""
    tree, queue = hi.tree, hi.tree.queue
    freed = 0
    while freed < pages and queue.size[0] > 0:
        leaf, first, second = take(queue)
        if leaf == NOBODY or tree.parent[leaf] == GONE or not hi.on_device[leaf]:
            continue
        if tree.users[leaf] > 0 or hi.device_children[leaf] > 0:
            continue
        now_first, now_second = rank(tree, leaf, rules.policy)
        if now_first != first or now_second != second:
            offer(queue, leaf, now_first, now_second)
            continue
        freed += tree.length[leaf]
        hi.on_device[leaf] = False
        hi.device_children[tree.parent[leaf]] -= 1
        if hi.on_host[leaf]:
            offer_node(hi, leaf, rules)
            offer_node(hi, tree.parent[leaf], rules)
        else:
            _cut_off(hi, leaf, rules)
    tree.totals[EVICTABLE] -= freed
    tree.totals[HELD] -= freed
    return freed


@compiled
def _cut_off(hi: HiTree, node: int, rules: HiRules) -> None:
    parent = hi.tree.parent[node]
    hi.tree.children[parent] -= 1
    hi.tree.parent[node] = GONE
    offer_node(hi, parent, rules)


@compiled
def offer_node(hi: HiTree, node: int, rules: HiRules) -> None:
    """Name a node as one that may be evicted, from the device or from the host."""
    # Most may not, so that is asked before anything is called: a call with all of the tree counts
    # the references of 25 arrays.
    tree = hi.tree
    if node == ROOT or tree.parent[node] == GONE:
        return
    if not hi.on_device[node]:
        if tree.children[node] == 0:
            offer_host(hi, node, rules)
    elif rules.policy != KEEP_ALL and tree.users[node] == 0 and hi.device_children[node] == 0:
        first, second = rank(tree, node, rules.policy)
        offer(tree.queue, node, first, second)


@compiled
def offer_host(hi: HiTree, node: int, rules: HiRules) -> None:
    """Name a node as one that may leave the host, if it stands there alone and ends there."""
    if _is_free_host_leaf(hi, node, rules):
        first, second = rank(hi.tree, node, rules.policy)
        offer(hi.host_queue, node, first, second)


@compiled
def _is_free_host_leaf(hi: HiTree, node: int, rules: HiRules) -> bool:
    tree = hi.tree
    if hi.on_device[node] or not hi.on_host[node] or tree.children[node] > 0:
        return False
    above = tree.parent[node]
    # Where orphans are lost sight of, all that stands below a node goes with it.
    while not rules.finds_orphans and above != ROOT and above != GONE:
        above = tree.parent[above]
    return bool(above != GONE)
