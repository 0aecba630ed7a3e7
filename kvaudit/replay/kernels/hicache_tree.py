"""SGLang's radix tree with a host tier, compiled; `kvaudit.replay.models.hiradix` is its twin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import inner
from kvaudit.replay.kernels.hicache_eviction import offer_host, offer_node, write_down
from kvaudit.replay.kernels.hicache_links import link_leaf, link_upper, note_copy
from kvaudit.replay.kernels.hicache_state import NO_STORAGE, HiRules, HiTree, take_room
from kvaudit.replay.kernels.radix_tree import CLOCK, EVICTABLE, HELD, NODES, ROOT, shared, split


@inner
def match(hi: HiTree, keys: NDArray[np.int32], limit: int, rules: HiRules) -> tuple[int, int, int]:
    """Return the pages held on the device, their last node, and the last node on any tier."""
    tree = hi.tree
    node, at = ROOT, 0
    while at < limit:
        child = tree.node_of[keys[at]]
        if child < 0 or tree.parent[child] != node:
            break
        tree.totals[CLOCK] += 1
        tree.touched[child] = tree.totals[CLOCK]
        common = shared(tree.node_of, keys, at, min(tree.length[child], limit - at), child)
        at += common
        if common < tree.length[child]:
            node = _split(hi, child, keys[at - common : at], rules)
            offer_node(hi, child, rules)
            break
        node = child
    deepest = node
    while not hi.on_device[node]:
        at -= tree.length[node]
        if tree.children[node] == 0:
            offer_host(hi, node, rules)
        node = tree.parent[node]
    return at, node, deepest


@inner
def insert(
    hi: HiTree,
    keys: NDArray[np.int32],
    pages: int,
    priority: int,
    counted_from: int,
    rules: HiRules,
) -> tuple[int, int]:
    """Hold ``pages`` pages on the device, of which the first have these keys.

    Returns how many were there before, and the last node. Nodes that end after page
    ``counted_from`` count as used; below 0 none does.
    """
    tree = hi.tree
    labelled = min(len(keys), pages)
    node, at, known = ROOT, 0, 0
    while at < labelled:
        child = tree.node_of[keys[at]]
        if child < 0 or tree.parent[child] != node:
            break
        tree.totals[CLOCK] += 1
        tree.touched[child] = tree.totals[CLOCK]
        if not rules.unified:
            tree.priority[child] = max(tree.priority[child], priority)
        common = shared(tree.node_of, keys, at, min(tree.length[child], labelled - at), child)
        at += common
        node = child
        if common < tree.length[child]:
            node = _split(hi, child, keys[at - common : at], rules)
            offer_node(hi, child, rules)
        tree.priority[node] = max(tree.priority[node], priority)
        revived = not hi.on_device[node]
        if revived:
            bring_up(hi, node)
            if rules.orders_copies:
                note_copy(hi, node)
        else:
            known += common
        if 0 <= counted_from < at and (rules.unified or not revived):
            _use(hi, node, rules)
    if at < pages:
        node = _add_leaf(hi, node, pages - at, priority, rules)
        _label(hi, keys[:labelled], at, node, rules)
        bring_up(hi, node)
        if 0 <= counted_from < pages:
            _use(hi, node, rules)
    offer_node(hi, node, rules)
    return known, node


@inner
def _use(hi: HiTree, node: int, rules: HiRules) -> None:
    """Count a use of a node, and copy it where it had enough of them."""
    hi.tree.uses[node] += 1
    if not hi.on_host[node] and hi.tree.uses[node] >= rules.hits_to_write:
        write_down(hi, node, rules)


@inner
def depth(hi: HiTree, node: int) -> int:
    """Return how many pages there are from the start to the end of the node."""
    pages = 0
    while node != ROOT:
        pages += hi.tree.length[node]
        node = hi.tree.parent[node]
    return pages


@inner
def put_on_host(
    hi: HiTree, keys: NDArray[np.int32], start: int, parent: int, rules: HiRules
) -> None:
    """Hold pages on the host that were not in the tree, all keys from ``start`` on."""
    tree, pages = hi.tree, len(keys) - start
    leaf = _add_leaf(hi, parent, pages, tree.priority[parent], rules)
    _label(hi, keys, start, leaf, rules)
    tree.touched[parent] = tree.touched[leaf]
    hi.on_host[leaf] = True
    take_room(hi, pages)
    offer_node(hi, leaf, rules)


@inner
def _label(hi: HiTree, keys: NDArray[np.int32], start: int, node: int, rules: HiRules) -> None:
    """Let a new node hold the pages with the keys from ``start`` on."""
    node_of = hi.tree.node_of
    for index in range(start, len(keys)):
        node_of[keys[index]] = node
    if rules.storage_pages != NO_STORAGE:
        before = hi.before
        for index in range(max(1, start), len(keys)):
            before[keys[index]] = keys[index - 1]
        hi.last[node] = keys[-1]


@inner
def _add_leaf(hi: HiTree, parent: int, pages: int, priority: int, rules: HiRules) -> int:
    """Make a node that is on no tier yet."""
    tree = hi.tree
    leaf = tree.totals[NODES]
    tree.totals[NODES] += 1
    tree.totals[CLOCK] += 1
    tree.length[leaf] = pages
    tree.parent[leaf] = parent
    tree.children[parent] += 1
    tree.children[leaf] = 0
    tree.users[leaf] = 0
    tree.touched[leaf] = tree.totals[CLOCK]
    tree.created[leaf] = tree.totals[CLOCK]
    tree.uses[leaf] = 0
    tree.priority[leaf] = priority
    hi.on_device[leaf] = False
    hi.on_host[leaf] = False
    hi.device_children[leaf] = 0
    if rules.writes_back:
        link_leaf(hi, leaf, parent)
    return int(leaf)


@inner
def _split(hi: HiTree, node: int, keys: NDArray[np.int32], rules: HiRules) -> int:
    parent = hi.tree.parent[node]
    upper = split(hi.tree, node, keys, rules.keeps_age)
    hi.on_device[upper] = hi.on_device[node]
    hi.on_host[upper] = hi.on_host[node]
    hi.device_children[upper] = 1 if hi.on_device[node] else 0
    if rules.storage_pages != NO_STORAGE:
        hi.last[upper] = keys[-1]
    if rules.writes_back:
        link_upper(hi, upper, node, parent)
    if rules.orders_copies:
        note_copy(hi, upper)
    return int(upper)


@inner
def bring_up(hi: HiTree, node: int) -> None:
    """Put a node on the device that is not there."""
    hi.on_device[node] = True
    hi.device_children[hi.tree.parent[node]] += 1
    hi.tree.totals[EVICTABLE] += hi.tree.length[node]
    hi.tree.totals[HELD] += hi.tree.length[node]
