"""What a log's requests are billed as: tokens by class, without a cache, with it, and as logged.

Lengths that were counted from text are put into the log's own count where it has one, request by
request: a provider bills by its own tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.money import TokenClasses
from kvaudit.core.prompts import PromptBatch
from kvaudit.cost.pricing import Found, Price, PriceList
from kvaudit.replay.outcomes import CacheOutcome

UNSAID = -1
"""Stands for a counter that the log does not give."""
Rows = NDArray[np.int64]


class Group(NamedTuple):
    """Requests that are billed at the same rates."""

    model: str | None
    long: bool


class Groups:
    """Numbers the groups of a log, and knows their prices."""

    def __init__(self, prices: PriceList, model: str | None) -> None:
        """Take a model in place of all others, or None for each request's own."""
        self._prices, self._model = prices, model
        self._numbers: dict[Group, int] = {}
        self._found: dict[str | None, Found] = {}

    def number(self, model: str | None, prompt_tokens: int) -> int:
        """Return the number of a request's group."""
        model = self._model or model
        price = self.price(model).price
        group = Group(model, price is not None and price.is_long(prompt_tokens))
        return self._numbers.setdefault(group, len(self._numbers))

    def price(self, model: str | None) -> Found:
        """Return a model's price."""
        if model not in self._found:
            self._found[model] = self._prices.of(model)
        return self._found[model]

    def __iter__(self) -> Iterator[Group]:
        """Yield the groups by number."""
        return iter(self._numbers)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._numbers)

    def usd(self, group: Group, tokens: TokenClasses) -> float | None:
        """Return what tokens of a group cost; None where its model has no price."""
        price: Price | None = self.price(group.model).price
        return None if price is None else price.rates(long=group.long).usd(tokens)


class Counted(NamedTuple):
    """The lengths of a batch as the log counts them; one entry a request."""

    prompt: Rows
    output: Rows
    counted_here: Rows
    """The prompt as it was counted here, where the log's count is to be used instead; else 0."""

    def scaled(self, tokens: Rows) -> Rows:
        """Return lengths that were counted here as the log would count them."""
        here = self.counted_here
        safe = np.maximum(here, 1)
        return np.where(here > 0, (tokens * self.prompt + safe // 2) // safe, tokens)

    def classes(self, read: Rows, write_5m: Rows, write_1h: Rows) -> Rows:
        """Return tokens by class, shape (requests, 5), in the order of `TokenClasses`."""
        parts = [self.scaled(part) for part in (read, write_5m, write_1h)]
        # Rounded parts may exceed the whole by a token.
        rest = np.maximum(self.prompt - sum(parts), 0)
        return np.stack([rest, *parts, self.output], axis=1)


def counted(batch: PromptBatch) -> Counted:
    """Return the lengths of a batch as its log counts them."""
    logged = _integers([f.reported_prompt_tokens if f.counted else None for f in batch.requests])
    said = logged > 0
    output = _integers([f.reported_output_tokens for f in batch.requests])
    return Counted(
        prompt=np.where(said, logged, batch.prompt_tokens),
        output=np.where(output == UNSAID, batch.output_tokens, output),
        counted_here=np.where(said, batch.prompt_tokens, 0),
    )


def modelled(lengths: Counted, outcome: CacheOutcome) -> Rows:
    """Return what the modelled cache makes of a batch, by class; a refused request is nothing."""
    assert outcome.hosted is not None
    classes = lengths.classes(
        outcome.cached_tokens, outcome.hosted.write_5m_tokens, outcome.hosted.write_1h_tokens
    )
    return classes * outcome.admitted[:, None]


def reported(batch: PromptBatch, lengths: Counted) -> Rows:
    """Return what the log's usage says, by class; a row that begins with `UNSAID` says nothing.

    Nor does one that reads and writes more tokens than the prompt has by the log itself.
    """
    facts = batch.requests
    cached = _integers([f.reported_cached_tokens for f in facts])
    said = _integers([f.reported_prompt_tokens for f in facts])
    prompt = np.where(said == UNSAID, lengths.prompt, said)
    write_5m = np.maximum(_integers([f.reported_write_5m_tokens for f in facts]), 0)
    write_1h = np.maximum(_integers([f.reported_write_1h_tokens for f in facts]), 0)
    rest = prompt - cached - write_5m - write_1h
    rows = np.stack([np.maximum(rest, 0), cached, write_5m, write_1h, lengths.output], axis=1)
    rows[(cached == UNSAID) | ((said != UNSAID) & (rest < 0))] = UNSAID
    return rows


def total(rows: Rows) -> TokenClasses:
    """Return the sums of rows by class."""
    return TokenClasses(*(int(n) for n in rows.sum(axis=0)))


def _integers(values: Sequence[int | None]) -> Rows:
    return np.array([UNSAID if v is None else v for v in values], np.int64)
