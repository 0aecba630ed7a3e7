"""What every replica is working on at the moment a request arrives."""

from __future__ import annotations

import heapq

from kvaudit.replay.fleet.arrival import Arrival


class Loads:
    """Requests in flight, by replica; lists have one entry a replica."""

    def __init__(self, replicas: int) -> None:
        """Start idle."""
        self.requests = [0] * replicas
        self.tokens = [0] * replicas
        """Prompt and output tokens of the requests in flight."""
        self.prefill_tokens = [0] * replicas
        """Prompt tokens of those whose first token has not come yet."""
        self.served = [0] * replicas
        """Requests so far."""
        self._ends: list[tuple[float, int, int, Arrival]] = []
        self._prefills: list[tuple[float, int, int]] = []
        self._count = 0

    def grow(self, replicas: int) -> None:
        """Add idle replicas until there are so many."""
        more = [0] * (replicas - len(self.requests))
        for column in (self.requests, self.tokens, self.prefill_tokens, self.served):
            column += more

    def advance(self, now: float) -> list[tuple[Arrival, int]]:
        """Let time pass; return the requests that ended by then, with their replicas."""
        while self._prefills and self._prefills[0][0] <= now:
            _, replica, tokens = heapq.heappop(self._prefills)
            self.prefill_tokens[replica] -= tokens
        ended = []
        while self._ends and self._ends[0][0] <= now:
            _, _, replica, arrival = heapq.heappop(self._ends)
            self.requests[replica] -= 1
            self.tokens[replica] -= arrival.prompt_tokens + arrival.output_tokens
            ended.append((arrival, replica))
        return ended

    def add(self, arrival: Arrival, replica: int) -> None:
        """Put a request in flight."""
        self.requests[replica] += 1
        self.tokens[replica] += arrival.prompt_tokens + arrival.output_tokens
        self.prefill_tokens[replica] += arrival.prompt_tokens
        self.served[replica] += 1
        # Numbered, since arrivals cannot be compared.
        self._count += 1
        heapq.heappush(self._ends, (arrival.span.ended, self._count, replica, arrival))
        heapq.heappush(self._prefills, (arrival.span.prefilled, replica, arrival.prompt_tokens))
