"""What one kind of application is: for each tenant a constant set-up, then sessions of turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from kvaudit.traffic.chinese import CHINESE
from kvaudit.traffic.draft import Draft
from kvaudit.traffic.english import ENGLISH
from kvaudit.traffic.prose import Grammar


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One request a session makes, and how the model answered it."""

    draft: Draft
    answer: str
    pause_s: float = 0.0
    """Seconds between the answer and the session's next request."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """One customer of the platform, who writes own instructions."""

    name: str
    language: Grammar

    @property
    def is_english(self) -> bool:
        """Whether the tenant's texts are English."""
        return self.language is ENGLISH


Sessions = Callable[[Random], Iterator[Turn]]
"""Starts a session: its turns, drawn from the session's own random numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One kind of application."""

    name: str
    """What ``--workload`` takes, in kebab case."""
    title: str
    """One line for help and documentation."""
    model: str
    temperature: float
    max_tokens: int
    deploy: Callable[[Tenant, Random], Sessions]
    """Write a tenant's instructions, tools and documents, once; return what starts sessions."""


def tenants(count: int) -> list[Tenant]:
    """Return the first ``count`` tenants; every fourth one is Chinese."""
    return [Tenant(f"tenant-{n}", CHINESE if n % 4 == 0 else ENGLISH) for n in range(1, count + 1)]
