"""What leaves the device and the host in HiCache's tree, and what is copied; compiled.

`kvaudit.replay.models.hiradix` is what it must equal.
"""

from __future__ import annotations

from kvaudit.replay.kernels.compiled import inner
from kvaudit.replay.kernels.eviction_queue import NOBODY, offer, take
from kvaudit.replay.kernels.hicache_links import (
    drop_below,
    drop_copies,
    note_copy,
    unlink,
)
from kvaudit.replay.kernels.hicache_state import (
    COPIED,
    GONE,
    HOST_USED,
    NO_STORAGE,
    STAGED_BEFORE,
    STORED,
    HiRules,
    HiTree,
    leave_host,
    take_room,
)
from kvaudit.replay.kernels.radix_nodes import CHILDREN, LENGTH, PARENT, USERS
from kvaudit.replay.kernels.radix_ranks import KEEP_ALL, rank
from kvaudit.replay.kernels.radix_tree import EVICTABLE, HELD, ROOT
from kvaudit.replay.kernels.recency import put


@inner
def write_down(hi: HiTree, node: int, rules: HiRules) -> None:
    """Copy a node that was used often enough to the host, with what must stand there before it."""
    tree = hi.tree
    if not rules.unified:
        parent = tree.nodes[node, PARENT]
        if not rules.needs_parent or parent == ROOT or hi.on_host[parent]:
            _copy(hi, node, rules)
        return
    while not hi.on_host[node]:
        first = above = node
        while above != ROOT:
            if not hi.on_host[above]:
                first = above
            above = tree.nodes[above, PARENT]
        if not _copy(hi, first, rules):
            break


@inner
def _copy(hi: HiTree, node: int, rules: HiRules) -> bool:
    """Copy a node to the host, if room can be made for it, and from there to storage."""
    pages = hi.tree.nodes[node, LENGTH]
    if not make_room_on_host(hi, pages, rules):
        return False
    hi.on_host[node] = True
    take_room(hi, pages)
    hi.host[COPIED] += pages
    if rules.orders_copies:
        note_copy(hi, node)
    if rules.storage_pages != NO_STORAGE:
        hi.host[STORED] += _store(hi, node, rules)
    return True


@inner
def _store(hi: HiTree, node: int, rules: HiRules) -> int:
    """Copy a node to storage; return how many of its pages were new there."""
    keys, before = hi.scratch[: hi.tree.nodes[node, LENGTH]], hi.before
    key = hi.last[node]
    for index in range(len(keys) - 1, -1, -1):
        keys[index] = key
        key = before[key]
    return int(put(hi.storage, keys, rules.storage_pages))


@inner
def make_room_on_host(hi: HiTree, pages: int, rules: HiRules) -> bool:
    """Evict from the host until ``pages`` are free there; return whether they are."""
    missing = hi.host[HOST_USED] + pages - rules.host_pages
    if missing > 0:
        _evict_host(hi, missing if rules.unified else pages, rules)
    return bool(hi.host[HOST_USED] + pages <= rules.host_pages)


@inner
def _evict_host(hi: HiTree, pages: int, rules: HiRules) -> None:
    """Drop leaves that are on the host only, or their copies where those are to go first."""
    tree, queue = hi.tree, hi.host_queue
    freed = 0
    if rules.orders_copies:
        freed = drop_copies(hi, pages)
    while freed < pages and queue.size[0] > 0:
        leaf, first, second = take(queue)
        if leaf == NOBODY or not _is_free_host_leaf(hi, leaf, rules):
            continue
        now_first, now_second = rank(tree.nodes, leaf, rules.policy)
        if now_first != first or now_second != second:
            offer(queue, leaf, now_first, now_second)
            continue
        freed += leave_host(hi, leaf)
        _cut_off(hi, leaf, rules)


@inner
def evict(hi: HiTree, pages: int, rules: HiRules) -> int:
    """Take whole leaves off the device until ``pages`` are free there; return how many are."""
    freed = 0
    if rules.writes_back:
        freed = _evict_and_copy(hi, pages, rules)
    else:
        while freed < pages:
            leaf = _next_leaf(hi, rules)
            if leaf == NOBODY:
                break
            freed += _drop(hi, leaf, rules)
    hi.tree.totals[EVICTABLE] -= freed
    hi.tree.totals[HELD] -= freed
    return freed


@inner
def _evict_and_copy(hi: HiTree, pages: int, rules: HiRules) -> int:
    """Free pages of the device; what has no copy gets one first."""
    staged, freed = ROOT, 0
    while freed < pages:
        leaf = _next_leaf(hi, rules)
        if leaf == NOBODY:
            break
        if not hi.on_host[leaf]:
            if _copy(hi, leaf, rules):
                if not rules.unified:  # the room of the whole eviction is found first
                    hi.kept[leaf] = True
                    hi.links[leaf, STAGED_BEFORE] = staged
                    staged = leaf
            else:
                _settle(hi, staged, rules)
                staged = ROOT
                drop_below(hi, leaf)
        freed += _drop(hi, leaf, rules)
    _settle(hi, staged, rules)
    return freed


@inner
def _settle(hi: HiTree, staged: int, rules: HiRules) -> None:
    while staged != ROOT:
        hi.kept[staged] = False
        offer_node(hi, staged, rules)
        staged = hi.links[staged, STAGED_BEFORE]


@inner
def _next_leaf(hi: HiTree, rules: HiRules) -> int:
    """Take out the leaf of the device that goes next; `NOBODY` where none may."""
    tree, queue = hi.tree, hi.tree.queue
    while queue.size[0] > 0:
        leaf, first, second = take(queue)
        if leaf == NOBODY or tree.nodes[leaf, PARENT] == GONE or not hi.on_device[leaf]:
            continue
        if tree.nodes[leaf, USERS] > 0 or hi.device_children[leaf] > 0:
            continue
        now_first, now_second = rank(tree.nodes, leaf, rules.policy)
        if now_first == first and now_second == second:
            return int(leaf)
        offer(queue, leaf, now_first, now_second)
    return NOBODY


@inner
def _drop(hi: HiTree, leaf: int, rules: HiRules) -> int:
    """Take a leaf off the device: it stays in the tree where it has a copy."""
    parent = hi.tree.nodes[leaf, PARENT]
    hi.on_device[leaf] = False
    hi.device_children[parent] -= 1
    if hi.on_host[leaf]:
        offer_node(hi, leaf, rules)
        offer_node(hi, parent, rules)
    else:
        _cut_off(hi, leaf, rules)
    return int(hi.tree.nodes[leaf, LENGTH])


@inner
def _cut_off(hi: HiTree, node: int, rules: HiRules) -> None:
    parent = hi.tree.nodes[node, PARENT]
    if rules.writes_back:
        unlink(hi, node, parent)
    hi.tree.nodes[parent, CHILDREN] -= 1
    hi.tree.nodes[node, PARENT] = GONE
    offer_node(hi, parent, rules)


@inner
def offer_node(hi: HiTree, node: int, rules: HiRules) -> None:
    """Name a node as one that may be evicted, from the device or from the host."""
    tree = hi.tree
    if node == ROOT or tree.nodes[node, PARENT] == GONE:
        return
    if not hi.on_device[node]:
        if tree.nodes[node, CHILDREN] == 0:
            offer_host(hi, node, rules)
    elif (
        rules.policy != KEEP_ALL and tree.nodes[node, USERS] == 0 and hi.device_children[node] == 0
    ):
        first, second = rank(tree.nodes, node, rules.policy)
        offer(tree.queue, node, first, second)


@inner
def offer_host(hi: HiTree, node: int, rules: HiRules) -> None:
    """Name a node as one that may leave the host, if it stands there alone and ends there."""
    if _is_free_host_leaf(hi, node, rules):
        first, second = rank(hi.tree.nodes, node, rules.policy)
        offer(hi.host_queue, node, first, second)


@inner
def _is_free_host_leaf(hi: HiTree, node: int, rules: HiRules) -> bool:
    tree = hi.tree
    if (
        hi.on_device[node]
        or not hi.on_host[node]
        or hi.kept[node]
        or tree.nodes[node, CHILDREN] > 0
    ):
        return False
    above = tree.nodes[node, PARENT]
    # Where orphans are lost sight of, all that stands below a node goes with it.
    while not rules.finds_orphans and above != ROOT and above != GONE:
        above = tree.nodes[above, PARENT]
    return bool(above != GONE)
