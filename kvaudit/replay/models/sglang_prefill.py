"""Who joins a prefill of SGLang: what fits beside the tokens that others are still to generate.

Read from SGLang 0.5.9 to 0.5.18, ``sglang/srt/managers/schedule_policy.py`` (``PrefillAdder``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum

from kvaudit.replay.models.radix import Node, RadixTree
from kvaudit.replay.models.sglang_queue import CLIP_NEW_TOKENS, SglangLimits
from kvaudit.replay.models.sglang_request import Running


class Stop(Enum):
    """Why a request is the last that was looked at (``AddReqResult``)."""

    NO_TOKEN = "the pool is full"
    OTHER = "the step is full"


class PrefillAdder:
    """Chooses the requests of one prefill; all figures in tokens."""

    def __init__(
        self,
        tree: RadixTree,
        free_pages: int,
        page: int,
        limits: SglangLimits,
        reserved: float,
    ) -> None:
        """Take the pool as it is, and what requests that run are counted to need yet."""
        self.chosen: list[Running] = []
        self.chunked: Running | None = None
        """One of them whose prefill goes on in the next step."""
        self._tree, self._free, self._page, self._limits = tree, free_pages, page, limits
        self._reserved = reserved
        self._taken = 0
        self._left = limits.prefill_tokens
        self._chunk_left = limits.chunk_tokens

    def add_chunk(self, request: Running) -> Running | None:
        """add_chunked_req: go on with a prefill; return it where that is not its end."""
        rest = request.length - request.prefix
        room = min(self._chunk_left, int(self._total_left()))
        if room <= 0:
            room = self._chunk_left
        share = min(rest, room)
        self._choose(request, share, ends=share == rest)
        return request if share < rest else None

    def add(self, request: Running) -> Stop | None:
        """add_one_req: let a request in, or say why nobody else is looked at."""
        rest = request.length - request.prefix
        wanted = rest + min(max(request.outputs - request.done, 0), CLIP_NEW_TOKENS)
        wanted += self._page if self._limits.asks_page else 0
        assert request.node is not None
        if wanted >= self._total_left():
            return Stop.NO_TOKEN
        with _held(self._tree, request.node):
            if wanted >= self._total_left():
                return Stop.NO_TOKEN
            if self._limits.caps_prefill and self._whole(rest) >= self._left and self.chosen:
                return Stop.OTHER
            share = self._whole(rest)
            if share > self._chunk_left:
                share = self._chunk_left // self._page * self._page
                if share <= 0:
                    return Stop.OTHER
                self.chunked = request
            self._tree.hold(request.node)
            self._choose(request, min(share, rest), ends=self.chunked is not request)
        return self._state()

    def _choose(self, request: Running, share: int, *, ends: bool) -> None:
        """_update_prefill_budget: only a prefill that ends is counted to generate."""
        request.committed = request.prefix + share
        self.chosen.append(request)
        whole = self._whole(share)
        page = self._page if self._limits.reserves_page else 0
        self._reserved += whole + page + (min(request.outputs, CLIP_NEW_TOKENS) if ends else 0)
        self._taken += whole + page
        self._left -= whole
        self._chunk_left -= whole

    def _state(self) -> Stop | None:
        """budget_state."""
        if self._total_left() <= 0 or self._room() - self._taken <= 0:
            return Stop.NO_TOKEN
        return Stop.OTHER if self._left <= 0 or self._chunk_left <= 0 else None

    def _total_left(self) -> float:
        return self._room() - self._reserved

    def _room(self) -> int:
        return (self._free + self._tree.evictable_pages) * self._page

    def _whole(self, tokens: int) -> int:
        return -(-tokens // self._page) * self._page


def reserved_tokens(running: Sequence[Running], ratio: float) -> float:
    """Return what admitting counts for those that run (``rem_total_token_offset``)."""
    return float(sum(min(r.outputs - r.done, CLIP_NEW_TOKENS) * ratio for r in running))


@contextmanager
def _held(tree: RadixTree, node: Node) -> Iterator[None]:
    tree.hold(node)
    try:
        yield
    finally:
        tree.release(node)
