"""SGLang's scheduler, step by step: prefills go first, decodes share steps, and some give way.

Read from SGLang 0.5.9 to 0.5.18, ``sglang/srt/managers`` (``scheduler.py``, ``schedule_policy.py``
``PrefillAdder``, ``schedule_batch.py``, ``scheduler_output_processor_mixin.py``); the function is
named beside each rule. The overlap scheduler, as by default: a step is chosen before the results of
the one before it are known, so a prompt can be hit two steps after its prefill, and a request that
ends is computed one token further. What the log says was generated stands for ``max_new_tokens``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvaudit.replay.models.radix import PAGE, Node, RadixTree
from kvaudit.replay.models.sglang_prefill import PrefillAdder, Stop, reserved_tokens
from kvaudit.replay.models.sglang_queue import (
    INITIAL_RATIO,
    MIN_RATIO,
    RATIO_DECAY,
    RETRACT_STEPS,
    SglangLimits,
    Waiting,
)
from kvaudit.replay.models.sglang_releases import Counted, Rules
from kvaudit.replay.models.sglang_request import Running


@dataclass(slots=True)
class Batch:
    """The requests of one step, and what it computes."""

    requests: list[Running]
    prefill: bool
    chunked: Running | None = None


class SglangScheduler:
    """Runs one engine instance step by step; all sizes in pages unless they say tokens."""

    def __init__(
        self, *, capacity: int, page_size: int, rules: Rules, policy: str, limits: SglangLimits
    ) -> None:
        """Start with an empty pool of ``capacity`` pages."""
        self.capacity, self.page, self.rules, self.limits = capacity, page_size, rules, limits
        self.tree = RadixTree(policy, split_keeps_age=rules.split_keeps_age)
        self.waiting = Waiting(self.tree, page_size, limits)
        self.running: list[Running] = []
        self.chunked: Running | None = None
        self.last: Batch | None = None
        self.pending: Batch | None = None
        """What was launched in the step before, as it was then."""
        self.used = self.peak = self.peak_used = self.peak_running = self.retractions = 0
        self._full = False
        self._ratio = INITIAL_RATIO

    @property
    def busy(self) -> bool:
        """Whether anything waits, runs, or has a result that is not known."""
        return bool(self.waiting.line or self.running or self.chunked or self.last)

    def step(self) -> Batch | None:
        """Choose a step and take the results of the one before; None computes nothing."""
        batch = self._next_batch()
        launched = None if batch is None else Batch(list(batch.requests), batch.prefill)
        if self.pending is not None:
            self._take_results(self.pending)
        elif batch is None:
            self._ratio = INITIAL_RATIO  # self_check_during_idle
        self.pending, self.last = launched, batch
        self.peak_used = max(self.peak_used, self.used - self.tree.evictable_pages)
        self.peak_running = max(self.peak_running, 0 if batch is None else len(batch.requests))
        return batch

    def _next_batch(self) -> Batch | None:
        """scheduler.py, get_next_batch_to_run."""
        if self.chunked is not None:
            self._cache_unfinished(self.chunked, chunked=True)
        if self.last is not None and self.last.prefill:
            gone = (self.chunked, self.last.chunked)
            stay = [r for r in self.last.requests if not r.ended and r not in gone]
            if len(stay) < len(self.last.requests):
                self._full = False
            if stay and not self.running:
                self._full = False  # the batch that says so is replaced by the new one
            self.running += stay
        batch = self._prefill_batch()
        if batch is None and self.running:
            self._decode_batch()
            # The batch of a decode is the list of running requests itself.
            batch = Batch(self.running, False) if self.running else None
        return batch

    # -- prefill ----------------------------------------------------------------------------

    def _prefill_batch(self) -> Batch | None:
        """scheduler.py, _get_new_batch_prefill_raw."""
        if (self._full or not self.waiting.line) and self.chunked is None:
            return None
        places = self.limits.max_running - len(self.running)
        if places <= 0 and (self.chunked is not None) == self.limits.chunk_waits:
            self._full = True
            return None
        self.waiting.sort()
        adder = PrefillAdder(
            self.tree,
            self.capacity - self.used,
            self.page,
            self.limits,
            reserved_tokens(self.running, self._ratio),
        )
        if self.chunked is not None:
            self.chunked = adder.add_chunk(self.chunked)
        for request in list(self.waiting.line):
            if len(adder.chosen) >= places:
                self._full = True
            if self._full:
                break
            self.waiting.look_up(request, request.length - 1)
            stop = adder.add(request)
            if stop is not None:
                self._full = stop is Stop.NO_TOKEN
                break
        if not adder.chosen:
            return None
        self.waiting.remove(adder.chosen)
        if adder.chunked is not None:
            self.chunked = adder.chunked
        if self.chunked is not None:
            self.chunked.chunks += 1
        self._extend(adder.chosen)
        return Batch(adder.chosen, True, self.chunked)

    def _extend(self, chosen: Sequence[Running]) -> None:
        """schedule_batch.py, prepare_for_extend; common.py, alloc_paged_token_slots_extend."""
        asked = sum(r.committed - r.prefix for r in chosen)
        self._make_room(asked + (len(chosen) * self.page if self.page > 1 else 0), chosen[0])
        for request in chosen:
            self._use(self._pages(request.committed) - self._pages(request.prefix))
            if request.cached is None:
                request.cached = request.prefix
                request.held = self.tree.held_pages
            elif request.retracted:
                request.resumed_cached += request.prefix
            request.retracted = False

    # -- decode -----------------------------------------------------------------------------

    def _decode_batch(self) -> None:
        """scheduler.py, update_running_batch; schedule_batch.py, prepare_for_decode."""
        before = len(self.running)
        self.running = [r for r in self.running if not r.ended]
        if self.running:
            if self._next_decode_fits(self.running):
                self._ratio = max(self._ratio - RATIO_DECAY, MIN_RATIO)
            else:
                self._retract()
        if len(self.running) < before:
            self._full = False
        if not self.running:
            return
        # alloc_paged_token_slots_decode asks for a page of every request, also inside one.
        self._make_room(len(self.running) * self.page, self.running[0])
        for request in self.running:
            self._use(1 if request.committed % self.page == 0 else 0)
            request.committed += 1

    def _next_decode_fits(self, requests: Sequence[Running]) -> bool:
        """schedule_batch.py, check_decode_mem: a page where the last one is full."""
        pages = sum(r.committed % self.page == 0 for r in requests)
        self._make_room(pages * self.page, requests[0] if requests else None)
        return self.capacity - self.used >= pages

    def _retract(self) -> None:
        """schedule_batch.py, retract_decode: who generated least gives way, and waits again."""
        keep = sorted(self.running, key=lambda r: (r.done, -r.prompt), reverse=True)
        first = True
        while first or not self._next_decode_fits(keep):
            if len(keep) == 1:
                break
            first = False
            gone = keep.pop()
            self._give_way(gone, len(keep))
            self.waiting.line.append(gone)
        if len(keep) <= 1 and not self._next_decode_fits(keep):
            # From 0.5.10 on the last one is aborted; 0.5.9 stops with an error.
            last = keep.pop()
            self._give_way(last, 0)
            last.ended = True
        self.running = keep
        done = sum(r.done for r in keep)
        wanted = sum(r.outputs for r in keep)
        self._ratio = min(1.0, (done + RETRACT_STEPS * len(keep)) / (wanted + 1))

    def _give_way(self, request: Running, left: int) -> None:
        """schedule_batch.py, release_req: nothing of it is inserted."""
        assert request.node is not None
        self.used -= self._pages(request.committed) - request.owned
        self.tree.release(request.node)
        self._make_room(left * RETRACT_STEPS, request)
        request.node, request.retracted, request.chunks = None, True, 0
        request.prefix = request.owned = request.committed = 0
        self.retractions += 1

    # -- results ----------------------------------------------------------------------------

    def _take_results(self, batch: Batch) -> None:
        """scheduler_output_processor_mixin.py, process_batch_result_prefill and _decode."""
        for request in batch.requests:
            if request.ended or request.retracted:
                continue
            if batch.prefill and request.chunks > 0:
                request.chunks -= 1
                continue
            request.done += 1
            request.ended = request.done >= request.outputs
            if request.ended:
                self._finish(request)
            elif batch.prefill:
                self._cache_unfinished(request, chunked=False)

    def _cache_unfinished(self, request: Running, *, chunked: bool) -> None:
        """radix_cache.py, cache_unfinished_req."""
        # fill_ids: what its prefill covered; the token that came of it is known by now.
        tokens = request.committed if chunked else request.length - 1
        pages = tokens // self.page
        known, node = self._insert(request, pages, chunked=chunked)
        self.used -= max(0, known - request.owned)
        request.owned, request.prefix = pages, tokens
        assert request.node is not None
        self.tree.release(request.node)
        self.tree.hold(node)
        request.node = node

    def _finish(self, request: Running) -> None:
        """radix_cache.py, cache_finished_req."""
        pages = request.committed // self.page
        known, _ = self._insert(request, pages, chunked=False)
        self.used -= max(0, known - request.owned)
        self.used -= self._pages(request.committed) - pages
        assert request.node is not None
        self.tree.release(request.node)

    def _insert(self, request: Running, pages: int, *, chunked: bool) -> tuple[int, Node]:
        counts = self.rules.counted is not Counted.NEVER and not chunked
        return self.tree.insert(
            request.path[: pages * PAGE],
            priority=request.priority,
            counted_from=0 if counts else None,
        )

    # -- room -------------------------------------------------------------------------------

    def _pages(self, tokens: int) -> int:
        return -(-tokens // self.page)

    def _use(self, pages: int) -> None:
        self.used += pages
        self.peak = max(self.peak, self.used)

    def _make_room(self, tokens: int, whom: Running | None) -> None:
        """common.py, evict_from_tree_cache: up to 0.5.16 all that is asked for goes."""
        asked = self._pages(tokens)
        missing = asked - (self.capacity - self.used)
        if missing > 0:
            freed = self.tree.evict(missing if self.rules.evicts_shortfall else asked)
            self.used -= freed
            if whom is not None:
                whom.evicted += freed
