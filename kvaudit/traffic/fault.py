"""What a planted fault is: one change to a request's parts, at a known place.

A fault draws from random numbers of its own, so that the same traffic with and without it
differs in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random

from kvaudit.traffic.draft import Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """When and for whom a request is made: what a faulty application may write into it."""

    number: int
    """The request's number in the log, from 0."""
    arrived_s: float
    tenant: str
    user: str
    session: str

    @property
    def time(self) -> datetime:
        """The arrival as a time of day, in UTC."""
        return datetime.fromtimestamp(self.arrived_s, tz=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One way in which an application keeps its prompts from sharing a prefix."""

    name: str
    """What ``--fault`` takes, in kebab case."""
    title: str
    """One line for help and documentation."""
    cause: str | None
    """What a diagnosis should call it, or None for a change that costs next to nothing."""
    position: str
    """Where in the prompt it sits: tools, system, fewshot, history or newest."""
    plant: Callable[[Draft, Occasion, Random], Draft]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A fault in a log, and how much of the log has it."""

    fault: str
    share: float = 1.0
    """Of the requests, drawn one by one."""
    workload: str | None = None
    """The only application that has it; None is all."""
