"""Where a chunk of a prefill ends so that state layers can keep what they have come to.

Read from vLLM 0.33.0, ``vllm/v1/core/sched/scheduler.py`` (_mamba_block_aligned_split), and where
`Rules` says so from older releases. A state layer in the mode ``align`` keeps the state at the end
of each chunk, and only one that stands on a block boundary can be hit.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvaudit.replay.models.vllm_releases import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChunks:
    """Ends the chunks of prefills; only for models that keep states by ``align``."""

    rules: Rules
    block_size: int
    eagle: bool
    most_tokens: int
    """The most tokens of one request in a step."""

    def share(
        self, *, start: int, share: int, prompt: int, tokens: int, junction: int, admits: bool
    ) -> int:
        """Return how many of ``share`` tokens after ``start`` a step computes; 0 for none yet.

        ``prompt`` and ``tokens`` are the request's, without and with what it generated;
        ``junction`` is where other kinds of layers would hit on, 0 for nowhere, and
        ``admits`` whether the request begins or resumes in this step.
        """
        prefill = max(prompt, tokens - 1) if self.rules.aligns_again else prompt
        if start >= prefill or (not self.rules.aligns_again and tokens > prompt):
            return share
        if self.rules.aligns_stops:
            return max(self._stop(start, start + share, prefill, tokens, junction) - start, 0)
        return self._cut(start, share, tokens, junction if admits else 0)

    def _last(self, tokens: int) -> int:
        """Return the last boundary whose state a repetition of the request could hit."""
        if self.eagle:  # a block is dropped, so a token is left over in any case
            return max(tokens // self.block_size - 1, 0) * self.block_size
        return (tokens - self.rules.aligns_before_last) // self.block_size * self.block_size

    def _cut(self, start: int, share: int, tokens: int, junction: int) -> int:
        """Follow the releases before 0.26."""
        size, last = self.block_size, self._last(tokens)
        if start + share < last:
            share = share // size * size
        elif start < last < start + share:
            share = last - start
        ahead = junction - start
        if self.rules.aligns_junctions and ahead >= size and share > ahead:
            share = ahead // size * size
        return share

    def _stop(self, start: int, end: int, prefill: int, tokens: int, junction: int) -> int:
        """Follow the releases since 0.26: the first of several places where a chunk ends."""
        size, last = self.block_size, self._last(tokens)
        floor = end // size * size
        if self.rules.aligns_to_the_end:
            if end < prefill and (floor > start or size <= self.most_tokens):
                end = floor
        elif end < last:
            end = floor
        stops = [last]
        block_end = (start // size + 1) * size
        if start % size and (self.rules.aligns_to_the_end or block_end <= last):
            stops.append(block_end)
        if start < junction < end:
            stops.append(start + (junction - start) // size * size)
        return min((stop for stop in stops if start < stop < end), default=end)
