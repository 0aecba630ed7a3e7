"""SGLang's radix tree with a host tier, compiled; `kvaudit.replay.models.hiradix` is its twin.

Write-through and write-through-selective, without storage.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.hicache_eviction import offer_host, offer_node, write_down
from kvaudit.replay.kernels.hicache_state import HiRules, HiTree
from kvaudit.replay.kernels.radix_tree import CLOCK, EVICTABLE, HELD, NODES, ROOT, shared, split


@compiled
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


@compiled
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
        else:
            known += common
        if 0 <= counted_from < at and (rules.unified or not revived):
            tree.uses[node] += 1
            # Asked here, since most nodes have a copy and a call is dear: it counts the references
            # of all arrays.
            if not hi.on_host[node] and tree.uses[node] >= rules.hits_to_write:
                write_down(hi, node, rules)
    if at < pages:
        node = _add_leaf(hi, node, pages - at, priority)
        for index in range(at, labelled):
            tree.node_of[keys[index]] = node
        if 0 <= counted_from < pages:
            tree.uses[node] = 1
            if rules.hits_to_write <= 1:
                write_down(hi, node, rules)
    offer_node(hi, node, rules)
    return known, node


@compiled
def _add_leaf(hi: HiTree, parent: int, pages: int, priority: int) -> int:
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
    bring_up(hi, leaf)
    return int(leaf)


@compiled
def _split(hi: HiTree, node: int, keys: NDArray[np.int32], rules: HiRules) -> int:
    upper = split(hi.tree, node, keys, rules.keeps_age)
    hi.on_device[upper] = hi.on_device[node]
    hi.on_host[upper] = hi.on_host[node]
    hi.device_children[upper] = 1 if hi.on_device[node] else 0
    return int(upper)


@compiled
def bring_up(hi: HiTree, node: int) -> None:
    """Put a node on the device that is not there."""
    hi.on_device[node] = True
    hi.device_children[hi.tree.parent[node]] += 1
    hi.tree.totals[EVICTABLE] += hi.tree.length[node]
    hi.tree.totals[HELD] += hi.tree.length[node]
