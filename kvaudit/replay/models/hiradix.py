"""SGLang's radix tree with a host tier: whole nodes are copied down, and loaded back when hit.

Read from SGLang 0.5.4 to 0.5.23 (`hicache_releases`); the function is named beside each rule. What
is on the device starts at the root: a node on the host only has nothing below it on the device.
Copies are done at once. All sizes are in pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kvaudit.replay.models.hicache_pool import HostPool
from kvaudit.replay.models.hicache_releases import HITS_TO_WRITE, HostRules
from kvaudit.replay.models.radix import PAGE, Node, RadixTree, path_up, shared_pages
from kvaudit.replay.models.radix_leaves import LeafQueue
from kvaudit.replay.models.tiers import WritePolicy


class HiRadixTree(RadixTree):
    """The tree; ``evictable_pages`` and ``held_pages`` are those on the device."""

    def __init__(
        self,
        policy: str,
        *,
        split_keeps_age: bool,
        host: HostPool,
        write: WritePolicy,
        rules: HostRules,
    ) -> None:
        """Take the host's pool, and when it is written."""
        super().__init__(policy, split_keeps_age=split_keeps_age)
        self.host, self.write, self.rules = host, write, rules
        self.deepest: Node = self.root
        """The last node of the last match, on whichever tier."""
        self._host_leaves = LeafQueue(self._is_free_host_leaf, self._rank)
        self._copies: dict[Node, None] = {}
        """Nodes that were on both tiers once, in the order in which they first were."""
        self._kept_on_host: set[Node] = set()
        """Nodes that may not leave the host just now."""

    def match(self, path: bytes) -> tuple[int, Node]:
        """Return what is held on the device of the longest held prefix, and its last node there.

        What follows on the host ends with ``deepest``.
        """
        pages, node = super().match(path)
        self.deepest = node
        while not node.on_device:
            assert node.parent is not None
            pages -= len(node.pages) // PAGE
            self._host_leaves.offer(node)
            node = node.parent
        return pages, node

    def insert(
        self, path: bytes, *, priority: int = 0, counted_from: int | None = None
    ) -> tuple[int, Node]:
        """Hold the path on the device; return how many pages of it were there, and its last node.

        As without a host tier, but from the root on, since each node that counts as used may be
        copied, for which others leave the host (``insert``).
        """
        node, at, known = self.root, 0, 0
        while at < len(path) and (child := node.children.get(path[at : at + PAGE])) is not None:
            child.touched = next(self._clock)
            shared = shared_pages(child.pages, path[at:])
            if not self.rules.unified:  # also what is cut off below has it then
                child.priority = max(child.priority, priority)
            node = child
            if shared < len(child.pages):
                node = self._split(child, shared)
                self.offer(child)
            at += shared
            node.priority = max(node.priority, priority)
            revived = not node.on_device
            if revived:
                self._bring_up(node)
            else:
                known += shared // PAGE
            counts = counted_from is not None and at // PAGE > counted_from
            if counts and (self.rules.unified or not revived):
                self._use(node)
        if at < len(path):
            node = self._add_leaf(node, path[at:], priority, uses=0)
            if counted_from is not None and len(path) // PAGE > counted_from:
                self._use(node)
        self.offer(node)
        return known, node

    def chain_on_host(self) -> list[Node]:
        """Return the nodes that the last match found on the host only, the last one first."""
        return [node for node in path_up(self.deepest) if not node.on_device]

    @contextmanager
    def kept_on_host(self, nodes: list[Node]) -> Iterator[None]:
        """Keep nodes on the host meanwhile."""
        self._kept_on_host.update(nodes)
        yield
        self._kept_on_host.difference_update(nodes)
        for node in nodes:
            self.offer(node)

    def load_back(self, nodes: list[Node]) -> None:
        """Put nodes of the host on the device again; the host keeps its copies."""
        for node in reversed(nodes):
            self._bring_up(node)

    def make_room_on_host(self, pages: int) -> bool:
        """Evict from the host until ``pages`` are free there, or none is left to evict.

        Up to 0.5.18 as many go as are asked for, since then those that are missing. Returns whether
        the pages fit.
        """
        missing = pages - self.host.free
        if missing > 0:
            self._evict_host(missing if self.rules.unified else pages)
        return pages <= self.host.free

    def put_on_host(self, parent: Node, pages: bytes) -> Node:
        """Hold pages on the host that were not in the tree (``_insert_helper_host``)."""
        now = next(self._clock)
        leaf = Node(pages, parent, touched=now, created=now, priority=parent.priority)
        leaf.on_device, leaf.on_host = False, True
        parent.touched = now
        parent.children[pages[:PAGE]] = leaf
        self.host.take(len(pages) // PAGE)
        self.offer(leaf)
        return leaf

    def note_copies(self, nodes: list[Node]) -> None:
        """Take nodes that were loaded back for copies from now on (``finish_load_back``)."""
        self._copies.update((node, None) for node in nodes if node not in self._copies)

    def evict(self, pages: int) -> int:
        """Free pages of the device; under write-back what has no copy gets one first."""
        staged: list[Node] = []
        freed = 0
        while freed < pages and (leaf := self._leaves.take()) is not None:
            if self.write is not WritePolicy.BACK or leaf.on_host:
                freed += self._drop(leaf)
            elif self._copy(leaf):
                if not self.rules.unified:  # the room of the whole eviction is found first
                    staged.append(leaf)
                    self._kept_on_host.add(leaf)
                freed += self._drop(leaf)
            else:
                # Before 0.5.15 an engine that writes back stops with an error here. What is being
                # loaded back is not below the leaf: it stands after a node that is held.
                self._settle(staged)
                freed += self._drop_subtree(leaf)
        self._settle(staged)
        return freed

    def _settle(self, staged: list[Node]) -> None:
        self._kept_on_host.difference_update(staged)
        while staged:
            self.offer(staged.pop())

    def offer(self, node: Node) -> None:
        """Name a node as one that may be evicted, from the device or from the host."""
        self._leaves.offer(node)
        self._host_leaves.offer(node)

    def _is_free_leaf(self, node: Node) -> bool:
        if node.parent is None or node.users or not node.on_device:
            return False
        return not any(child.on_device for child in node.children.values())

    def _is_free_host_leaf(self, node: Node) -> bool:
        return (
            node.on_host
            and not node.on_device
            and not node.children
            and node.parent is not None
            and node not in self._kept_on_host
        )

    def _split(self, node: Node, at: int) -> Node:
        upper = super()._split(node, at)
        upper.on_device, upper.on_host = node.on_device, node.on_host
        self._note_copy(upper)
        return upper

    def _use(self, node: Node) -> None:
        """_inc_hit_count: count a use, and copy the node where it had enough of them."""
        node.uses += 1
        if node.on_host or node.uses < HITS_TO_WRITE[self.write]:
            return
        if not self.rules.unified:
            parent = node.parent
            assert parent is not None
            if not self.rules.needs_parent or parent is self.root or parent.on_host:
                self._copy(node)
            return
        without = [n for n in path_up(node) if not n.on_host]
        for above in reversed(without):
            if not self._copy(above):
                break

    def _copy(self, node: Node) -> bool:
        """write_backup: copy a node to the host, if room can be made for it."""
        if not self.make_room_on_host(len(node.pages) // PAGE):
            return False
        node.on_host = True
        self._note_copy(node)
        self.host.copy(memoryview(node.pages).cast("i").tolist())
        return True

    def _evict_host(self, pages: int) -> None:
        """Drop leaves that are on the host only, or their copies where those are to go first."""
        freed = 0
        if self.rules.unified and self.write is WritePolicy.BACK:
            freed = self._drop_copies(pages)
        while freed < pages and (leaf := self._host_leaves.take()) is not None:
            freed += len(leaf.pages) // PAGE
            self._leave_host(leaf)
            self._cut_off(leaf)

    def _drop_copies(self, pages: int) -> int:
        """_reclaim_full_host_duplicates: of what is about to be evicted from the device, last."""
        freed = 0
        for spares_leaves in (True, False):
            for node in list(self._copies):
                if freed >= pages:
                    return freed
                if node.on_device and node.on_host:
                    if node in self._kept_on_host or (spares_leaves and self._is_free_leaf(node)):
                        continue
                    freed += len(node.pages) // PAGE
                    self._leave_host(node)
                del self._copies[node]
        return freed

    def _note_copy(self, node: Node) -> None:
        if node.on_device and node.on_host and node not in self._kept_on_host:
            self._copies.setdefault(node)
        else:
            self._copies.pop(node, None)

    def _leave_host(self, node: Node) -> None:
        node.on_host = False
        self.host.give_back(len(node.pages) // PAGE)

    def _bring_up(self, node: Node) -> None:
        node.on_device = True
        if node not in self._kept_on_host:
            self._note_copy(node)
        self.evictable_pages += len(node.pages) // PAGE
        self.held_pages += len(node.pages) // PAGE

    def _drop(self, leaf: Node) -> int:
        """Take a leaf off the device: it stays in the tree where it has a copy."""
        pages = len(leaf.pages) // PAGE
        self.evictable_pages -= pages
        self.held_pages -= pages
        leaf.on_device = False
        if leaf.on_host:
            assert leaf.parent is not None
            self.offer(leaf)
            self.offer(leaf.parent)
        else:
            self._cut_off(leaf)
            if not self.rules.finds_orphans:
                for node in self._below(leaf):
                    node.parent = None
        return pages

    def _cut_off(self, node: Node) -> None:
        parent = node.parent
        assert parent is not None
        del parent.children[node.pages[:PAGE]]
        node.parent = None
        self.offer(parent)

    def _drop_subtree(self, leaf: Node) -> int:
        """_drop_subtree_no_host: a leaf of the device, and what continues it on the host."""
        for node in self._below(leaf):
            self._leave_host(node)
            node.parent = None
        leaf.children.clear()
        return self._drop(leaf)

    @staticmethod
    def _below(node: Node) -> list[Node]:
        found: list[Node] = []
        waiting = [*node.children.values()]
        while waiting:
            found.append(waiting.pop())
            waiting += found[-1].children.values()
        return found
