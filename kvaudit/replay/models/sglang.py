"""SGLang's pool over its radix tree, one request at a time: matched, prefilled, decoded, freed.

Read from SGLang 0.5.4 to 0.5.23, ``sglang/srt/mem_cache`` (``radix_cache.py``, ``common.py``,
``allocation.py``, ``unified_radix_cache.py``) and ``managers/schedule_batch.py``; the function
is named beside each rule. Nothing else runs while a request does. Radix caching on, no host tier.
With EAGLE's draft model, which reads the next token beside each, the tree's keys are pairs of
tokens (``radix_cache.py``, ``RadixKey.is_bigram``): a text has one less of them than tokens. The
room that drafts take in the pool is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.key_runs import keys_by_request
from kvaudit.replay.models.radix import PAGE, Node, RadixTree
from kvaudit.replay.models.sglang_pairs import PairPages, pages_of
from kvaudit.replay.models.sglang_releases import Counted, Kept, Rules
from kvaudit.replay.outcomes import CacheOutcome, all_served, check_sizes


class Prompt(NamedTuple):
    """A prompt that is admitted."""

    path: bytes
    """Of its full pages."""
    reusable: int
    """Pages that may hit."""
    end: int
    """Pages that it fills, at least in part."""


class SglangCache:
    """One engine instance; remembers from request to request.

    ``capacity_tokens`` None never evicts. Grows to 4 bytes a page that is held and about 300
    bytes a node, of which there are no more than four a request.
    """

    def __init__(
        self,
        *,
        capacity_tokens: int | None,
        page_size: int,
        rules: Rules,
        policy: str = "lru",
        eagle: bool = False,
    ) -> None:
        """Take the size of the pool, of a page, and what the release does."""
        check_sizes(capacity_tokens, page_size)
        self.capacity_pages = None if capacity_tokens is None else capacity_tokens // page_size
        self.page_size = page_size
        self.rules = rules
        self.policy = policy
        self._pairs = PairPages(page_size) if eagle else None
        self._unpaired = int(eagle)
        """Tokens of a text that begin no pair, though their KV is computed."""
        self.tree = RadixTree(policy, split_keeps_age=rules.split_keeps_age)
        self.used_pages = 0
        """Of the tree and of the request that is being served."""
        # allocation.py, alloc_paged_token_slots_extend: with pages, one more than is filled.
        self._spare = int(page_size > 1)
        self._evicted_pages = 0
        self._peak_pages = 0
        self._next_unknown_id = -1

    @property
    def evicted_keys(self) -> list[int] | None:
        """Where the pages that are evicted are written down, in order; None writes nothing."""
        return self.tree.evicted_keys

    @evicted_keys.setter
    def evicted_keys(self, keys: list[int] | None) -> None:
        self.tree.evicted_keys = keys

    def held_keys(self) -> list[int]:
        """Return the keys of all pages in the tree; negative ones are of unknown text."""
        return [key for node in self.tree.nodes() for key in memoryview(node.pages).cast("i")]

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        return self.replay_some(prompts, blocks, all_served(prompts))

    def replay_some(
        self, prompts: PromptBatch, blocks: BlockBatch, served: NDArray[np.bool_]
    ) -> CacheOutcome:
        """Serve the marked requests one after the other, and only look at the others."""
        runs, known = pages_of(prompts, blocks, self.page_size, self._pairs)
        paths = keys_by_request(runs)
        uncomputed = uncomputed_outputs(self.rules, prompts, eagle=bool(self._unpaired)).tolist()
        found = []
        for index, own in enumerate(served.tolist()):
            path = paths[index][: known[index]].tobytes()
            tokens, outputs = prompts.prompt_tokens[index], prompts.output_tokens[index]
            if own:
                priority = _priority(prompts, index) if self.policy == "priority" else 0
                computed = int(tokens) + max(int(outputs) - uncomputed[index], 0)
                found.append(self._serve(path, int(tokens), int(outputs), computed, priority))
            else:
                looked_up = path[: self._reusable(int(tokens)) * PAGE]
                found.append((self.tree.held_prefix(looked_up), True, 0, self.tree.held_pages))
        hits, admitted, evicted, held = np.array(found, np.int64).reshape(-1, 4).T
        return CacheOutcome(
            cached_tokens=hits * self.page_size,
            hit_blocks=hits,
            admitted=admitted.astype(np.bool_),
            evicted_blocks=evicted,
            held_blocks=held,
            peak_blocks=self._peak_pages,
        )

    def _serve(
        self, path: bytes, tokens: int, outputs: int, computed: int, priority: int
    ) -> tuple[int, bool, int, int]:
        """Run one request to its end; return hit pages, admitted, evicted and held pages.

        KV of ``computed`` tokens is computed for it, if it fits.
        """
        tree, rules = self.tree, self.rules
        self._evicted_pages = 0
        path += self._unknown((tokens + outputs) // self.page_size - len(path) // PAGE)
        hits, node = tree.match(path[: self._reusable(tokens) * PAGE])
        own_end = -(-tokens // self.page_size)
        tree.hold(node)
        if not self._fits(own_end - hits + self._spare):
            tree.release(node)
            return 0, False, 0, tree.held_pages
        prompt_pages = self._kept(tokens)
        prompt = Prompt(path[: prompt_pages * PAGE], self._reusable(tokens), own_end)
        hits, node = self._begin(prompt, hits, node)
        own_start = hits  # what it computed stands between these, until the tree has it
        inserted = 0
        if outputs > 1:
            # cache_unfinished_req. A request with one output token enters the tree at its end.
            known, longer = self._insert(path[: prompt_pages * PAGE], priority, inserted)
            self.used_pages -= max(0, known - own_start)
            own_start = inserted = prompt_pages
            tree.hold(longer)
            tree.release(node)
            node = longer
        self._step_inside(tokens, own_end, computed)
        while own_end * self.page_size < computed:
            # schedule_batch.py, check_decode_mem: a page where the last one is full.
            if not self._fits(1):
                computed = own_end * self.page_size
                break  # the engine would retract it, and it can never come back
            self._take(1, 1)
            own_end += 1
            self._step_inside((own_end - 1) * self.page_size + 1, own_end, computed)
        # cache_finished_req: what the tree had before, and what fills no page, is free again.
        kept_pages = self._kept(tokens if rules.kept is Kept.PROMPT else computed)
        known, _ = self._insert(path[: kept_pages * PAGE], priority, inserted)
        if rules.parts_output and 0 < prompt_pages < kept_pages:
            tree.insert(path[: prompt_pages * PAGE], priority=priority + 1)
        self.used_pages -= max(0, known - own_start) + own_end - kept_pages
        tree.release(node)
        return hits, True, self._evicted_pages, tree.held_pages

    def _begin(self, prompt: Prompt, hits: int, node: Node) -> tuple[int, Node]:
        """Take the room of a prompt; return the pages it need not compute, and their last node.

        Of the pages that may hit, ``hits`` were found, the last of them in ``node``, which is held.
        """
        self._take(prompt.end - hits, prompt.end - hits + self._spare)
        return hits, node

    def _step_inside(self, start: int, end_page: int, computed: int) -> None:
        """Let the decode steps from token ``start`` on fill the last page, if any does.

        alloc_paged_token_slots_decode asks for a whole page in every step, also where the last
        one has room: what is free goes unused, but a leaf is evicted if nothing is.
        """
        if self.page_size > 1 and start < min(computed, end_page * self.page_size):
            self._take(0, 1)

    def _insert(self, path: bytes, priority: int, inserted: int) -> tuple[int, Node]:
        """Insert for a request that has itself inserted so many pages before."""
        counted = self.rules.counted
        counted_from = None if counted is Counted.NEVER else 0
        if counted is Counted.ONCE:
            counted_from = inserted
        return self.tree.insert(path, priority=priority, counted_from=counted_from)

    def _reusable(self, tokens: int) -> int:
        # schedule_batch.py, init_next_round_input: the last token is always computed.
        return self._kept(tokens - 1)

    def _kept(self, tokens: int) -> int:
        """Return the pages that the tree takes of so many tokens."""
        return max(tokens - self._unpaired, 0) // self.page_size

    def _unknown(self, pages: int) -> bytes:
        """Return keys for pages with generated tokens that the log does not hold."""
        keys = self._next_unknown_id - np.arange(pages, dtype=np.int32)
        self._next_unknown_id -= pages
        return keys.tobytes()

    def _fits(self, pages: int) -> bool:
        if self.capacity_pages is None:
            return True
        return pages <= self.capacity_pages - self.used_pages + self.tree.evictable_pages

    def _take(self, pages: int, asked: int) -> None:
        """Use so many pages of the pool, after evicting until ``asked`` are free."""
        if self.capacity_pages is not None:
            missing = asked - (self.capacity_pages - self.used_pages)
            if missing > 0:
                # common.py, evict_from_tree_cache: older releases evict all that is asked for.
                freed = self.tree.evict(missing if self.rules.evicts_shortfall else asked)
                self.used_pages -= freed
                self._evicted_pages += freed
        self.used_pages += pages
        self._peak_pages = max(self._peak_pages, self.used_pages)


def uncomputed_outputs(
    rules: Rules, prompts: PromptBatch, *, eagle: bool = False
) -> NDArray[np.int64]:
    """Return how many generated tokens of each request have no KV when it ends.

    With EAGLE it is the last one: a request ends in the step that verifies it, and what that step
    accepts beyond is not counted on (eagle_info.py, EagleVerifyInput.verify).
    Where a step runs ahead it computes the last one too, but for a request that the scheduler
    knows to end with it (scheduler.py, _reqs_finishing_inflight); a log without ``max_tokens``
    does not say which do.
    """
    uncomputed = 1 if eagle else rules.uncomputed_outputs
    found = np.full(len(prompts.prompt_tokens), uncomputed, np.int64)
    if rules.foresees_length and prompts.requests:
        asked = [f.max_tokens for f in prompts.requests]
        limits = np.array([np.iinfo(np.int64).max if a is None else a for a in asked], np.int64)
        found[prompts.output_tokens >= limits] = 1
    return found


def _priority(prompts: PromptBatch, index: int) -> int:
    return prompts.requests[index].priority or 0
