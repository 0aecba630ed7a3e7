"""SGLang's radix tree: runs of pages, whole leaves evicted, a match that cuts nodes.

Read from SGLang 0.5.4 to 0.5.23, ``sglang/srt/mem_cache/radix_cache.py`` and, from 0.5.19 on,
``unified_cache/unified_tree_core.py``; the function is named beside each rule. Pages stand
here by their keys (`kvaudit.replay.blocks`): equal keys are equal tokens after equal text in
the same namespace, so all namespaces live under one root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from kvaudit.replay.models.radix_leaves import LeafQueue, Rank

PAGE = 4
"""Bytes of a page's key; paths are bytes, so that comparing them is quick."""


@dataclass(slots=True, eq=False)
class Node:
    """A run of pages after its parent's; the root holds none."""

    pages: bytes = b""
    parent: Node | None = None
    children: dict[bytes, Node] = field(default_factory=dict)
    """By the first page of each."""
    users: int = 0
    """Requests that hold it; it may be evicted when there are none."""
    touched: int = 0
    """When it was last visited, by a clock that counts visits."""
    created: int = 0
    uses: int = 0
    priority: int = 0
    on_device: bool = True
    on_host: bool = False
    """Where KV of it is; without tiers on the device as long as it is in the tree."""


# evict_policy.py
RANKS: dict[str, Callable[[Node], Rank]] = {
    "lru": lambda node: (0, node.touched),
    "lfu": lambda node: (node.uses, node.touched),
    "fifo": lambda node: (0, node.created),
    "mru": lambda node: (0, -node.touched),
    "filo": lambda node: (0, -node.created),
    "priority": lambda node: (node.priority, node.touched),
    "slru": lambda node: (int(node.uses >= 2), node.touched),
    # With its thresholds at 0, as by default, no node is beyond what its branch is to keep.
    "tlru": lambda node: (0, node.touched),
}


class RadixTree:
    """The tree; all sizes are in pages."""

    def __init__(self, policy: str = "lru", *, split_keeps_age: bool = False) -> None:
        """Start empty."""
        self.evictable_pages = 0
        """Pages of nodes that no request holds."""
        self.held_pages = 0
        self.evicted_keys: list[int] | None = None
        """Where the pages that are evicted are written down, in order; None writes nothing."""
        self.root = Node()
        self._rank = RANKS[policy]
        self._split_keeps_age = split_keeps_age
        self._clock = count(1)
        self._leaves = LeafQueue(self._is_free_leaf, self._rank)

    def match(self, path: bytes) -> tuple[int, Node]:
        """Return the length of the longest held prefix and its node.

        Refreshes what it visits and splits a node that matches in part, even for a read
        (``match_prefix``).
        """
        node, at = self.root, 0
        while at < len(path):
            child = node.children.get(path[at : at + PAGE])
            if child is None:
                break
            child.touched = next(self._clock)
            shared = shared_pages(child.pages, path[at:])
            at += shared
            if shared < len(child.pages):
                # The rest of it was refreshed as well, just before the split.
                node = self._split(child, shared)
                self.offer(child)
                break
            node = child
        return at // PAGE, node

    def held_prefix(self, path: bytes) -> int:
        """Return what `match` would. Changes nothing."""
        node: Node | None = self.root
        at = 0
        while node is not None and at < len(path):
            node = node.children.get(path[at : at + PAGE])
            if node is not None:
                shared = shared_pages(node.pages, path[at:])
                at += shared
                if shared < len(node.pages):
                    break
        return at // PAGE

    def insert(
        self, path: bytes, *, priority: int = 0, counted_from: int | None = None
    ) -> tuple[int, Node]:
        """Hold the path; return how many pages of it were held before, and its last node.

        Nodes that end after page ``counted_from`` count as used; None counts none. The path
        lends its priority to all of its nodes that have a lower one (``_insert_helper``).
        """
        known, node = self.match(path)
        end = known
        for held in path_up(node):
            held.priority = max(held.priority, priority)
            held.uses += counted_from is not None and end > counted_from
            end -= len(held.pages) // PAGE
        if known * PAGE < len(path):
            counts = counted_from is not None and len(path) // PAGE > counted_from
            node = self._add_leaf(node, path[known * PAGE :], priority, uses=int(counts))
        self.offer(node)
        return known, node

    def _add_leaf(self, parent: Node, pages: bytes, priority: int, uses: int) -> Node:
        now = next(self._clock)
        leaf = Node(pages, parent, touched=now, created=now, uses=uses, priority=priority)
        parent.children[pages[:PAGE]] = leaf
        self.evictable_pages += len(pages) // PAGE
        self.held_pages += len(pages) // PAGE
        return leaf

    def hold(self, node: Node) -> None:
        """Keep a node and all before it from being evicted (``inc_lock_ref``)."""
        for held in path_up(node):
            if not held.users:
                self.evictable_pages -= len(held.pages) // PAGE
            held.users += 1

    def release(self, node: Node) -> None:
        """Undo one `hold` (``dec_lock_ref``)."""
        for held in path_up(node):
            held.users -= 1
            if not held.users:
                self.evictable_pages += len(held.pages) // PAGE
        self.offer(node)

    def evict(self, pages: int) -> int:
        """Drop whole leaves until ``pages`` are free or none is left; return how many went."""
        freed = 0
        while freed < pages and (leaf := self._leaves.take()) is not None:
            freed += self._drop(leaf)
        return freed

    def _drop(self, leaf: Node) -> int:
        """Take a leaf out of the tree; return its pages."""
        assert leaf.parent is not None
        pages = len(leaf.pages) // PAGE
        del leaf.parent.children[leaf.pages[:PAGE]]
        if self.evicted_keys is not None:  # a node's last page first, like a prompt's blocks
            self.evicted_keys += reversed(memoryview(leaf.pages).cast("i").tolist())
        self.evictable_pages -= pages
        self.held_pages -= pages
        self.offer(leaf.parent)
        return pages

    def offer(self, node: Node) -> None:
        """Name a node as one that may be evicted, if it is a leaf that nobody holds."""
        self._leaves.offer(node)

    def _is_free_leaf(self, node: Node) -> bool:
        return node.parent is not None and not node.children and not node.users

    def _split(self, node: Node, at: int) -> Node:
        """Cut a node's pages after ``at`` bytes and return the upper part (``_split_node``)."""
        assert node.parent is not None
        now = next(self._clock)
        upper = Node(
            node.pages[:at],
            node.parent,
            users=node.users,
            touched=now,
            created=node.created if self._split_keeps_age else now,
            uses=node.uses,
            priority=node.priority,
        )
        node.parent.children[node.pages[:PAGE]] = upper
        node.pages, node.parent = node.pages[at:], upper
        upper.children[node.pages[:PAGE]] = node
        return upper

    def nodes(self) -> Iterator[Node]:
        """Yield every node but the root."""
        waiting = list(self.root.children.values())
        while waiting:
            node = waiting.pop()
            waiting += node.children.values()
            yield node


def path_up(node: Node) -> Iterator[Node]:
    """Yield the node and those before it, the root left out."""
    while node.parent is not None:
        yield node
        node = node.parent


def shared_pages(one: bytes, other: bytes) -> int:
    """Return how many bytes two paths share at their start, in whole pages."""
    limit = min(len(one), len(other))
    if one[:limit] == other[:limit]:
        return limit
    low, high = 0, limit // PAGE
    while high - low > 1:  # the first `low` pages are equal, the first `high` are not
        middle = (low + high) // 2
        if one[low * PAGE : middle * PAGE] == other[low * PAGE : middle * PAGE]:
            low = middle
        else:
            high = middle
    return low * PAGE
