"""Which block TensorRT-LLM finds for a part of a prompt, and what is told of a request.

Read from the main branch of TensorRT-LLM, 2026, ``cpp/tensorrt_llm/batch_manager``,
``kvCacheManager.cpp`` (``KVCacheBlock::findMatchingBlock``).
"""

from __future__ import annotations

from typing import NamedTuple

from kvaudit.replay.models.trtllm_queues import Block
from kvaudit.replay.models.trtllm_retention import PartialReuse

UNIT = 4
"""Bytes of a token id; texts are bytes, so that comparing them is quick."""


class Served(NamedTuple):
    """What one request found and left behind."""

    hit_tokens: int
    hit_blocks: int
    """A block of which a part was reused counted as one."""
    admitted: bool
    evicted_blocks: int
    held_blocks: int
    """In the accelerator's memory."""
    host_tokens: int = 0
    """Of the hit tokens, those that were read back from the host."""
    offloaded_blocks: int = 0


def best_child(node: Block, part: bytes, partial: PartialReuse) -> tuple[Block | None, int]:
    """Return the child that shares most tokens with the part, and how many.

    Of several that share as many, the one that was stored first.
    """
    if not part:
        return None, 0
    same = node.children.get(part)
    if same is not None:
        return same, len(part) // UNIT
    best, most = None, 0
    if partial is PartialReuse.OFF:
        return best, most
    for text, child in node.children.items():
        if partial is PartialReuse.LEAF and child.children:
            continue
        if text[:UNIT] == part[:UNIT]:
            shared = _shared(text, part)
            if shared > most:
                best, most = child, shared
    return best, most


def _shared(one: bytes, other: bytes) -> int:
    """Return how many tokens two texts share at their start."""
    low, high = 0, min(len(one), len(other)) // UNIT
    while low < high:
        middle = (low + high + 1) // 2
        if one[: middle * UNIT] == other[: middle * UNIT]:
            low = middle
        else:
            high = middle - 1
    return low
