"""What is kept of every request of a replay: columns of integers, about 100 bytes a request."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.facts import column
from kvaudit.replay.outcomes import CacheOutcome

UNKNOWN = -1
"""Stands for a session or a counter that the log does not give."""


class Column:
    """A column of integers that grows by batches."""

    def __init__(self) -> None:
        """Start empty."""
        self._parts: list[NDArray[np.int64]] = []

    def extend(self, values: NDArray[np.integer] | NDArray[np.bool_]) -> None:
        """Append one batch; the values are copied, so that a batch's arrays can be let go."""
        self._parts.append(values.astype(np.int64, copy=True))

    def values(self) -> NDArray[np.int64]:
        """Return the whole column."""
        if len(self._parts) != 1:
            self._parts = [np.concatenate([np.empty(0, np.int64), *self._parts])]
        return self._parts[0]


class LogLedger:
    """What the log says of its requests, in replay order."""

    def __init__(self) -> None:
        """Start empty."""
        self.prompt_tokens, self.output_tokens = Column(), Column()
        self.namespaces, self.sessions = Column(), Column()
        self.reported_hits, self.reported_prompts = Column(), Column()
        self._ttft_s: list[NDArray[np.float64]] = []
        self._times: list[NDArray[np.float64]] = []
        self._session_numbers: dict[str, int] = {}

    def add(self, batch: PromptBatch) -> None:
        """Append one batch."""
        facts, numbers = batch.requests, self._session_numbers
        self.prompt_tokens.extend(batch.prompt_tokens)
        self.output_tokens.extend(batch.output_tokens)
        self.namespaces.extend(batch.namespaces)
        self.sessions.extend(
            _integers(
                UNKNOWN if name is None else numbers.setdefault(name, len(numbers))
                for name in column(facts, "session")
            )
        )
        self.reported_hits.extend(
            _integers(UNKNOWN if n is None else n for n in column(facts, "reported_cached_tokens"))
        )
        self.reported_prompts.extend(
            _integers(
                own if n is None else n
                for n, own in zip(
                    column(facts, "reported_prompt_tokens"),
                    batch.prompt_tokens.tolist(),
                    strict=True,
                )
            )
        )
        self._times.append(_seconds(column(facts, "arrived_s")))
        self._ttft_s.append(_seconds(column(facts, "ttft_s")))

    @property
    def session_names(self) -> list[str]:
        """Names of the sessions by number."""
        return list(self._session_numbers)

    def clock_s(self) -> NDArray[np.float64]:
        """Return each request's arrival since the first, or its number where times are missing."""
        times = np.concatenate(self._times)
        if np.isnan(times).any():
            return np.arange(len(times), dtype=np.float64)
        since: NDArray[np.float64] = times - times[0]
        return since

    def measured_ttft_s(self) -> NDArray[np.float64]:
        """Return each request's measured time to first token; NaN where the log has none."""
        return np.concatenate([np.empty(0), *self._ttft_s])

    def span_s(self, part: slice = slice(None)) -> float | None:
        """Return the time from a part's first arrival to its last; None where no time is known."""
        times = np.concatenate(self._times)[part]
        known = times[~np.isnan(times)]
        return float(known.max() - known.min()) if len(known) else None


class CacheLedger:
    """What one cache did with every request."""

    def __init__(self) -> None:
        """Start empty."""
        self.hit_tokens, self.hit_blocks, self.blocks = Column(), Column(), Column()
        self.evicted_blocks, self.held_blocks, self.admitted = Column(), Column(), Column()
        self.lost: dict[str, Column] = {}
        """Why a provider's cache did not read what was sent before; see `HostedOutcome`."""
        self.peak_blocks = 0

    def add(self, outcome: CacheOutcome, blocks: NDArray[np.int64]) -> None:
        """Append one batch; ``blocks`` is the number of blocks of each prompt."""
        self.add_hits(outcome.cached_tokens, outcome.hit_blocks, blocks)
        self.evicted_blocks.extend(outcome.evicted_blocks)
        self.held_blocks.extend(outcome.held_blocks)
        self.admitted.extend(outcome.admitted)
        self.peak_blocks = outcome.peak_blocks
        if outcome.hosted is not None:
            for reason, tokens in outcome.hosted.lost.items():
                self.lost.setdefault(reason, Column()).extend(tokens)

    def add_hits(
        self,
        hit_tokens: NDArray[np.int64],
        hit_blocks: NDArray[np.int64],
        blocks: NDArray[np.int64],
    ) -> None:
        """Append one batch of a cache of which nothing but its hits is known."""
        self.hit_tokens.extend(hit_tokens)
        self.hit_blocks.extend(hit_blocks)
        self.blocks.extend(blocks)


def _seconds(values: Iterable[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _integers(values: Iterable[int]) -> NDArray[np.int64]:
    return np.fromiter(values, np.int64)
