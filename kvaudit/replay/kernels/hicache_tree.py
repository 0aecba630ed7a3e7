"""SGLang's radix tree with a host tier, compiled; `kvaudit.replay.models.hiradix` is its twin."""

from __future__ import annotations

from kvaudit.replay.kernels.compiled import inner
from kvaudit.replay.kernels.hicache_eviction import offer_host, offer_node, write_down
from kvaudit.replay.kernels.hicache_links import link_leaf, link_upper, note_copy
from kvaudit.replay.kernels.hicache_state import NO_STORAGE, HiPath, HiRules, HiTree, take_room
from kvaudit.replay.kernels.key_paths import Place
from kvaudit.replay.kernels.radix_nodes import CHILDREN, LENGTH, PARENT, PRIORITY, TOUCHED, USES
from kvaudit.replay.kernels.radix_tree import (
    CLOCK,
    EVICTABLE,
    HELD,
    ROOT,
    child_at,
    new_leaf,
    split,
    within,
)
from kvaudit.replay.kernels.slots import ABSENT


@inner
def match(hi: HiTree, path: HiPath, limit: int, rules: HiRules) -> tuple[int, int, int, Place]:
    """Return the pages held on the device, their last node, and the last node on any tier.

    Also where that one ends.
    """
    tree = hi.tree
    node, place = ROOT, Place(0, path.run, 0)
    while place.page < limit:
        child = child_at(tree, place)
        if child == ABSENT or tree.nodes[child, PARENT] != node:
            break
        tree.totals[CLOCK] += 1
        tree.nodes[child, TOUCHED] = tree.totals[CLOCK]
        end = place.page + tree.nodes[child, LENGTH]
        place = within(tree, place, limit, child)
        if place.page < end:
            node = _split(hi, child, path, place, end - place.page, rules)
            offer_node(hi, child, rules)
            break
        node = child
    deepest, pages = node, place.page
    while not hi.on_device[node]:
        pages -= tree.nodes[node, LENGTH]
        if tree.nodes[node, CHILDREN] == 0:
            offer_host(hi, node, rules)
        node = tree.nodes[node, PARENT]
    return pages, node, deepest, place


@inner
def insert(
    hi: HiTree,
    path: HiPath,
    pages: int,
    priority: int,
    counted_from: int,
    rules: HiRules,
) -> tuple[int, int]:
    """Hold ``pages`` pages on the device, of which the first are the path's.

    Returns how many were there before, and the last node. Nodes that end after page
    ``counted_from`` count as used; below 0 none does.
    """
    tree = hi.tree
    labelled = min(path.pages, pages)
    node, known, place = ROOT, 0, Place(0, path.run, 0)
    while place.page < labelled:
        child = child_at(tree, place)
        if child == ABSENT or tree.nodes[child, PARENT] != node:
            break
        tree.totals[CLOCK] += 1
        tree.nodes[child, TOUCHED] = tree.totals[CLOCK]
        if not rules.unified:
            tree.nodes[child, PRIORITY] = max(tree.nodes[child, PRIORITY], priority)
        start, end = place.page, place.page + tree.nodes[child, LENGTH]
        place = within(tree, place, labelled, child)
        node = child
        if place.page < end:
            node = _split(hi, child, path, place, end - place.page, rules)
            offer_node(hi, child, rules)
        tree.nodes[node, PRIORITY] = max(tree.nodes[node, PRIORITY], priority)
        revived = not hi.on_device[node]
        if revived:
            bring_up(hi, node)
            if rules.orders_copies:
                note_copy(hi, node)
        else:
            known += place.page - start
        if 0 <= counted_from < place.page and (rules.unified or not revived):
            _use(hi, node, rules)
    if place.page < pages:
        node = _add_leaf(hi, node, place, pages - place.page, priority, rules)
        _remember(hi, path, place.page, labelled, node, rules)
        bring_up(hi, node)
        if 0 <= counted_from < pages:
            _use(hi, node, rules)
    offer_node(hi, node, rules)
    return known, node


@inner
def _use(hi: HiTree, node: int, rules: HiRules) -> None:
    """Count a use of a node, and copy it where it had enough of them."""
    hi.tree.nodes[node, USES] += 1
    if not hi.on_host[node] and hi.tree.nodes[node, USES] >= rules.hits_to_write:
        write_down(hi, node, rules)


@inner
def depth(hi: HiTree, node: int) -> int:
    """Return how many pages there are from the start to the end of the node."""
    pages = 0
    while node != ROOT:
        pages += hi.tree.nodes[node, LENGTH]
        node = hi.tree.nodes[node, PARENT]
    return pages


@inner
def put_on_host(
    hi: HiTree, path: HiPath, place: Place, end: int, parent: int, rules: HiRules
) -> None:
    """Hold pages on the host that were not in the tree, those from a place to ``end``."""
    tree, pages = hi.tree, end - place.page
    leaf = _add_leaf(hi, parent, place, pages, tree.nodes[parent, PRIORITY], rules)
    _remember(hi, path, place.page, end, leaf, rules)
    tree.nodes[parent, TOUCHED] = tree.nodes[leaf, TOUCHED]
    hi.on_host[leaf] = True
    take_room(hi, pages)
    offer_node(hi, leaf, rules)


@inner
def _remember(hi: HiTree, path: HiPath, start: int, end: int, node: int, rules: HiRules) -> None:
    """Note what a new node stores where there is storage: the pages from ``start`` to ``end``."""
    if rules.storage_pages != NO_STORAGE:
        before, keys = hi.before, path.keys
        for index in range(max(1, start), end):
            before[keys[index]] = keys[index - 1]
        hi.last[node] = keys[end - 1]


@inner
def _add_leaf(
    hi: HiTree, parent: int, place: Place, pages: int, priority: int, rules: HiRules
) -> int:
    """Make a node that is on no tier yet."""
    leaf = new_leaf(hi.tree, parent, place, pages, priority, 0)
    hi.on_device[leaf] = False
    hi.on_host[leaf] = False
    hi.device_children[leaf] = 0
    if rules.writes_back:
        link_leaf(hi, leaf, parent)
    return int(leaf)


@inner
def _split(hi: HiTree, node: int, path: HiPath, place: Place, rest: int, rules: HiRules) -> int:
    parent = hi.tree.nodes[node, PARENT]
    upper = split(hi.tree, node, place, rest, rules.keeps_age)
    hi.on_device[upper] = hi.on_device[node]
    hi.on_host[upper] = hi.on_host[node]
    hi.device_children[upper] = 1 if hi.on_device[node] else 0
    if rules.storage_pages != NO_STORAGE:
        hi.last[upper] = path.keys[place.page - 1]
    if rules.writes_back:
        link_upper(hi, upper, node, parent)
    if rules.orders_copies:
        note_copy(hi, upper)
    return int(upper)


@inner
def bring_up(hi: HiTree, node: int) -> None:
    """Put a node on the device that is not there."""
    hi.on_device[node] = True
    hi.device_children[hi.tree.nodes[node, PARENT]] += 1
    hi.tree.totals[EVICTABLE] += hi.tree.nodes[node, LENGTH]
    hi.tree.totals[HELD] += hi.tree.nodes[node, LENGTH]
