"""SGLang's radix tree, compiled; `kvaudit.replay.models.radix` is what it must equal.

The keys of pages are all it reads: equal keys are equal text from the start, so a node needs no
text of its own. Each key remembers the node that held its page last, nodes are numbered and never
numbered again, and a page is held when its node is. A node that is cut hands the keys of its
upper part to a new one. Sizes are in pages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import inner
from kvaudit.replay.kernels.eviction_queue import NOBODY, Queue, empty_queue, offer, take
from kvaudit.replay.kernels.eviction_queue import with_room as grown_queue
from kvaudit.replay.kernels.growth import grown
from kvaudit.replay.kernels.radix_ranks import KEEP_ALL, rank

ROOT = 0
NODES, CLOCK, EVICTABLE, HELD, KEYS = range(5)
"""Places in ``totals``."""
NODES_A_REQUEST = 6  # a cut when looked up, a cut and a leaf twice, a cut to part the output
_OFFERS_A_REQUEST = 10


class Tree(NamedTuple):
    """State of the tree, by node unless stated."""

    totals: NDArray[np.int64]
    """Nodes ever made, visits, evictable pages, held pages, keys that may be asked for."""
    node_of: NDArray[np.int32]
    """By key: the node that held the page last, or -1. From the first key on that may not be asked
    for it holds anything."""
    length: NDArray[np.int64]
    """0 for the root and for a node that was dropped."""
    parent: NDArray[np.int32]
    children: NDArray[np.int32]
    """How many there are."""
    users: NDArray[np.int32]
    touched: NDArray[np.int64]
    created: NDArray[np.int64]
    uses: NDArray[np.int64]
    priority: NDArray[np.int64]
    queue: Queue
    """The leaves that may be evicted, and what was one."""


def empty_tree() -> Tree:
    """Return a tree that holds nothing."""
    totals = np.zeros(5, np.int64)
    totals[NODES] = 1  # the root
    return Tree(
        totals=totals,
        node_of=np.empty(0, np.int32),
        length=np.zeros(1, np.int64),
        parent=np.zeros(1, np.int32),
        children=np.zeros(1, np.int32),
        users=np.zeros(1, np.int32),
        touched=np.zeros(1, np.int64),
        created=np.zeros(1, np.int64),
        uses=np.zeros(1, np.int64),
        priority=np.zeros(1, np.int64),
        queue=grown_queue(empty_queue(), 1, 0),
    )


def with_room(tree: Tree, keys: int, requests: int) -> Tree:
    """Return the tree with room for ``keys`` keys and for what so many requests can add."""
    nodes = int(tree.totals[NODES]) + NODES_A_REQUEST * requests
    by_node = {
        name: grown(getattr(tree, name), nodes)
        for name in Tree._fields
        if name not in ("totals", "node_of", "queue")
    }
    return tree._replace(
        node_of=_with_keys(tree, keys),
        queue=grown_queue(tree.queue, nodes, _OFFERS_A_REQUEST * requests),
        **by_node,
    )


def _with_keys(tree: Tree, keys: int) -> NDArray[np.int32]:
    """Return ``node_of`` with so many keys; touches no more memory than they take."""
    known = int(tree.totals[KEYS])
    if keys <= known:
        return tree.node_of
    tree.totals[KEYS] = keys
    node_of = tree.node_of
    if keys > len(node_of):
        node_of = np.empty(4 * keys, np.int32)
        node_of[:known] = tree.node_of[:known]
    node_of[known:keys] = -1
    return node_of


@inner
def held_prefix(tree: Tree, keys: NDArray[np.int32], limit: int) -> int:
    """Return how many of the first ``limit`` pages are held. Changes nothing."""
    at = 0
    while at < limit:
        node = tree.node_of[keys[at]]
        if node < 0 or tree.length[node] == 0:
            break
        common = shared(tree.node_of, keys, at, min(tree.length[node], limit - at), node)
        at += common
        if common < tree.length[node]:
            break
    return at


@inner
def match(
    tree: Tree, keys: NDArray[np.int32], limit: int, policy: int, keeps_age: bool
) -> tuple[int, int]:
    """Return the length of the longest held prefix and its node, like the reference."""
    node = ROOT
    at = 0
    while at < limit:
        child = tree.node_of[keys[at]]
        if child < 0 or tree.length[child] == 0:
            break
        tree.totals[CLOCK] += 1
        tree.touched[child] = tree.totals[CLOCK]
        common = shared(tree.node_of, keys, at, min(tree.length[child], limit - at), child)
        if common < tree.length[child]:
            node = split(tree, child, keys[at : at + common], keeps_age)
            offer_leaf(tree, child, policy)
            at += common
            break
        at += common
        node = child
    return at, node


@inner
def shared(
    node_of: NDArray[np.int32], keys: NDArray[np.int32], at: int, limit: int, node: int
) -> int:
    """Return how many of ``limit`` keys from ``at`` on are of the node; the first one is."""
    if node_of[keys[at + limit - 1]] == node:
        return limit
    low, high = 1, limit  # the first `low` are, the one before `high` is not
    while high - low > 1:
        middle = (low + high) // 2
        if node_of[keys[at + middle - 1]] == node:
            low = middle
        else:
            high = middle
    return low


@inner
def split(tree: Tree, node: int, keys: NDArray[np.int32], keeps_age: bool) -> int:
    """Cut the node after the pages that have these keys; return the upper part."""
    upper = tree.totals[NODES]
    tree.totals[NODES] += 1
    tree.totals[CLOCK] += 1
    tree.length[upper] = len(keys)
    tree.length[node] -= len(keys)
    tree.parent[upper] = tree.parent[node]
    tree.parent[node] = upper
    tree.children[upper] = 1
    tree.users[upper] = tree.users[node]
    tree.touched[upper] = tree.totals[CLOCK]
    tree.created[upper] = tree.created[node] if keeps_age else tree.totals[CLOCK]
    tree.uses[upper] = tree.uses[node]
    tree.priority[upper] = tree.priority[node]
    label(tree.node_of, keys, upper)
    return int(upper)


@inner
def label(node_of: NDArray[np.int32], keys: NDArray[np.int32], node: int) -> None:
    """Let a node hold the pages that have these keys."""
    for place in range(len(keys)):
        # Unsigned, so that nothing looks whether it counts from the end.
        node_of[np.uint32(keys[np.uint64(place)])] = node


@inner
def insert(
    tree: Tree,
    keys: NDArray[np.int32],
    pages: int,
    priority: int,
    counted_from: int,
    policy: int,
    keeps_age: bool,
) -> tuple[int, int]:
    """Hold ``pages`` pages, of which the first have these keys and the others none.

    Returns how many were held before, and the last node. Nodes that end after page
    ``counted_from`` count as used; below 0 none does.
    """
    labelled = min(len(keys), pages)
    known, node = match(tree, keys, labelled, policy, keeps_age)
    end, above = known, node
    while above != ROOT:
        tree.priority[above] = max(tree.priority[above], priority)
        if 0 <= counted_from < end:
            tree.uses[above] += 1
        end -= tree.length[above]
        above = int(tree.parent[above])
    if pages > known:
        leaf = tree.totals[NODES]
        tree.totals[NODES] += 1
        tree.totals[CLOCK] += 1
        tree.length[leaf] = pages - known
        tree.parent[leaf] = node
        tree.children[node] += 1
        tree.children[leaf] = 0
        tree.users[leaf] = 0
        tree.touched[leaf] = tree.totals[CLOCK]
        tree.created[leaf] = tree.totals[CLOCK]
        tree.uses[leaf] = 1 if 0 <= counted_from < pages else 0
        tree.priority[leaf] = priority
        label(tree.node_of, keys[known:labelled], leaf)
        tree.totals[EVICTABLE] += pages - known
        tree.totals[HELD] += pages - known
        node = int(leaf)
    offer_leaf(tree, node, policy)
    return known, node


@inner
def hold(tree: Tree, node: int) -> None:
    """Keep a node and all before it from being evicted."""
    while node != ROOT:
        if tree.users[node] == 0:
            tree.totals[EVICTABLE] -= tree.length[node]
        tree.users[node] += 1
        node = int(tree.parent[node])


@inner
def release(tree: Tree, node: int, policy: int) -> None:
    """Undo one `hold`."""
    let_go(tree, node)
    offer_leaf(tree, node, policy)


@inner
def let_go(tree: Tree, node: int) -> None:
    """Undo one `hold`, but for naming the node as one that may be evicted."""
    while node != ROOT:
        tree.users[node] -= 1
        if tree.users[node] == 0:
            tree.totals[EVICTABLE] += tree.length[node]
        node = int(tree.parent[node])


@inner
def evict(tree: Tree, pages: int, policy: int) -> int:
    """Drop whole leaves until ``pages`` are free or none is left; return how many went."""
    freed = 0
    while freed < pages and tree.queue.size[0] > 0:
        leaf, first, second = take(tree.queue)
        if leaf == NOBODY or tree.length[leaf] == 0:
            continue
        if tree.children[leaf] > 0 or tree.users[leaf] > 0:
            continue
        now_first, now_second = rank(tree, leaf, policy)
        if now_first != first or now_second != second:
            offer_leaf(tree, leaf, policy)
            continue
        freed += tree.length[leaf]
        tree.length[leaf] = 0
        parent = int(tree.parent[leaf])
        tree.children[parent] -= 1
        offer_leaf(tree, parent, policy)
    tree.totals[EVICTABLE] -= freed
    tree.totals[HELD] -= freed
    return freed


@inner
def offer_leaf(tree: Tree, node: int, policy: int) -> None:
    """Name a node as one that may be evicted, if it is a leaf that nobody holds."""
    if policy == KEEP_ALL or node == ROOT or tree.children[node] > 0 or tree.users[node] > 0:
        return
    first, second = rank(tree, node, policy)
    offer(tree.queue, node, first, second)
