"""HiCache's tree for the kernel: its arrays, and the room that they need.

The tree is that of `radix_tree`; its ``EVICTABLE`` and ``HELD`` pages are those on the device. A
node that was dropped has the parent `GONE`. Sizes are in pages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.eviction_queue import Queue, empty_queue
from kvaudit.replay.kernels.eviction_queue import with_room as grown_queue
from kvaudit.replay.kernels.growth import grown
from kvaudit.replay.kernels.radix_tree import NODES, NODES_A_REQUEST, Tree, empty_tree
from kvaudit.replay.kernels.radix_tree import with_room as grown_tree

GONE = -1
HOST_USED, HOST_PEAK, COPIED = range(3)
"""Places in ``host``."""
_OFFERS_A_REQUEST = 32
_OFFERS_A_NODE = 2  # when it leaves the device, and when the last one below it leaves the host


class HiTree(NamedTuple):
    """State of the tree, by node unless stated."""

    tree: Tree
    """Its queue is of the leaves that may leave the device."""
    host: NDArray[np.int64]
    """Pages on the host, the most there ever were, all that were ever copied there."""
    on_device: NDArray[np.bool_]
    on_host: NDArray[np.bool_]
    device_children: NDArray[np.int32]
    """How many of the children are on the device."""
    host_queue: Queue
    """The leaves that may leave the host, and what was one."""


class HiRules(NamedTuple):
    """What the release does, and what it was told."""

    policy: int
    keeps_age: bool
    host_pages: int
    hits_to_write: int
    unified: bool
    needs_parent: bool
    finds_orphans: bool


def empty_hitree() -> HiTree:
    """Return a tree that holds nothing."""
    return HiTree(
        tree=empty_tree(),
        host=np.zeros(3, np.int64),
        on_device=np.ones(1, np.bool_),
        on_host=np.zeros(1, np.bool_),
        device_children=np.zeros(1, np.int32),
        host_queue=grown_queue(empty_queue(), 1, 0),
    )


def with_room(hi: HiTree, keys: int, requests: int) -> HiTree:
    """Return the tree with room for ``keys`` keys and for what the next request can add.

    There is room for more requests, up to ``requests``, as long as `has_room` says so.
    """
    tree = grown_tree(hi.tree, keys, requests)
    made = int(tree.totals[NODES])
    nodes = made + NODES_A_REQUEST * requests
    offers = 2 * _OFFERS_A_NODE * made + _OFFERS_A_REQUEST * requests
    return HiTree(
        tree=tree._replace(queue=grown_queue(tree.queue, nodes, offers)),
        host=hi.host,
        on_device=grown(hi.on_device, nodes),
        on_host=grown(hi.on_host, nodes),
        device_children=grown(hi.device_children, nodes),
        host_queue=grown_queue(hi.host_queue, nodes, offers),
    )


@compiled
def has_room(hi: HiTree) -> bool:
    """Whether whatever the next request offers fits into the queues."""
    most = _OFFERS_A_NODE * hi.tree.totals[NODES] + _OFFERS_A_REQUEST
    own, host = hi.tree.queue, hi.host_queue
    return bool(own.size[0] + most <= len(own.first) and host.size[0] + most <= len(host.first))
