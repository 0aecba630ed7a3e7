"""TensorRT-LLM's pool of blocks over its search tree, one request at a time.

Read from the main branch of TensorRT-LLM, 2026, ``cpp/tensorrt_llm/batch_manager``,
``kvCacheManager.cpp`` and ``evictionPolicy.cpp``; the function is named beside each rule. Block
reuse and onboarding on, one attention window, beam width 1. Nothing else runs while a request does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.models.tiers import TierState
from kvaudit.replay.models.trtllm_queues import HOST, PRIMARY, Block, FreeQueues
from kvaudit.replay.models.trtllm_retention import (
    DEFAULT_OPTIONS,
    DEFAULT_PRIORITY,
    NO_DURATION,
    NO_PRIORITY,
    NOTHING_ASKED,
    Retained,
    Retention,
    TrtllmOptions,
    lifespans_us,
    retention_priorities,
    whole_request,
)
from kvaudit.replay.models.trtllm_search import UNIT, Served, best_child
from kvaudit.replay.outcomes import CacheOutcome, all_served, check_sizes


class TrtllmPool:
    """The pools of one engine instance; remembers from request to request.

    ``capacity_blocks`` None never evicts. ``host_blocks`` is the second pool, in host memory: 0
    for none, None for one without a bound. Grows to about 300 bytes a block that was ever used,
    and 4 bytes a token of it.
    """

    def __init__(
        self,
        *,
        capacity_blocks: int | None,
        block_size: int,
        host_blocks: int | None = 0,
        options: TrtllmOptions = DEFAULT_OPTIONS,
    ) -> None:
        """Start with every block free."""
        check_sizes(capacity_blocks, block_size)
        self.options = options
        self.capacity_blocks = capacity_blocks
        self.block_size = block_size
        self.free = FreeQueues((capacity_blocks, host_blocks))
        self.held_blocks = [0, 0]
        """Blocks in the tree, by level."""
        self.host_peak_blocks = 0
        self.moved_tokens: NDArray[np.int64] = np.empty((1, 0), np.int64)
        """Tokens of blocks moved to the host, by request of the last batch."""
        self._has_host = host_blocks != 0
        self._roots: dict[int, Block] = {}
        self._next_unknown_id = -1
        self._last_us = 0
        self._now_us = 0
        self._evicted = self._offloaded = 0  # by the request that is served

    @property
    def lower_tiers(self) -> Sequence[TierState]:
        """Return what is to be told of the host."""
        return [TierState(self.free.sizes[HOST], self.host_peak_blocks)]

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other; block keys are not needed."""
        return self.replay_some(prompts, blocks, all_served(prompts))

    def replay_some(
        self, prompts: PromptBatch, blocks: BlockBatch, served: NDArray[np.bool_]
    ) -> CacheOutcome:
        """Serve the marked requests one after the other, and only look at the others."""
        found = []
        priorities = retention_priorities(prompts).tolist()
        arrived, ended = lifespans_us(prompts, self._last_us).tolist()
        self._last_us = arrived[-1] if arrived else self._last_us
        for index, own in enumerate(served.tolist()):
            root = self._roots.setdefault(int(prompts.namespaces[index]), Block(PRIMARY))
            tokens = int(prompts.prompt_tokens[index])
            if own:
                text, outputs = self._text(prompts, index), int(prompts.output_tokens[index])
                asked = self.options.retention
                if priorities[index] != NO_PRIORITY:
                    asked = whole_request(priorities[index])
                self._tell(arrived[index])
                served_one = self._serve(root, text, tokens, outputs, asked, ended[index])
                found.append(served_one)
            else:
                start = int(prompts.offsets[index])
                text = prompts.units[start : start + tokens].tobytes()
                found.append(self._look(root, text, tokens))
        table = np.array(found, np.int64).reshape(-1, len(Served._fields))
        by_field = dict(zip(Served._fields, table.T, strict=True))
        self.moved_tokens = by_field["offloaded_blocks"][None] * self.block_size
        hits, of_host = by_field["hit_tokens"], by_field["host_tokens"]
        return CacheOutcome(
            cached_tokens=hits,
            hit_blocks=by_field["hit_blocks"],
            admitted=by_field["admitted"].astype(np.bool_),
            evicted_blocks=by_field["evicted_blocks"],
            held_blocks=by_field["held_blocks"],
            peak_blocks=self.free.made[PRIMARY],
            tier_tokens=np.vstack([hits - of_host, of_host]) if self._has_host else None,
        )

    def _look(self, root: Block | None, text: bytes, tokens: int) -> Served:
        """Return what `_serve` would find. Changes nothing."""
        if self._is_too_long(tokens):
            root = None
        matched = hits = host = 0
        for part in self._parts(text, tokens - 1):
            block, shared = self._find(root, part)
            if block is None:
                break
            matched += shared
            hits += 1
            host += shared * (block.level == HOST)
            root = block if self._is_whole(block, part) else None
        return Served(matched, hits, True, 0, self.held_blocks[PRIMARY], host)

    def _serve(
        self,
        root: Block,
        text: bytes,
        tokens: int,
        outputs: int,
        asked: Retention,
        ended_us: int,
    ) -> Served:
        """Run one request to its end."""
        if self._is_too_long(tokens):
            return Served(0, 0, False, 0, self.held_blocks[PRIMARY])
        self._evicted = self._offloaded = 0
        table, matched, hits, host = self._load(root, text, tokens, asked)
        # The first output token comes with the prefill, and the last one is never computed.
        computed = tokens + max(outputs, 1) - 1
        while len(table) * self.block_size < computed:
            if not self.free.has_free(PRIMARY):
                computed = len(table) * self.block_size
                break
            table.append(self._take(asked.decode))
        self._store(root, list(self._parts(text, computed)), table)
        self._tell(ended_us)
        for block in reversed(table):  # releaseBlocks: the last one is the first to be taken
            self.free.add(block, self._now_us)
        held = self.held_blocks[PRIMARY]
        return Served(matched, hits, True, self._evicted, held, host, self._offloaded)

    def _tell(self, now_us: int) -> None:
        """Let time pass (refreshBlocks, at the start of every step)."""
        self._now_us = now_us
        self.free.refresh(now_us)

    def _load(
        self, root: Block, text: bytes, tokens: int, asked: Retention
    ) -> tuple[list[Block], int, int, int]:
        """Return a prompt's blocks, and how many tokens and blocks hit, and tokens of the host.

        loadOrAllocateBlocks. The last token is not looked up, for it must be computed.
        """
        parts = list(self._parts(text, tokens - 1))
        table: list[Block] = []
        node: Block | None = root
        matched = hits = host = 0
        for index in range(-(-tokens // self.block_size)):
            part = parts[index] if index < len(parts) else b""
            block, shared = self._find(node, part)
            retained = asked.of_block(index * self.block_size)
            node = None
            matched += shared
            hits += block is not None
            host += shared * (block is not None and block.level == HOST)
            if block is not None and self._is_whole(block, part):
                self.free.claim(block, retained)
                node = block
            elif block is not None and not block.children:
                # A leaf that nobody uses is taken as it stands, and what it held beyond the
                # shared tokens is lost.
                self._detach(block)
                self.free.claim(block, retained)
            elif block is not None:  # others continue it: its tokens are copied
                block = self._take(Retained(block.priority, block.duration_us))
                block.is_keyed = True
            else:
                block = self._take(retained)
                block.is_keyed = bool(part)
            self._onboard(block)
            table.append(block)
        return table, matched, hits, host

    def _store(self, node: Block, parts: list[bytes], table: list[Block]) -> None:
        """Put a request's blocks into the tree, its partial last one too (``storeBlocks``)."""
        for part, block in zip(parts, table, strict=True):
            same = node.children.get(part)
            if same is None:
                self._detach(block)
                block.text, block.parent, block.is_keyed = part, node, True
                node.children[part] = block
                self.held_blocks[block.level] += 1
                same = block
            node = same

    def _take(self, retained: Retained) -> Block:
        """Take the next free block of the accelerator (``getFreeBlock``).

        What it held goes to the host, if that has room and the priority is worth it: the two
        blocks swap their memory.
        """
        block = self.free.take(PRIMARY)
        worth = block.is_keyed and block.priority >= self.options.offload_min_priority
        if worth and self.free.has_free(HOST):
            spare = self.free.take(HOST)
            self._move(block, HOST)
            self._move(spare, PRIMARY)
            block.duration_us = NO_DURATION  # it was claimed without one
            self.free.add(block, self._now_us)
            self._offloaded += 1
            block = spare
        before = sum(self.held_blocks)
        for lost in list(block.subtree()):  # freeChildren: what continues it is out of reach
            self._detach(lost)
        self._evicted += before - sum(self.held_blocks)
        is_asked = retained.priority != NO_PRIORITY
        block.priority = retained.priority if is_asked else DEFAULT_PRIORITY
        block.duration_us = retained.duration_us
        return block

    def _onboard(self, block: Block) -> None:
        """Bring a block that is in use back to the accelerator (``onboardBlock``)."""
        if block.level == HOST:
            spare = self._take(NOTHING_ASKED)
            self._move(block, PRIMARY)
            self._move(spare, HOST)
            self.free.add(spare, self._now_us)

    def _move(self, block: Block, level: int) -> None:
        if block.parent is not None:
            self.held_blocks[block.level] -= 1
            self.held_blocks[level] += 1
        block.level = level
        self.host_peak_blocks = max(self.host_peak_blocks, self.held_blocks[HOST])

    def _find(self, node: Block | None, part: bytes) -> tuple[Block | None, int]:
        """Return the block that is found for a part after a node, and how many tokens of it."""
        if node is None:
            return None, 0
        return best_child(node, part, self.options.partial_reuse)

    def _is_too_long(self, tokens: int) -> bool:
        """Whether a prompt has more blocks than the pool, and is never admitted."""
        return self.capacity_blocks is not None and tokens > self.capacity_blocks * self.block_size

    def _detach(self, block: Block) -> None:
        """Take a block out of the tree, if it is in it."""
        if block.parent is not None:
            del block.parent.children[block.text]
            block.parent = None
            self.held_blocks[block.level] -= 1

    def _is_whole(self, block: Block, part: bytes) -> bool:
        """Whether the block is full and all of it is asked for, so that it can be shared."""
        return block.text == part and len(part) == self.block_size * UNIT

    def _parts(self, text: bytes, tokens: int) -> Iterator[bytes]:
        """Cut the first ``tokens`` tokens into blocks, the last one partial."""
        step, end = self.block_size * UNIT, tokens * UNIT
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
