"""SGLang's radix tree, compiled; `kvaudit.replay.models.radix` is what it must equal.

The keys of pages are all it reads: equal keys are equal text from the start, so a node needs no
text of its own. It knows where in the runs of its maker its pages begin, and is found by the key
of its first page. Nodes are numbered and never numbered again, and the key of a node that was
dropped leads to it until another begins with that page. A node that is cut hands its upper part
to a new one. Sizes are in pages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import inner
from kvaudit.replay.kernels.eviction_queue import NOBODY, Queue, empty_queue, offer, take
from kvaudit.replay.kernels.eviction_queue import with_room as grown_queue
from kvaudit.replay.kernels.growth import grown
from kvaudit.replay.kernels.key_paths import SHIFT, Path, Place, add_paths, most_runs, shared
from kvaudit.replay.kernels.radix_nodes import (
    CHILDREN,
    COLUMNS,
    CREATED,
    LENGTH,
    PARENT,
    PRIORITY,
    RUN,
    TOUCHED,
    USERS,
    USES,
)
from kvaudit.replay.kernels.radix_ranks import KEEP_ALL, rank
from kvaudit.replay.kernels.slots import ABSENT, NODE, slot_of, slots_for
from kvaudit.replay.key_runs import KeyRuns

ROOT = 0
NODES, CLOCK, EVICTABLE, HELD, RUNS = range(5)
"""Places in ``totals``."""
NODES_A_REQUEST = 6  # a cut when looked up, a cut and a leaf twice, a cut to part the output
_OFFERS_A_REQUEST = 10


class Tree(NamedTuple):
    """State of the tree."""

    totals: NDArray[np.int64]
    """Nodes ever made, visits, evictable pages, held pages, runs."""
    runs: NDArray[np.int32]
    """Of all requests so far, as in `key_paths`."""
    heads: NDArray[np.int64]
    """Table from the key of a first page to its node."""
    nodes: NDArray[np.int64]
    """Rows as in `radix_nodes`."""
    queue: Queue
    """The leaves that may be evicted, and what was one."""


def empty_tree() -> Tree:
    """Return a tree that holds nothing."""
    totals = np.zeros(5, np.int64)
    totals[NODES] = 1  # the root
    return Tree(
        totals=totals,
        runs=np.empty((0, 2), np.int32),
        heads=slots_for(None, 1),
        nodes=np.zeros((1, COLUMNS), np.int64),
        queue=grown_queue(empty_queue(), 1, 0),
    )


def with_room(tree: Tree, requests: int) -> Tree:
    """Return the tree with room for what so many requests can add, but for their runs."""
    nodes = int(tree.totals[NODES]) + NODES_A_REQUEST * requests
    return tree._replace(
        heads=slots_for(tree.heads, nodes),
        nodes=grown(tree.nodes, nodes),
        queue=grown_queue(tree.queue, nodes, _OFFERS_A_REQUEST * requests),
    )


def with_paths(
    tree: Tree, runs: KeyRuns, pages: NDArray[np.int64]
) -> tuple[Tree, NDArray[np.int64]]:
    """Return the tree with the runs of each request's first pages, and where those begin."""
    used = int(tree.totals[RUNS])
    tree = tree._replace(runs=grown(tree.runs, used + most_runs(runs)))
    first = np.empty(len(pages), np.int64)
    tree.totals[RUNS] = add_paths(tree.runs, used, runs, pages, first)
    return tree, first


@inner
def child_at(tree: Tree, place: Place) -> int:
    """Return the node that begins with the page after a place, or that did; or `ABSENT`."""
    return int(tree.heads[slot_of(tree.heads, place.page + tree.runs[place.run, SHIFT]), NODE])


@inner
def within(tree: Tree, place: Place, limit: int, node: int) -> Place:
    """Go on from a place, before which the node begins, for as long as pages are the node's."""
    end = min(place.page + tree.nodes[node, LENGTH], limit)
    reached: Place = shared(tree.runs, Place(place.page, place.run, tree.nodes[node, RUN]), end)
    return reached


@inner
def held_prefix(tree: Tree, path: Path, limit: int) -> int:
    """Return how many of the first ``limit`` pages are held. Changes nothing."""
    node, place = ROOT, Place(0, path.run, 0)
    while place.page < limit and tree.nodes[node, CHILDREN] > 0:
        node = child_at(tree, place)
        if node == ABSENT or tree.nodes[node, LENGTH] == 0:
            break
        end = place.page + tree.nodes[node, LENGTH]
        place = within(tree, place, limit, node)
        if place.page < end:
            break
    return place.page


@inner
def match(tree: Tree, path: Path, limit: int, policy: int, keeps_age: bool) -> tuple[Place, int]:
    """Return the end of the longest held prefix and its node, like the reference."""
    node, place = ROOT, Place(0, path.run, 0)
    # What has no children is asked for none, since most prompts go on from the end of a leaf.
    while place.page < limit and tree.nodes[node, CHILDREN] > 0:
        child = child_at(tree, place)
        if child == ABSENT or tree.nodes[child, LENGTH] == 0:
            break
        tree.totals[CLOCK] += 1
        tree.nodes[child, TOUCHED] = tree.totals[CLOCK]
        end = place.page + tree.nodes[child, LENGTH]
        place = within(tree, place, limit, child)
        if place.page < end:
            node = split(tree, child, place, end - place.page, keeps_age)
            offer_leaf(tree, child, policy)
            break
        node = child
    return place, node


@inner
def split(tree: Tree, node: int, place: Place, rest: int, keeps_age: bool) -> int:
    """Cut the node at a place, ``rest`` pages before its end; return the upper part."""
    nodes = tree.nodes
    upper = tree.totals[NODES]
    tree.totals[NODES] += 1
    tree.totals[CLOCK] += 1
    nodes[upper, LENGTH] = nodes[node, LENGTH] - rest
    nodes[upper, PARENT] = nodes[node, PARENT]
    nodes[upper, RUN] = nodes[node, RUN]
    nodes[upper, CHILDREN] = 1
    nodes[upper, USERS] = nodes[node, USERS]
    nodes[upper, TOUCHED] = tree.totals[CLOCK]
    nodes[upper, PRIORITY] = nodes[node, PRIORITY]
    nodes[upper, USES] = nodes[node, USES]
    nodes[upper, CREATED] = nodes[node, CREATED] if keeps_age else tree.totals[CLOCK]
    nodes[node, LENGTH] = rest
    nodes[node, PARENT] = upper
    nodes[node, RUN] = place.node_run
    _lead_to(tree, upper, place.page - nodes[upper, LENGTH])
    _lead_to(tree, node, place.page)
    return int(upper)


@inner
def _lead_to(tree: Tree, node: int, page: int) -> None:
    """Let the key of a node's first page, which is a request's ``page``, lead to it."""
    key = page + tree.runs[tree.nodes[node, RUN], SHIFT]
    if key >= 0:  # else nothing is known of its text
        tree.heads[slot_of(tree.heads, key), NODE] = node


@inner
def new_leaf(tree: Tree, parent: int, place: Place, pages: int, priority: int, uses: int) -> int:
    """Make a node of so many pages of a path from a place on; nobody counts them yet."""
    nodes = tree.nodes
    leaf = tree.totals[NODES]
    tree.totals[NODES] += 1
    tree.totals[CLOCK] += 1
    nodes[leaf, LENGTH] = pages
    nodes[leaf, PARENT] = parent
    nodes[leaf, RUN] = place.run
    nodes[leaf, CHILDREN] = 0
    nodes[leaf, USERS] = 0
    nodes[leaf, TOUCHED] = tree.totals[CLOCK]
    nodes[leaf, PRIORITY] = priority
    nodes[leaf, USES] = uses
    nodes[leaf, CREATED] = tree.totals[CLOCK]
    nodes[parent, CHILDREN] += 1
    _lead_to(tree, leaf, place.page)
    return int(leaf)


@inner
def insert(
    tree: Tree,
    path: Path,
    pages: int,
    priority: int,
    counted_from: int,
    policy: int,
    keeps_age: bool,
) -> tuple[int, int]:
    """Hold ``pages`` pages, of which the first are the path's and the others have no keys.

    Returns how many were held before, and the last node. Nodes that end after page
    ``counted_from`` count as used; below 0 none does.
    """
    place, node = match(tree, path, min(path.pages, pages), policy, keeps_age)
    known = end = place.page
    above = node
    while above != ROOT:
        tree.nodes[above, PRIORITY] = max(tree.nodes[above, PRIORITY], priority)
        if 0 <= counted_from < end:
            tree.nodes[above, USES] += 1
        end -= tree.nodes[above, LENGTH]
        above = int(tree.nodes[above, PARENT])
    if pages > known:
        uses = 1 if 0 <= counted_from < pages else 0
        node = new_leaf(tree, node, place, pages - known, priority, uses)
        tree.totals[EVICTABLE] += pages - known
        tree.totals[HELD] += pages - known
    offer_leaf(tree, node, policy)
    return known, node


@inner
def hold(tree: Tree, node: int) -> None:
    """Keep a node and all before it from being evicted."""
    while node != ROOT:
        if tree.nodes[node, USERS] == 0:
            tree.totals[EVICTABLE] -= tree.nodes[node, LENGTH]
        tree.nodes[node, USERS] += 1
        node = int(tree.nodes[node, PARENT])


@inner
def release(tree: Tree, node: int, policy: int) -> None:
    """Undo one `hold`."""
    let_go(tree, node)
    offer_leaf(tree, node, policy)


@inner
def let_go(tree: Tree, node: int) -> None:
    """Undo one `hold`, but for naming the node as one that may be evicted."""
    while node != ROOT:
        tree.nodes[node, USERS] -= 1
        if tree.nodes[node, USERS] == 0:
            tree.totals[EVICTABLE] += tree.nodes[node, LENGTH]
        node = int(tree.nodes[node, PARENT])


@inner
def evict(tree: Tree, pages: int, policy: int) -> int:
    """Drop whole leaves until ``pages`` are free or none is left; return how many went."""
    freed = 0
    while freed < pages and tree.queue.size[0] > 0:
        leaf, first, second = take(tree.queue)
        if leaf == NOBODY or tree.nodes[leaf, LENGTH] == 0:
            continue
        if tree.nodes[leaf, CHILDREN] > 0 or tree.nodes[leaf, USERS] > 0:
            continue
        now_first, now_second = rank(tree.nodes, leaf, policy)
        if now_first != first or now_second != second:
            offer_leaf(tree, leaf, policy)
            continue
        freed += tree.nodes[leaf, LENGTH]
        tree.nodes[leaf, LENGTH] = 0
        parent = int(tree.nodes[leaf, PARENT])
        tree.nodes[parent, CHILDREN] -= 1
        offer_leaf(tree, parent, policy)
    tree.totals[EVICTABLE] -= freed
    tree.totals[HELD] -= freed
    return freed


@inner
def offer_leaf(tree: Tree, node: int, policy: int) -> None:
    """Name a node as one that may be evicted, if it is a leaf that nobody holds."""
    if (
        policy == KEEP_ALL
        or node == ROOT
        or tree.nodes[node, CHILDREN] > 0
        or tree.nodes[node, USERS] > 0
    ):
        return
    first, second = rank(tree.nodes, node, policy)
    offer(tree.queue, node, first, second)
