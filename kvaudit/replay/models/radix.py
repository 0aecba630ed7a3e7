"""SGLang's radix tree, one request at a time: matched, prefilled, decoded, freed.

Read from SGLang 0.5.4 to 0.5.23, ``sglang/srt/mem_cache/radix_cache.py``, ``common.py`` and
``allocation.py``; the function is named beside each rule. Nothing else runs while a request
does. Radix caching on, no host tier, no draft model.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.models.sglang_releases import Kept, Rules
from kvaudit.replay.outcomes import CacheOutcome, all_served, check_sizes

_UNIT = 4
"""Bytes of a token id; texts are bytes, so that comparing them is quick."""


@dataclass(slots=True, eq=False)
class Node:
    """A run of tokens after its parent's; a namespace's root holds none."""

    text: bytes = b""
    parent: Node | None = None
    children: dict[bytes, Node] = field(default_factory=dict)
    """By the first page of their text."""
    users: int = 0
    """Requests that hold it; it may be evicted when there are none."""
    touched: int = 0
    """When it was last visited, by a clock that counts visits."""


class RadixTree:
    """The tree and the tokens it holds; sizes are in tokens unless they say bytes."""

    def __init__(self, page_size: int) -> None:
        """Start empty."""
        self.page_size = page_size
        self.evictable_tokens = 0
        """Tokens of nodes that no request holds."""
        self.held_tokens = 0
        self._roots: dict[int, Node] = {}
        self._clock = count(1)
        self._leaves: list[tuple[int, int, Node]] = []  # heap; entries may be out of date

    def match(self, namespace: int, text: bytes) -> tuple[int, Node]:
        """Return the length in tokens of the longest held prefix in whole pages, and its node.

        Refreshes what it visits and splits a node that matches in part, even for a read
        (``match_prefix``).
        """
        node = self._roots.setdefault(namespace, Node())
        at, end = 0, self._aligned(len(text))
        while at < end:
            child = node.children.get(self._first_page(text[at:]))
            if child is None:
                break
            child.touched = next(self._clock)
            shared = self._aligned(_shared(child.text, text[at:end]))
            at += shared
            if shared < len(child.text):
                # The rest of it was refreshed as well, just before the split.
                node = self._split(child, shared)
                break
            node = child
        return at // _UNIT, node

    def held_prefix(self, namespace: int, text: bytes) -> int:
        """Return what `match` would, in tokens. Changes nothing."""
        node = self._roots.get(namespace)
        at, end = 0, self._aligned(len(text))
        while node is not None and at < end:
            node = node.children.get(self._first_page(text[at:]))
            if node is not None:
                shared = self._aligned(_shared(node.text, text[at:end]))
                at += shared
                if shared < len(node.text):
                    break
        return at // _UNIT

    def insert(self, namespace: int, text: bytes) -> int:
        """Hold the text's whole pages; return how many tokens of it were held before."""
        known, node = self.match(namespace, text)
        rest = text[known * _UNIT : self._aligned(len(text))]
        if rest:
            leaf = Node(text=rest, parent=node, touched=next(self._clock))
            node.children[self._first_page(rest)] = leaf
            self._offer(leaf)
            self.evictable_tokens += len(rest) // _UNIT
            self.held_tokens += len(rest) // _UNIT
        return known

    def hold(self, node: Node) -> None:
        """Keep a node and all before it from being evicted (``inc_lock_ref``)."""
        for held in _path(node):
            if not held.users:
                self.evictable_tokens -= len(held.text) // _UNIT
            held.users += 1

    def release(self, node: Node) -> None:
        """Undo one `hold` (``dec_lock_ref``)."""
        for held in _path(node):
            held.users -= 1
            if not held.users:
                self.evictable_tokens += len(held.text) // _UNIT
        self._offer(node)

    def evict(self, tokens: int) -> int:
        """Drop whole leaves, the least recently visited first, until ``tokens`` are free."""
        freed = 0
        while freed < tokens and self._leaves:
            touched, number, leaf = heapq.heappop(self._leaves)
            if leaf.parent is None or not _is_free_leaf(leaf):
                continue  # dropped since, in use, or a leaf no longer
            if leaf.touched != touched:
                heapq.heappush(self._leaves, (leaf.touched, number, leaf))
                continue
            freed += len(leaf.text) // _UNIT
            del leaf.parent.children[self._first_page(leaf.text)]
            parent, leaf.parent = leaf.parent, None
            self._offer(parent)
        self.evictable_tokens -= freed
        self.held_tokens -= freed
        return freed

    def _offer(self, node: Node) -> None:
        """Name a node as one that may be evicted, if it is a leaf that nobody holds."""
        if node.parent is not None and _is_free_leaf(node):
            heapq.heappush(self._leaves, (node.touched, next(self._clock), node))

    def _split(self, node: Node, at: int) -> Node:
        """Cut a node's text after ``at`` bytes and return the upper part (``_split_node``)."""
        assert node.parent is not None
        upper = Node(node.text[:at], node.parent, users=node.users, touched=next(self._clock))
        node.parent.children[self._first_page(node.text)] = upper
        node.text, node.parent = node.text[at:], upper
        upper.children[self._first_page(node.text)] = node
        return upper

    def nodes(self) -> Iterator[Node]:
        """Yield every node but the roots."""
        waiting = list(self._roots.values())
        while waiting:
            node = waiting.pop()
            waiting += node.children.values()
            if node.parent is not None:
                yield node

    def _aligned(self, size: int) -> int:
        return size - size % (self.page_size * _UNIT)

    def _first_page(self, text: bytes) -> bytes:
        return text[: self.page_size * _UNIT]


class SglangCache:
    """One engine instance; remembers from request to request.

    ``capacity_tokens`` None never evicts. Grows to 4 bytes a distinct token and about 300
    bytes a node, of which there are no more than four a request.
    """

    def __init__(self, *, capacity_tokens: int | None, page_size: int, rules: Rules) -> None:
        """Take the size of the pool, of a page, and what the release does."""
        check_sizes(capacity_tokens, page_size)
        self.capacity_tokens = capacity_tokens
        self.page_size = page_size
        self.rules = rules
        self._tree = RadixTree(page_size)
        self._used_tokens = 0  # of the tree and of the request that is being served
        self._evicted_tokens = 0
        self._peak_tokens = 0
        self._next_unknown_id = -1

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other; block keys are not needed."""
        return self.replay_some(prompts, blocks, all_served(prompts))

    def replay_some(
        self, prompts: PromptBatch, blocks: BlockBatch, served: NDArray[np.bool_]
    ) -> CacheOutcome:
        """Serve the marked requests one after the other, and only look at the others."""
        found = [
            self._serve(prompts, index) if own else self._look(prompts, index)
            for index, own in enumerate(served.tolist())
        ]
        hits, admitted, evicted, held = np.array(found, np.int64).reshape(-1, 4).T
        return CacheOutcome(
            cached_tokens=hits,
            hit_blocks=-(-hits // self.page_size),
            admitted=admitted.astype(np.bool_),
            evicted_blocks=evicted // self.page_size,
            held_blocks=held // self.page_size,
            peak_blocks=-(-self._peak_tokens // self.page_size),
        )

    def _look(self, prompts: PromptBatch, index: int) -> tuple[int, bool, int, int]:
        """Return what `_serve` would find. Changes nothing."""
        start, tokens = int(prompts.offsets[index]), int(prompts.prompt_tokens[index])
        text = prompts.units[start : start + tokens - 1].tobytes()
        hit = self._tree.held_prefix(int(prompts.namespaces[index]), text)
        return hit, True, 0, self._tree.held_tokens

    def _serve(self, prompts: PromptBatch, index: int) -> tuple[int, bool, int, int]:
        tree, namespace = self._tree, int(prompts.namespaces[index])
        tokens, outputs = int(prompts.prompt_tokens[index]), int(prompts.output_tokens[index])
        self._evicted_tokens = 0
        text = self._text(prompts, index)
        # schedule_batch.py, init_next_round_input: the last token is always computed.
        hit, node = tree.match(namespace, text[: (tokens - 1) * _UNIT])
        # allocation.py: with pages, one more than is filled is asked for.
        asked = tokens - hit + (self.page_size if self.page_size > 1 else 0)
        tree.hold(node)
        if not self._fits(asked):
            tree.release(node)
            return 0, False, 0, tree.held_tokens
        own_end = self._pages(tokens)
        self._take(own_end - hit, asked)
        own_start = hit  # what it computed stands between these, until the tree has it
        if outputs > 1:
            # cache_unfinished_req. A request with one output token enters the tree at its end.
            known = tree.insert(namespace, text[: tokens * _UNIT])
            self._used_tokens -= max(0, known - own_start)
            own_start, longer = tree.match(namespace, text[: tokens * _UNIT])
            tree.hold(longer)
            tree.release(node)
            node = longer
        computed = tokens
        for _ in range(max(outputs - self.rules.uncomputed_outputs, 0)):
            if computed == own_end:
                if not self._fits(self.page_size):
                    break  # the engine would retract it, and it can never come back
                self._take(self.page_size, self.page_size)
                own_end += self.page_size
            computed += 1
        # cache_finished_req: what the tree had before, and what fills no page, is free again.
        kept = tokens if self.rules.kept is Kept.PROMPT else computed
        known = tree.insert(namespace, text[: kept * _UNIT])
        in_tree = kept - kept % self.page_size
        self._used_tokens -= max(0, known - own_start) + own_end - in_tree
        tree.release(node)
        return hit, True, self._evicted_tokens, tree.held_tokens

    def _text(self, prompts: PromptBatch, index: int) -> bytes:
        """Return prompt and generated tokens as bytes; unknown ones get ids of their own."""
        start, end = prompts.offsets[index : index + 2].tolist()
        tokens = int(prompts.prompt_tokens[index] + prompts.output_tokens[index])
        unknown = tokens - (end - start)
        ids = self._next_unknown_id - np.arange(unknown, dtype=np.int32)
        self._next_unknown_id -= unknown
        return bytes(prompts.units[start:end].tobytes() + ids.tobytes())

    def _pages(self, tokens: int) -> int:
        return -(-tokens // self.page_size) * self.page_size

    def _fits(self, tokens: int) -> bool:
        if self.capacity_tokens is None:
            return True
        free = self.capacity_tokens - self._used_tokens
        return tokens <= free + self._tree.evictable_tokens

    def _take(self, tokens: int, asked: int) -> None:
        """Use so many tokens of the pool, after evicting until ``asked`` are free."""
        if self.capacity_tokens is not None:
            missing = asked - (self.capacity_tokens - self._used_tokens)
            if missing > 0:
                # common.py, evict_from_tree_cache: older releases evict all that is asked for.
                freed = self._tree.evict(missing if self.rules.evicts_shortfall else asked)
                self._used_tokens -= freed
                self._evicted_tokens += freed
        self._used_tokens += tokens
        self._peak_tokens = max(self._peak_tokens, self._used_tokens)


def _path(node: Node) -> Iterator[Node]:
    """Yield the node and those before it, the root left out."""
    while node.parent is not None:
        yield node
        node = node.parent


def _is_free_leaf(node: Node) -> bool:
    return not node.children and not node.users


def _shared(one: bytes, other: bytes) -> int:
    """Return how many bytes two texts share at their start, in whole units."""
    limit = min(len(one), len(other))
    if one[:limit] == other[:limit]:
        return limit
    low, high = 0, limit // _UNIT
    while high - low > 1:  # the first `low` units are equal, the first `high` are not
        middle = (low + high) // 2
        if one[low * _UNIT : middle * _UNIT] == other[low * _UNIT : middle * _UNIT]:
            low = middle
        else:
            high = middle
    return low * _UNIT
