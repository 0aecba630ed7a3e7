"""SGLang's waiting queue: first come, or longest prefix first, and what a step may hold.

Read from SGLang 0.5.9 to 0.5.18, ``sglang/srt/managers/schedule_policy.py`` (``SchedulePolicy``),
``scheduler.py`` (``init_schedule_policy``) and ``environ.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from kvaudit.replay.models.radix import PAGE, RadixTree
from kvaudit.replay.models.sglang_request import Running

MAX_PREFILL_TOKENS = 16384
"""``--max-prefill-tokens`` of a server."""
CLIP_NEW_TOKENS = 4096
"""The most tokens to come that admitting counts for one request."""
INITIAL_RATIO = 0.7
"""The share of the tokens to come that admitting counts, before anything ran."""
MIN_RATIO = INITIAL_RATIO * 0.14
RATIO_DECAY = (INITIAL_RATIO - MIN_RATIO) / 600
"""What the share loses with every step of decoding."""
RETRACT_STEPS = 20
"""Steps of decoding for which retraction makes room."""
MOST_SORTED = 128
"""With more that wait, longest prefix first is first come, first served."""
HEAD_TOKENS = 32
"""Requests that share so many first tokens, and find no more in the tree, wait for one of them
(IN_BATCH_PREFIX_CACHING_CHECK_THRESHOLD and _DEPRIORITIZE_THRESHOLD)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SglangLimits:
    """What a step may hold, and who goes first."""

    max_running: int
    chunk_tokens: int
    """The most prefill tokens of a step (``--chunked-prefill-size``), in whole pages."""
    prefill_tokens: int = MAX_PREFILL_TOKENS
    by_longest_prefix: bool = False
    reserves_page: bool = False
    """Whether each request that is let in counts a page more, as since 0.5.10."""
    asks_page: bool = False
    """Whether a request must find room for a page more to be let in, as since 0.5.11."""
    caps_prefill: bool = True
    """Whether a request must fit in what is left of ``prefill_tokens`` beside those chosen before
    it; since 0.5.13 the chunk alone bounds it, and the tokens only end the round."""
    sorts_reusable: bool = False
    """Whether the longest prefix is the longest that may hit, short of the last token; since
    0.5.13."""
    chunk_waits: bool = True
    """Whether a prefill that goes on waits where no place is left for others; since 0.5.11 it
    does not, and where none goes on, nobody is looked up then."""


@dataclass(slots=True)
class Waiting:
    """Requests that wait, the next one first."""

    tree: RadixTree
    page: int
    limits: SglangLimits
    line: list[Running] = field(default_factory=list)

    def sort(self) -> None:
        """calc_priority: by the longest prefix, and the second of equal heads last of all."""
        if not self.limits.by_longest_prefix or len(self.line) > MOST_SORTED:
            return
        heads: set[int] = set()
        later: set[int] = set()
        found: list[int] = []
        for index, request in enumerate(self.line):
            length = request.length
            self.look_up(request, length)
            most = length - 1 if self.limits.sorts_reusable else length
            found.append(min(request.prefix, most))
            if request.prefix <= HEAD_TOKENS and length >= HEAD_TOKENS:
                if request.head in heads:
                    later.add(index)
                heads.add(request.head)
        order = sorted(
            range(len(self.line)),
            key=lambda i: (i in later, 0 if i in later else -found[i]),
        )
        self.line = [self.line[i] for i in order]

    def look_up(self, request: Running, tokens: int) -> None:
        """Match the first ``tokens`` tokens of a request; it holds nothing yet."""
        pages = max(tokens, 0) // self.page
        hits, request.node = self.tree.match(request.path[: pages * PAGE])
        self.tree.offer(request.node)  # it is younger now, and mru takes it sooner
        request.owned, request.prefix = hits, hits * self.page

    def remove(self, chosen: Collection[Running]) -> None:
        """Take out those that are chosen for a step."""
        gone = set(map(id, chosen))
        self.line = [request for request in self.line if id(request) not in gone]
