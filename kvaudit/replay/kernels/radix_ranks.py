"""Which leaf of SGLang's radix tree goes first, compiled; see `RANKS` of the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvaudit.replay.kernels.compiled import inner
from kvaudit.replay.models.radix import RANKS

if TYPE_CHECKING:
    from kvaudit.replay.kernels.radix_tree import Tree

KEEP_ALL = -1
"""Stands for the policy of a tree that never evicts: nothing is queued for it."""
POLICIES = {name: number for number, name in enumerate(RANKS)}
_LRU, _LFU, _FIFO, _MRU, _FILO, _PRIORITY, _SLRU, _TLRU = range(len(POLICIES))


@inner
def rank(tree: Tree, node: int, policy: int) -> tuple[int, int]:
    """Return the rank of a node; the smallest goes first."""
    if policy == _LFU:
        return tree.uses[node], tree.touched[node]
    if policy == _FIFO:
        return 0, tree.created[node]
    if policy == _MRU:
        return 0, -tree.touched[node]
    if policy == _FILO:
        return 0, -tree.created[node]
    if policy == _PRIORITY:
        return tree.priority[node], tree.touched[node]
    if policy == _SLRU:
        return (1 if tree.uses[node] >= 2 else 0), tree.touched[node]
    return 0, tree.touched[node]
