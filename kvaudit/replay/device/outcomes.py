"""A batch's requests one by one, and their outcomes put together again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.key_runs import KeyRuns
from kvaudit.replay.outcomes import CacheOutcome


def only(blocks: BlockBatch, number: int) -> BlockBatch:
    """Return the blocks of one request."""
    one = slice(number, number + 1)
    start, end = blocks.runs.offsets[number : number + 2]
    return replace(
        blocks,
        shared_units=blocks.shared_units[one],
        runs=KeyRuns(
            blocks.runs.shifts[start:end], blocks.runs.ends[start:end], np.array([0, end - start])
        ),
        key_offsets=np.array([0, np.diff(blocks.key_offsets)[number]]),
        known_before=blocks.known_before[number : number + 2],
        new_units=blocks.new_units[one],
        prompt_tails=None if blocks.prompt_tails is None else blocks.prompt_tails[one],
        end_tails=None if blocks.end_tails is None else blocks.end_tails[one],
    )


def same_hits(one: CacheOutcome, other: CacheOutcome) -> bool:
    """Whether two outcomes of one request hit the same tokens, tier by tier."""
    if one.tier_tokens is None or other.tier_tokens is None:
        return bool(one.cached_tokens[0] == other.cached_tokens[0])
    return bool((one.tier_tokens == other.tier_tokens).all())


def joined_outcomes(outcomes: Sequence[CacheOutcome]) -> CacheOutcome:
    """Return the outcomes of consecutive requests as one."""
    values: dict[str, Any] = {}
    for one in fields(CacheOutcome):
        parts = [getattr(outcome, one.name) for outcome in outcomes]
        if isinstance(parts[0], np.ndarray):
            values[one.name] = np.concatenate(parts, axis=-1)
    return replace(outcomes[-1], **values)
