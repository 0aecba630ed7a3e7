"""Lifetimes compared: what a log would have read and written had all its entries lived so long."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kvaudit.core.prompts import PromptBatch
from kvaudit.cost.providers.facts import Provider
from kvaudit.replay.billing import Rows, counted
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.hosted import AUTOMATIC, KEEPALIVE, choices_of, lifetime_of
from kvaudit.replay.models.provider import HostedCache
from kvaudit.replay.pings import HORIZON_S, Pings


class Compared(NamedTuple):
    """What one choice comes to; ``rows`` are tokens by class, a row a request."""

    name: str
    rows: Rows
    sent: dict[int, int]
    """Pings by group."""
    tokens: dict[int, int]
    """What they read, by group."""


class Choice:
    """One lifetime that is compared, with a cache of its own."""

    def __init__(self, provider: Provider, model: str | None, name: str) -> None:
        """Raise `UsageError` for a lifetime that the provider does not have."""
        self.name, self._provider = name, provider
        self._pings = Pings() if name == KEEPALIVE else None
        automatic = name == AUTOMATIC and name in choices_of(provider)
        if self._pings is not None:
            lifetime_s: float | None = HORIZON_S
        else:
            lifetime_s = None if automatic else lifetime_of(provider, name)
        self._cache = HostedCache(provider, model=model, lifetime_s=lifetime_s, automatic=automatic)
        self._rows: list[Rows] = []
        self._served = 0

    def add(self, batch: PromptBatch, blocks: BlockBatch, group: Rows) -> None:
        """Serve a batch; ``group`` is the number of each request's group."""
        served = []
        for (turn, one), number in zip(
            self._cache.serve(batch, blocks), group.tolist(), strict=True
        ):
            served.append(one)
            if self._pings is not None:
                every_s = self._provider.lifetimes.get(turn.rules.default_ttl or "")
                self._pings.after(turn, one, every_s=every_s, group=number, row=self._served)
            self._served += 1
        table = np.array([one[:4] for one in served], np.int64).reshape(-1, 4)
        read, write_5m, write_1h, refused = table.T
        if self._pings is not None:  # written for the short lifetime, then kept by pings
            write_5m, write_1h = write_5m + write_1h, np.zeros_like(write_1h)
        rows = counted(batch).classes(read, write_5m, write_1h)
        self._rows.append(rows * (refused == 0)[:, None])

    def compared(self, part: slice) -> Compared:
        """Return the counted requests' part; no batch may follow."""
        rows = np.concatenate(self._rows)[part]
        if self._pings is None:
            return Compared(self.name, rows, {}, {})
        return Compared(self.name, rows, *self._pings.sums(part.start or 0))
