"""What HiCache's kernel keeps only to write back: the order of copies, and who continues whom.

`kvaudit.replay.models.hiradix` is what it must equal (``_copies``, and the children of a node).
"""

from __future__ import annotations

from kvaudit.replay.kernels.compiled import inner
from kvaudit.replay.kernels.hicache_state import (
    CHILD,
    COPIED_AFTER,
    COPIED_BEFORE,
    GONE,
    NEXT,
    NOT_COPIED,
    PREVIOUS,
    HiTree,
    leave_host,
)
from kvaudit.replay.kernels.radix_nodes import CHILDREN, PARENT, USERS
from kvaudit.replay.kernels.radix_tree import ROOT


@inner
def link_leaf(hi: HiTree, leaf: int, parent: int) -> None:
    """Enter a new node, which nothing continues, among what continues its parent."""
    links = hi.links
    links[leaf, COPIED_AFTER] = NOT_COPIED
    links[leaf, CHILD] = links[leaf, PREVIOUS] = ROOT
    sibling = links[parent, CHILD]
    links[leaf, NEXT] = sibling
    if sibling != ROOT:
        links[sibling, PREVIOUS] = leaf
    links[parent, CHILD] = leaf


@inner
def link_upper(hi: HiTree, upper: int, lower: int, parent: int) -> None:
    """Give the upper part of a node that was cut the place of the lower one."""
    links = hi.links
    links[upper, COPIED_AFTER] = NOT_COPIED
    links[upper, CHILD] = lower
    before, after = links[lower, PREVIOUS], links[lower, NEXT]
    links[upper, PREVIOUS], links[upper, NEXT] = before, after
    links[lower, PREVIOUS] = links[lower, NEXT] = ROOT
    if before != ROOT:
        links[before, NEXT] = upper
    else:
        links[parent, CHILD] = upper
    if after != ROOT:
        links[after, PREVIOUS] = upper


@inner
def unlink(hi: HiTree, node: int, parent: int) -> None:
    """Take a node that leaves the tree out of what continues its parent."""
    links = hi.links
    before, after = links[node, PREVIOUS], links[node, NEXT]
    if before != ROOT:
        links[before, NEXT] = after
    else:
        links[parent, CHILD] = after
    if after != ROOT:
        links[after, PREVIOUS] = before


@inner
def note_copy(hi: HiTree, node: int) -> None:
    """Count a node that is on both tiers among the copies, as the last one if it is new there."""
    links = hi.links
    if links[node, COPIED_AFTER] != NOT_COPIED or not (hi.on_device[node] and hi.on_host[node]):
        return
    last = links[ROOT, COPIED_BEFORE]
    links[last, COPIED_AFTER] = node
    links[node, COPIED_BEFORE] = last
    links[node, COPIED_AFTER] = ROOT
    links[ROOT, COPIED_BEFORE] = node


@inner
def drop_copies(hi: HiTree, pages: int) -> int:
    """Give up copies of what is on the device, of what is about to leave it last."""
    links, freed = hi.links, 0
    for spares_leaves in (True, False):
        node = links[ROOT, COPIED_AFTER]
        while node != ROOT and freed < pages:
            after = links[node, COPIED_AFTER]
            is_copy = hi.on_device[node] and hi.on_host[node]
            is_leaf = hi.tree.nodes[node, USERS] == 0 and hi.device_children[node] == 0
            if not is_copy or not (hi.kept[node] or (spares_leaves and is_leaf)):
                if is_copy:
                    freed += leave_host(hi, node)
                before = links[node, COPIED_BEFORE]
                links[before, COPIED_AFTER], links[after, COPIED_BEFORE] = after, before
                links[node, COPIED_AFTER] = NOT_COPIED
            node = after
    return freed


@inner
def drop_below(hi: HiTree, node: int) -> None:
    """Drop what continues the node; all of it is on the host alone."""
    below = _first_below(hi, node)
    while below != node:
        after = _next_below(hi, below)
        leave_host(hi, below)
        hi.tree.nodes[below, PARENT] = GONE
        below = after
    hi.tree.nodes[node, CHILDREN] = 0
    hi.links[node, CHILD] = ROOT


@inner
def _first_below(hi: HiTree, node: int) -> int:
    """Return the deepest node on the way down by first children."""
    while hi.links[node, CHILD] != ROOT:
        node = hi.links[node, CHILD]
    return node


@inner
def _next_below(hi: HiTree, node: int) -> int:
    """Return the node after ``node``, children before parents."""
    sibling = hi.links[node, NEXT]
    if sibling != ROOT:
        return int(_first_below(hi, sibling))
    return int(hi.tree.nodes[node, PARENT])
