"""Which leaf of SGLang's radix tree goes first, compiled; see `RANKS` of the reference."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import inner
from kvaudit.replay.kernels.radix_nodes import CREATED, PRIORITY, TOUCHED, USES
from kvaudit.replay.models.radix import RANKS

KEEP_ALL = -1
"""Stands for the policy of a tree that never evicts: nothing is queued for it."""
POLICIES = {name: number for number, name in enumerate(RANKS)}
_LRU, _LFU, _FIFO, _MRU, _FILO, _PRIORITY, _SLRU, _TLRU = range(len(POLICIES))


@inner
def rank(nodes: NDArray[np.int64], node: int, policy: int) -> tuple[int, int]:
    """Return the rank of a node; the smallest goes first."""
    if policy == _LFU:
        return nodes[node, USES], nodes[node, TOUCHED]
    if policy == _FIFO:
        return 0, nodes[node, CREATED]
    if policy == _MRU:
        return 0, -nodes[node, TOUCHED]
    if policy == _FILO:
        return 0, -nodes[node, CREATED]
    if policy == _PRIORITY:
        return nodes[node, PRIORITY], nodes[node, TOUCHED]
    if policy == _SLRU:
        return (1 if nodes[node, USES] >= 2 else 0), nodes[node, TOUCHED]
    return 0, nodes[node, TOUCHED]
