"""What SGLang's kernels are asked and answer, with tiers below the pool or without."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.key_runs import KeyRuns
from kvaudit.replay.models.sglang import uncomputed_outputs
from kvaudit.replay.models.sglang_pairs import PairPages, pages_of
from kvaudit.replay.models.sglang_releases import Rules
from kvaudit.replay.outcomes import CacheOutcome

UNBOUNDED = 1 << 60
"""Pages of a pool without a capacity."""


class Work(NamedTuple):
    """What is asked, by request but for the first."""

    runs: KeyRuns
    known: NDArray[np.int64]
    """Full pages of known text, which have keys."""
    tokens: NDArray[np.int64]
    outputs: NDArray[np.int64]
    uncomputed: NDArray[np.int64]
    """Generated tokens without KV at the end."""
    priority: NDArray[np.int64]
    served: NDArray[np.bool_]


class Answer(NamedTuple):
    """What the kernel writes, by request."""

    hit_pages: NDArray[np.int64]
    admitted: NDArray[np.bool_]
    evicted_pages: NDArray[np.int64]
    held_pages: NDArray[np.int64]


def work_of(
    prompts: PromptBatch,
    blocks: BlockBatch,
    served: NDArray[np.bool_],
    *,
    page_size: int,
    rules: Rules,
    by_priority: bool,
    pairs: PairPages | None = None,
) -> Work:
    """Return what a batch asks; requests have no priority unless leaves are evicted by it."""
    priority = np.zeros(len(served), np.int64)
    if by_priority:
        priority[:] = [facts.priority or 0 for facts in prompts.requests]
    runs, known = pages_of(prompts, blocks, page_size, pairs)
    return Work(
        runs=runs,
        known=known,
        tokens=prompts.prompt_tokens,
        outputs=prompts.output_tokens,
        uncomputed=uncomputed_outputs(rules, prompts, eagle=pairs is not None),
        priority=priority,
        served=served,
    )


def answer_for(requests: int) -> Answer:
    """Return room for what the kernel answers."""
    return Answer(
        hit_pages=np.zeros(requests, np.int64),
        admitted=np.ones(requests, np.bool_),
        evicted_pages=np.zeros(requests, np.int64),
        held_pages=np.zeros(requests, np.int64),
    )


def outcome_of(
    answer: Answer,
    page_size: int,
    peak_pages: int,
    tier_tokens: NDArray[np.int64] | None = None,
) -> CacheOutcome:
    """Return what a kernel wrote as the outcome; ``tier_tokens`` where it has tiers below."""
    return CacheOutcome(
        cached_tokens=answer.hit_pages * page_size,
        hit_blocks=answer.hit_pages,
        admitted=answer.admitted,
        evicted_blocks=answer.evicted_pages,
        held_blocks=answer.held_pages,
        peak_blocks=peak_pages,
        tier_tokens=tier_tokens,
    )
