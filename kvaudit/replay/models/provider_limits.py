"""What kept a provider's cache from reading what was sent before, request by request.

The same requests are served again with fewer and fewer limits in force: no lifetimes, then every
entry ready and on every machine, then whatever parameters stand beside the text. Each difference
is what that limit costs; what is not read even then, a rule does not allow to be stored.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Protocol

from kvaudit.cost.providers.facts import Matching, Provider
from kvaudit.replay.models.provider_breakpoints import MarkedBlocks, MessageEnds
from kvaudit.replay.models.provider_entries import Leniency, Served, Turn
from kvaudit.replay.models.provider_prefix import PrefixCache
from kvaudit.replay.models.provider_units import PrefixUnits
from kvaudit.replay.models.provider_variants import NONE

REASONS = ("expired", "dispersed", "parameter_change", "refused", "below_minimum", "not_marked")
"""Fields of `kvaudit.core.results.LostTokens`, in the order that `Limits.compare` fills."""


class _Matcher(Protocol):
    def serve(self, turn: Turn) -> Served: ...


class _Caches:
    """A provider's caches by what two prompts must share, with the limits that are left."""

    def __init__(
        self, provider: Provider, leniency: Leniency, lifetime_s: float | None, *, automatic: bool
    ) -> None:
        self._matchers: dict[Matching, _Matcher] = {
            "token": PrefixCache(leniency),
            "block": MarkedBlocks(provider, leniency, lifetime_s, automatic=automatic),
            "message-end": MessageEnds(provider, leniency, lifetime_s),
            "unit": PrefixUnits(leniency),
        }

    def serve(self, turn: Turn) -> Served:
        return self._matchers[turn.rules.matching].serve(turn)


class Limits:
    """A provider's cache with all its limits, and the same with fewer."""

    def __init__(self, provider: Provider, lifetime_s: float | None, *, automatic: bool) -> None:
        """Start empty; ``lifetime_s`` and ``automatic`` as for `HostedCache`."""
        self._documented, self._endless, self._everywhere = (
            _Caches(provider, leniency, lifetime_s, automatic=automatic)
            for leniency in (
                Leniency(),
                Leniency(expires=False),
                Leniency(expires=False, waits=False),
            )
        )
        self._whatever: _Caches | None = None
        """Without parameters, too; the same as ``_everywhere`` until a request sets one."""

    def serve(self, turn: Turn) -> Served:
        """Serve a request with every limit in force; not to be mixed with `compare`."""
        return self._documented.serve(turn)

    def compare(self, turn: Turn) -> tuple[Served, tuple[int, ...]]:
        """Serve a request; return it with the tokens that each of `REASONS` kept from being read.

        What an earlier request had and no reason names is behind the last whole step or unit.
        """
        if self._whatever is None and turn.variants != NONE:
            self._whatever = deepcopy(self._everywhere)
        served = self._documented.serve(turn)
        in_force, lost = served.read_tokens, []
        fewer = (
            (self._endless, turn),
            (self._everywhere, turn),
            (self._whatever, replace(turn, variants=NONE)),
        )
        for cache, asked in fewer:
            read = in_force if cache is None else max(cache.serve(asked).read_tokens, in_force)
            lost.append(read - in_force)
            in_force = read
        rest = max(min(turn.shared_tokens, turn.prompt_tokens) - in_force, 0)
        rule = _rule(turn, served)
        return served, (*lost, *(rest if reason == rule else 0 for reason in REASONS[len(lost) :]))


def _rule(turn: Turn, served: Served) -> str | None:
    """Return which rule allows no more than was read; None for the end of a step or unit."""
    if served.refused:
        return "refused"
    if served.too_short or not turn.long_enough(turn.shared_tokens):
        return "below_minimum"
    return "not_marked" if turn.rules.matching in ("block", "message-end") else None
