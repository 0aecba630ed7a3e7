"""What a provider keeps, and when: stored prefixes with the time each can be read from and until.

An entry can be read once the response that wrote it has begun, and until it was not used for its
lifetime. Times are seconds of the log; a request without a time reads whatever was stored, and
what it stores stays.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kvaudit.core.prompts import RequestFacts
from kvaudit.cost.providers.facts import CacheRules

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Leniency(NamedTuple):
    """Which of a provider's limits hold; without them it is seen what each one costs."""

    expires: bool = True
    waits: bool = True
    """Whether an entry must be ready, and on the machine that the request reaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One request as a provider's cache sees it; lengths are counted tokens."""

    facts: RequestFacts
    rules: CacheRules
    keys: NDArray[np.int32]
    """Key of the prefix up to each token of prompt and known output."""
    prompt_tokens: int
    shared_tokens: int
    """Longest prefix that any earlier request has."""
    scale: float
    """Tokens that the log counts for one that was counted here."""
    lifetime_s: float | None
    """How long what it stores lives where no marker says otherwise; None for ever."""
    variants: tuple[int, int, int]
    """Number of the parameters that part tools, system text and messages."""

    @property
    def now_s(self) -> float | None:
        """When it arrived."""
        return self.facts.arrived_s

    @property
    def ready_s(self) -> float:
        """From when on what it stores can be read: its first token, or just after its arrival."""
        if self.facts.arrived_s is None:
            return -math.inf
        if self.facts.ttft_s is None:
            return math.nextafter(self.facts.arrived_s, math.inf)
        return self.facts.arrived_s + self.facts.ttft_s

    def long_enough(self, tokens: int, *, minimums: int = 1) -> bool:
        """Whether a prefix of so many tokens reaches the provider's minimum, or several."""
        return tokens * self.scale >= minimums * self.rules.minimum_tokens


class Served(NamedTuple):
    """What became of one request, in counted tokens."""

    read_tokens: int = 0
    write_5m_tokens: int = 0
    write_1h_tokens: int = 0
    refused: bool = False
    kept_tokens: int = 0
    """The longest prefix that is stored once it was served."""
    too_short: bool = False
    """Whether nothing could be stored for the provider's minimum."""


@dataclass(slots=True)
class _Entry:
    used_s: float
    ready_s: float
    lifetime_s: float


class Entries:
    """Stored prefixes by name; a name says the place, what parts it, and the prefix's key."""

    def __init__(self, leniency: Leniency) -> None:
        """Start empty."""
        self._leniency = leniency
        self._entries: dict[Hashable, _Entry] = {}

    def readable(self, name: Hashable, turn: Turn) -> bool:
        """Whether the prefix is there for this request."""
        entry = self._entries.get(name)
        if entry is None:
            return False
        now_s = turn.now_s
        if now_s is None:
            return True
        waiting = self._leniency.waits and entry.ready_s > now_s
        return not waiting and not self._expired(entry, now_s)

    def use(self, name: Hashable, turn: Turn) -> None:
        """Begin the lifetime anew, if the prefix is there."""
        entry = self._entries.get(name)
        if entry is not None and turn.now_s is not None:
            entry.used_s = max(entry.used_s, turn.now_s)

    def store(self, name: Hashable, turn: Turn, lifetime_s: float | None) -> None:
        """Write the prefix, or use it where it is there."""
        entry = self._entries.get(name)
        lifetime = math.inf if lifetime_s is None else lifetime_s
        ready_s = turn.ready_s
        used_s = math.inf if turn.now_s is None else ready_s
        if entry is None or self._expired(entry, used_s):
            self._entries[name] = _Entry(used_s, ready_s, lifetime)
            return
        entry.used_s = max(entry.used_s, used_s)
        entry.ready_s = min(entry.ready_s, ready_s)
        entry.lifetime_s = max(entry.lifetime_s, lifetime)

    def _expired(self, entry: _Entry, now_s: float) -> bool:
        return self._leniency.expires and now_s - entry.used_s > entry.lifetime_s
