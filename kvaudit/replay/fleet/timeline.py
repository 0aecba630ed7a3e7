"""When a request is in flight: from its arrival until it is answered.

Routers weigh replicas by what they are working on, which no sequential cache model knows. It
is taken from the log where the log has it. Where it has arrivals only, how long a request
takes is guessed from its token counts. Where it has no times at all there is a clock of
tokens: every replica works off one token a tick, and requests come as fast as the fleet can
serve them, so that about one request a replica is in flight.
"""

from __future__ import annotations

from typing import NamedTuple

from kvaudit.core.prompts import RequestFacts

PROMPT_TOKENS_PER_S = 10_000
S_PER_OUTPUT_TOKEN = 0.025
"""The guess: what one recent accelerator does with a model of some eight billion weights."""


class Span(NamedTuple):
    """Moments of a request, in seconds or in ticks of the token clock."""

    arrived: float
    prefilled: float
    """When its first token comes."""
    ended: float


class Timeline:
    """Gives every request of a log its moments, in the order of arrival."""

    def __init__(self, replicas: int) -> None:
        """Take how many replicas share the work; only the token clock needs to know."""
        self._replicas = replicas
        self._timed: bool | None = None
        self._now = 0.0
        self._requests = self._ended = 0

    def span(self, facts: RequestFacts, prompt_tokens: int, output_tokens: int) -> Span:
        """Return the moments of the next request of the log."""
        self._requests += 1
        if self._timed is None:
            self._timed = facts.arrived_s is not None
        if not self._timed:
            arrived = self._now
            self._now += (prompt_tokens + output_tokens) / self._replicas
            prefilled = arrived + prompt_tokens
            return Span(arrived, prefilled, prefilled + output_tokens)
        if facts.arrived_s is not None:
            self._now = max(self._now, facts.arrived_s) if self._requests > 1 else facts.arrived_s
        arrived = self._now
        first = prompt_tokens / PROMPT_TOKENS_PER_S if facts.ttft_s is None else facts.ttft_s
        if facts.finished_s is None:
            ended = arrived + first + output_tokens * S_PER_OUTPUT_TOKEN
        else:
            self._ended += 1
            ended = max(arrived, facts.finished_s)
        return Span(arrived, min(arrived + first, ended), ended)

    def basis(self) -> str:
        """Say by what requests were taken to be in flight, as a clause."""
        if not self._timed:
            return (
                "the log has no arrival times, so every replica works off one token a tick and "
                "requests come as fast as all of them can serve"
            )
        guess = (
            f"for a guess of {1000 / PROMPT_TOKENS_PER_S:g} ms a prompt token and "
            f"{1000 * S_PER_OUTPUT_TOKEN:g} ms an output token"
        )
        if not self._ended:
            return f"from arrived_s on, {guess}"
        if self._ended == self._requests:
            return "from arrived_s to finished_s, as logged"
        return (
            f"from arrived_s to finished_s where the log has both ({self._ended:,} of "
            f"{self._requests:,} requests), else {guess}"
        )
