"""TensorRT-LLM's pool of blocks over its search tree, one request at a time.

Read from TensorRT-LLM main as stored in 2026, ``cpp/tensorrt_llm/batch_manager``,
``kvCacheManager.cpp`` and ``evictionPolicy.cpp``; the function is named beside each rule. Block
reuse, partial reuse and copy on partial reuse on, one attention window, beam width 1, no host
tier, every block at the default priority. Nothing else runs while a request does.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.outcomes import CacheOutcome, all_served, check_sizes

_UNIT = 4
"""Bytes of a token id; texts are bytes, so that comparing them is quick."""


@dataclass(slots=True, eq=False)
class Block:
    """A block of the pool; it stands in the tree when it has a parent."""

    text: bytes = b""
    parent: Block | None = None
    children: dict[bytes, Block] = field(default_factory=dict)
    """By their text."""


class Served(NamedTuple):
    """What one request found and left behind."""

    hit_tokens: int
    hit_blocks: int
    """A block of which a part was reused counted as one."""
    admitted: bool
    evicted_blocks: int
    held_blocks: int


class TrtllmPool:
    """The pool of one engine instance; remembers from request to request.

    ``capacity_blocks`` None never evicts. Grows to about 300 bytes a block that was ever used, and
    4 bytes a token of it.
    """

    def __init__(self, *, capacity_blocks: int | None, block_size: int) -> None:
        """Start with every block free."""
        check_sizes(capacity_blocks, block_size)
        self.capacity_blocks = capacity_blocks
        self.block_size = block_size
        self.peak_blocks = 0
        self.held_blocks = 0
        """Blocks in the tree."""
        self.allocated_blocks = 0
        """Blocks that were ever in use; the others stand before all that were freed."""
        self.free: OrderedDict[Block, None] = OrderedDict()  # the next to be taken first
        self._roots: dict[int, Block] = {}
        self._next_unknown_id = -1

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other; block keys are not needed."""
        return self.replay_some(prompts, blocks, all_served(prompts))

    def replay_some(
        self, prompts: PromptBatch, blocks: BlockBatch, served: NDArray[np.bool_]
    ) -> CacheOutcome:
        """Serve the marked requests one after the other, and only look at the others."""
        found = []
        for index, own in enumerate(served.tolist()):
            root = self._roots.setdefault(int(prompts.namespaces[index]), Block())
            tokens = int(prompts.prompt_tokens[index])
            if own:
                text = self._text(prompts, index)
                found.append(self._serve(root, text, tokens, int(prompts.output_tokens[index])))
            else:
                start = int(prompts.offsets[index])
                text = prompts.units[start : start + tokens].tobytes()
                found.append(self._look(root, text, tokens))
        table = np.array(found, np.int64).reshape(-1, len(Served._fields))
        return CacheOutcome(
            cached_tokens=table[:, 0],
            hit_blocks=table[:, 1],
            admitted=table[:, 2].astype(np.bool_),
            evicted_blocks=table[:, 3],
            held_blocks=table[:, 4],
            peak_blocks=self.peak_blocks,
        )

    def _look(self, root: Block | None, text: bytes, tokens: int) -> Served:
        """Return what `_serve` would find. Changes nothing."""
        if self._is_too_long(tokens):
            root = None
        matched = hits = 0
        for part in self._parts(text, tokens - 1):
            block, shared = _best(root, part) if root is not None else (None, 0)
            if block is None:
                break
            matched += shared
            hits += 1
            root = block if self._is_whole(block, part) else None
        return Served(matched, hits, True, 0, self.held_blocks)

    def _serve(self, root: Block, text: bytes, tokens: int, outputs: int) -> Served:
        """Run one request to its end."""
        prompt_blocks = -(-tokens // self.block_size)
        if self._is_too_long(tokens):
            return Served(0, 0, False, 0, self.held_blocks)
        # addSequence: the last token is not looked up, for it must be computed.
        parts = list(self._parts(text, tokens - 1))
        table: list[Block] = []
        node: Block | None = root
        matched = hits = evicted = 0
        for index in range(prompt_blocks):
            part = parts[index] if index < len(parts) else b""
            block, shared = _best(node, part) if node is not None else (None, 0)
            node = None
            matched += shared
            hits += block is not None
            if block is not None and self._is_whole(block, part):
                del self.free[block]
                node = block
            elif block is not None and not block.children:
                # loadOrAllocateBlocks: a leaf that nobody uses is taken as it stands, and what
                # it held beyond the shared tokens is lost.
                self._detach(block)
                del self.free[block]
            else:  # nothing to reuse, or a block that others continue: its tokens are copied
                block, dropped = self._take()
                evicted += dropped
            table.append(block)
        # The first output token comes with the prefill, and the last one is never computed.
        computed = tokens + max(outputs, 1) - 1
        while len(table) * self.block_size < computed:
            if not self._has_free():
                computed = len(table) * self.block_size
                break
            block, dropped = self._take()
            evicted += dropped
            table.append(block)
        self.peak_blocks = max(self.peak_blocks, self.allocated_blocks)
        self._store(root, list(self._parts(text, computed)), table)
        for block in reversed(table):  # releaseBlocks: the last one is the first to be taken
            self.free[block] = None
        return Served(matched, hits, True, evicted, self.held_blocks)

    def _store(self, node: Block, parts: list[bytes], table: list[Block]) -> None:
        """Put a request's blocks into the tree, its partial last one too (``storeBlocks``)."""
        for part, block in zip(parts, table, strict=True):
            same = node.children.get(part)
            if same is None:
                self._detach(block)
                block.text, block.parent = part, node
                node.children[part] = block
                self.held_blocks += 1
                same = block
            node = same

    def _take(self) -> tuple[Block, int]:
        """Take the next free block; return how many blocks lose their KV by that."""
        if self.capacity_blocks is None or self.allocated_blocks < self.capacity_blocks:
            self.allocated_blocks += 1
            return Block(), 0
        block, _ = self.free.popitem(last=False)
        before = self.held_blocks
        for lost in list(_subtree(block)):  # freeChildren: what continues it is out of reach
            self._detach(lost)
        return block, before - self.held_blocks

    def _is_too_long(self, tokens: int) -> bool:
        """Whether a prompt has more blocks than the pool, and is never admitted."""
        return self.capacity_blocks is not None and tokens > self.capacity_blocks * self.block_size

    def _has_free(self) -> bool:
        if self.capacity_blocks is None or self.allocated_blocks < self.capacity_blocks:
            return True
        return bool(self.free)

    def _detach(self, block: Block) -> None:
        """Take a block out of the tree, if it is in it."""
        if block.parent is not None:
            del block.parent.children[block.text]
            block.parent = None
            self.held_blocks -= 1

    def _is_whole(self, block: Block, part: bytes) -> bool:
        """Whether the block is full and all of it is asked for, so that it can be shared."""
        return block.text == part and len(part) == self.block_size * _UNIT

    def _parts(self, text: bytes, tokens: int) -> Iterator[bytes]:
        """Cut the first ``tokens`` tokens into blocks, the last one partial."""
        step, end = self.block_size * _UNIT, tokens * _UNIT
        for start in range(0, end, step):
            yield text[start : min(start + step, end)]

    def _text(self, prompts: PromptBatch, index: int) -> bytes:
        """Return prompt and generated tokens as bytes; unknown ones get ids of their own."""
        start, end = prompts.offsets[index : index + 2].tolist()
        tokens = int(prompts.prompt_tokens[index] + prompts.output_tokens[index])
        unknown = tokens - (end - start)
        ids = self._next_unknown_id - np.arange(unknown, dtype=np.int32)
        self._next_unknown_id -= unknown
        return bytes(prompts.units[start:end].tobytes() + ids.tobytes())


def _best(node: Block, part: bytes) -> tuple[Block | None, int]:
    """Return the child that shares most tokens with the part, and how many (findMatchingBlock).

    Of several that share as many, the one that was stored first.
    """
    if not part:
        return None, 0
    same = node.children.get(part)
    if same is not None:
        return same, len(part) // _UNIT
    best, most = None, 0
    for text, child in node.children.items():
        if text[:_UNIT] == part[:_UNIT]:
            shared = _shared(text, part)
            if shared > most:
                best, most = child, shared
    return best, most


def _shared(one: bytes, other: bytes) -> int:
    """Return how many tokens two texts share at their start."""
    low, high = 0, min(len(one), len(other)) // _UNIT
    while low < high:
        middle = (low + high + 1) // 2
        if one[: middle * _UNIT] == other[: middle * _UNIT]:
            low = middle
        else:
            high = middle - 1
    return low


def _subtree(block: Block) -> Iterator[Block]:
    """Yield what continues a block, the deepest first, and then the block."""
    for child in block.children.values():
        yield from _subtree(child)
    yield block
