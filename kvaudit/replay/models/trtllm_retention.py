"""How long TensorRT-LLM is asked to retain blocks: priorities of ranges of tokens, with durations.

Read from the main branch of TensorRT-LLM, 2026, ``cpp/tensorrt_llm/executor``,
``kvCacheRetentionConfig.cpp``, and ``batch_manager/kvCacheManager.cpp`` for what else its cache can
be told. A request's own ``priority`` is the retention priority of all its blocks, those of its
output among them; another one gets what the replay is told, or asks for nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import UsageError
from kvaudit.core.prompts import PromptBatch

DEFAULT_PRIORITY = 35
MAX_PRIORITY = 100
NO_PRIORITY = -1
"""Of a request that asks for none."""
NO_DURATION = -1
OFFLOAD_MIN_PRIORITY = 30
"""What is retained at less is not moved to the host (kDefaultSecondaryOffloadMinPriority)."""
_MICROSECONDS = 1_000_000
_ENTRY = re.compile(r"(?:(decode)|(\d{1,9})-(\d{0,9})):(\d{1,9})(?::(\d{1,9}(?:\.\d{1,9})?)s)?")


class Retained(NamedTuple):
    """What is asked for a block."""

    priority: int
    """`NO_PRIORITY` leaves a block that is found as it is, and gives a new one the default."""
    duration_us: int
    """Microseconds from its release to its falling to the default; `NO_DURATION` for ever."""


NOTHING_ASKED = Retained(NO_PRIORITY, NO_DURATION)
_DEFAULT = Retained(DEFAULT_PRIORITY, NO_DURATION)


class TokenRange(NamedTuple):
    """A range of a prompt's tokens; ``end`` is the first one after it, None for none."""

    start: int
    end: int | None
    retained: Retained


@dataclass(frozen=True, slots=True)
class Retention:
    """What a request asks for: ranges that do not overlap, the first one first, and its output."""

    ranges: tuple[TokenRange, ...] = ()
    decode: Retained = _DEFAULT

    def of_block(self, first_token: int) -> Retained:
        """Return what is asked for the block of the prompt that starts with a token."""
        # getPerBlockRetentionPriorityDuration: a block belongs to the range of its first token.
        for start, end, retained in self.ranges:
            if start <= first_token and (end is None or first_token < end):
                return retained
        return NOTHING_ASKED

    @property
    def has_durations(self) -> bool:
        """Whether anything falls back to the default after some time."""
        asked = (*(part.retained for part in self.ranges), self.decode)
        return any(retained.duration_us != NO_DURATION for retained in asked)


_NO_RETENTION = Retention()


class PartialReuse(StrEnum):
    """What happens to a block of which only a part is asked for."""

    COPY = "copy"
    """Its tokens are copied, unless it is a leaf that nobody uses (``copy_on_partial_reuse``)."""
    LEAF = "leaf"
    """Only such a leaf is reused."""
    OFF = "off"
    """Nothing is reused (``enable_partial_reuse`` is false)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrtllmOptions:
    """What the cache is told beside its sizes."""

    retention: Retention = _NO_RETENTION
    """Of every request without a priority of its own."""
    offload_min_priority: int = OFFLOAD_MIN_PRIORITY
    partial_reuse: PartialReuse = PartialReuse.COPY


DEFAULT_OPTIONS = TrtllmOptions()


def parse_retention(text: str, option: str = "--retain") -> Retention:
    """Read ``0-1024:80,1024-:20:30s,decode:10``. Raises `UsageError` for anything else."""
    ranges: list[TokenRange] = []
    decode = _DEFAULT
    for entry in text.split(","):
        match = _ENTRY.fullmatch(entry.strip())
        if match is None:
            raise UsageError(
                f"{option} {text}: {entry.strip()!r} is not FIRST-END:PRIORITY[:SECONDSs]; write "
                f"it like {option} 0-1024:80,1024-:20:30s,decode:10"
            )
        is_decode, start, end, priority, seconds = match.groups()
        if int(priority) > MAX_PRIORITY:
            raise UsageError(
                f"{option} {text}: {priority} is no retention priority of TensorRT-LLM, which are "
                f"0 to {MAX_PRIORITY}; the nearest is {MAX_PRIORITY}"
            )
        duration = NO_DURATION if seconds is None else round(float(seconds) * _MICROSECONDS)
        retained = Retained(int(priority), duration)
        if is_decode:
            decode = retained
        else:
            ranges.append(TokenRange(int(start), int(end) if end else None, retained))
    ranges.sort(key=lambda part: part.start)
    for part, after in zip(ranges, [*ranges[1:], None], strict=True):
        is_empty = part.end is not None and part.end <= part.start
        if is_empty or (after is not None and (part.end is None or part.end > after.start)):
            raise UsageError(f"{option} {text}: ranges must hold tokens and must not overlap")
    return Retention(tuple(ranges), decode)


def retention_priorities(prompts: PromptBatch) -> NDArray[np.int64]:
    """Return the priority that each request asks for by itself, or `NO_PRIORITY`.

    Raises `UsageError` for one that the engine does not have.
    """
    asked = [NO_PRIORITY] * len(prompts.prompt_tokens)
    for i, facts in enumerate(prompts.requests):
        if facts.priority is not None:
            if not 0 <= facts.priority <= MAX_PRIORITY:
                nearest = 0 if facts.priority < 0 else MAX_PRIORITY
                raise UsageError(
                    f"request {facts.id}: priority {facts.priority} is no retention priority of "
                    f"TensorRT-LLM, which are 0 to {MAX_PRIORITY}; the nearest is {nearest}"
                )
            asked[i] = facts.priority
    return np.array(asked, np.int64)


def whole_request(priority: int) -> Retention:
    """Return what a request asks for that has one priority for all its blocks."""
    retained = Retained(priority, NO_DURATION)
    return Retention((TokenRange(0, None, retained),), retained)


def lifespans_us(prompts: PromptBatch, last_us: int) -> NDArray[np.int64]:
    """Return when each request arrives and ends, in microseconds, shape (2, requests).

    One without a time comes with the one before it, the first one at ``last_us``; one whose end
    is not known ends at once.
    """
    spans = np.empty((2, len(prompts.prompt_tokens)), np.int64)
    spans[:] = last_us
    for i, facts in enumerate(prompts.requests):
        if facts.arrived_s is not None:
            last_us = round(facts.arrived_s * _MICROSECONDS)
        ended_us = last_us
        if facts.finished_s is not None:
            ended_us = max(ended_us, round(facts.finished_s * _MICROSECONDS))
        spans[:, i] = last_us, ended_us
    return spans
