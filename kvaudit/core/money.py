"""Money at a provider: tokens by class as they are billed, and what they cost.

The part of a replay's report that only a hosted provider's cache has. A field that the input
cannot support is None, and a note says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class TokenClasses(NamedTuple):
    """Tokens by the class they are billed as; no token is in two of them."""

    input: int = 0
    """Prompt tokens that were neither read from a cache nor written to one."""
    cached_read: int = 0
    cache_write_5m: int = 0
    """Written for the shorter lifetime, or the only one that a provider has."""
    cache_write_1h: int = 0
    """Written for the longer lifetime: an hour, at OpenAI twelve."""
    output: int = 0

    def plus(self, other: TokenClasses) -> TokenClasses:
        """Return the sums."""
        return TokenClasses(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def prompt(self) -> int:
        """All tokens of the prompts."""
        return sum(self) - self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassTotals:
    """`TokenClasses` as the report has them."""

    input: int
    cached_read: int
    cache_write_5m: int
    cache_write_1h: int
    output: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedModel:
    """One model of the log and the prices it was counted at; without any its ``usd_*`` are None."""

    model: str
    requests: int
    usd_without: float | None
    usd_with: float | None
    source: str | None
    """Page of the prices, and when it was read."""
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LifetimeChoice:
    """What one choice of lifetime would have read, written and cost on this log."""

    name: str
    """``as sent``, the lifetime, or ``keepalive``."""
    cached_read_tokens: int
    cache_write_tokens: int
    pings: int
    """Requests sent for no other reason than to keep entries alive."""
    ping_tokens: int
    usd: float | None
    best: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedSummary:
    """What a provider's cache means in tokens billed and in money, over the counted requests."""

    provider: str
    rules_read: str
    """When the rules were read, and where."""
    requests: int
    refused: int
    """Requests that the provider answers with an error; they are not billed."""
    below_minimum: int
    """Requests of which nothing is stored, since it would be shorter than the minimum."""
    marked: int | None
    """Requests that set a breakpoint; None where a cache needs none."""
    without: ClassTotals
    modelled: ClassTotals
    reported: ClassTotals | None
    """By the log's usage, over the requests that carry it."""
    reported_requests: int
    without_messages: int
    """Requests of which it is not known where their messages end."""
    expired_tokens: int
    dispersed_tokens: int
    """Lost to entries that were not ready, or on another machine, by the model."""
    unexplained_tokens: int
    """Modelled reads that the log does not report: not ready, or dispersed."""
    surplus_tokens: int
    """Reported reads beyond the model's."""
    usd_without: float | None
    usd_with: float | None
    usd_reported: float | None
    usd_saved: float | None
    usd_saved_per_day: float | None
    models: Sequence[PricedModel]
    lifetimes: Sequence[LifetimeChoice] = ()
    definition: str = (
        "tokens of each class at list prices, USD; prompt tokens as the log counts them where it "
        "does, cached and written ones in proportion; saved = without any cache - with this one"
    )
