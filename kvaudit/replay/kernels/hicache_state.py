"""HiCache's tree for the kernel: its arrays, and the room that they need.

The tree is that of `radix_tree`; its ``EVICTABLE`` and ``HELD`` pages are those on the device. A
node that was dropped has the parent `GONE`. Sizes are in pages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import inner
from kvaudit.replay.kernels.eviction_queue import Queue, empty_queue
from kvaudit.replay.kernels.eviction_queue import with_room as grown_queue
from kvaudit.replay.kernels.growth import grown
from kvaudit.replay.kernels.radix_nodes import LENGTH
from kvaudit.replay.kernels.radix_tree import NODES, NODES_A_REQUEST, Tree, empty_tree
from kvaudit.replay.kernels.radix_tree import with_room as grown_tree
from kvaudit.replay.kernels.recency import Recency, empty_recency, with_keys

GONE = -1
NO_STORAGE = -1
HOST_USED, HOST_PEAK, COPIED, STORED = range(4)
"""Places in ``host``."""
COPIED_BEFORE, COPIED_AFTER, CHILD, NEXT, PREVIOUS, STAGED_BEFORE = range(6)
"""Columns of ``links``: the ring of copies through the root, or `NOT_COPIED`; the first child, and
the siblings on either side, or the root for none; of what an eviction copies, what it did before,
or the root."""
NOT_COPIED = -1
_OFFERS_A_REQUEST = 48
_OFFERS_A_NODE = 2  # when it leaves the device, and when the last one below it leaves the host


class HiTree(NamedTuple):
    """State of the tree, by node unless stated."""

    tree: Tree
    """Its queue is of the leaves that may leave the device."""
    host: NDArray[np.int64]
    """Pages on the host, the most there ever were, all that were ever copied there, and all of
    them that were new to the storage."""
    on_device: NDArray[np.bool_]
    on_host: NDArray[np.bool_]
    kept: NDArray[np.bool_]
    """Whether it may not leave the host just now."""
    device_children: NDArray[np.int32]
    """How many of the children are on the device."""
    host_queue: Queue
    """The leaves that may leave the host, and what was one."""
    links: NDArray[np.int32]
    """Only under write-back."""
    last: NDArray[np.int32]
    """Key of the node's last page; this and what follows only with storage."""
    before: NDArray[np.int32]
    """By key: the page before it in its prompt."""
    storage: Recency
    """By key."""
    scratch: NDArray[np.int32]
    """Room for the keys of a node."""


class HiRules(NamedTuple):
    """What the release does, and what it was told."""

    policy: int
    keeps_age: bool
    host_pages: int
    storage_pages: int
    """`NO_STORAGE` where there is none."""
    hits_to_write: int
    writes_back: bool
    orders_copies: bool
    """Whether copies of what is on the device are the first to leave the host."""
    unified: bool
    needs_parent: bool
    finds_orphans: bool


class Paths(NamedTuple):
    """The pages of a batch's requests."""

    runs: NDArray[np.int64]
    """Where the runs of each request begin."""
    keys: NDArray[np.int32]
    """Keys of all pages, only with storage: it asks for each."""
    starts: NDArray[np.int64]
    """Where those of each request begin."""


class HiPath(NamedTuple):
    """The pages of one request that have keys."""

    run: int
    pages: int
    keys: NDArray[np.int32]


def empty_hitree() -> HiTree:
    """Return a tree that holds nothing."""
    return HiTree(
        tree=empty_tree(),
        host=np.zeros(4, np.int64),
        on_device=np.ones(1, np.bool_),
        on_host=np.zeros(1, np.bool_),
        kept=np.zeros(1, np.bool_),
        device_children=np.zeros(1, np.int32),
        host_queue=grown_queue(empty_queue(), 1, 0),
        links=np.zeros((1, 6), np.int32),
        last=np.zeros(1, np.int32),
        before=np.zeros(1, np.int32),
        storage=empty_recency(),
        scratch=np.empty(0, np.int32),
    )


def with_room(hi: HiTree, keys: int, requests: int, longest: int, rules: HiRules) -> HiTree:
    """Return the tree with room for ``keys`` keys and for what the next request can add.

    There is room for more requests, up to ``requests``, as long as `has_room` says so; none has
    more than ``longest`` pages.
    """
    stored = rules.storage_pages != NO_STORAGE
    if stored:  # what is fetched makes a cut, a leaf and another cut
        requests = 2 * requests
    tree = grown_tree(hi.tree, requests)
    made = int(tree.totals[NODES])
    nodes = made + NODES_A_REQUEST * requests
    offers = 2 * _OFFERS_A_NODE * made + _OFFERS_A_REQUEST * requests
    return HiTree(
        tree=tree._replace(queue=grown_queue(tree.queue, nodes, offers)),
        host=hi.host,
        on_device=grown(hi.on_device, nodes),
        on_host=grown(hi.on_host, nodes),
        kept=grown(hi.kept, nodes, fill=0),
        device_children=grown(hi.device_children, nodes),
        host_queue=grown_queue(hi.host_queue, nodes, offers),
        links=grown(hi.links, nodes if rules.writes_back else 1),
        last=grown(hi.last, nodes if stored else 1),
        before=grown(hi.before, keys if stored else 1),
        storage=with_keys(hi.storage, keys if stored else 0),
        scratch=grown(hi.scratch, longest if stored else 0),
    )


@inner
def has_room(hi: HiTree) -> bool:
    """Whether whatever the next request offers fits into the queues."""
    most = _OFFERS_A_NODE * hi.tree.totals[NODES] + _OFFERS_A_REQUEST
    own, host = hi.tree.queue, hi.host_queue
    return bool(own.size[0] + most <= len(own.first) and host.size[0] + most <= len(host.first))


@inner
def take_room(hi: HiTree, pages: int) -> None:
    """Hold so many pages more on the host."""
    host = hi.host
    host[HOST_USED] += pages
    host[HOST_PEAK] = max(host[HOST_PEAK], host[HOST_USED])


@inner
def leave_host(hi: HiTree, node: int) -> int:
    """Take a node's copy off the host; return its pages."""
    pages = hi.tree.nodes[node, LENGTH]
    hi.on_host[node] = False
    hi.host[HOST_USED] -= pages
    return int(pages)
