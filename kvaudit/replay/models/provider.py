"""A hosted provider's cache by its dated rules, request by request.

What a provider does inside is not known, so this is a bound from above: it takes every prefix
that the documented rules allow to be read for read. Beside what they allow it tells what a limit
took away: a lifetime, or an entry that was not ready or on another machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from kvaudit.core.prompts import PromptBatch, RequestFacts
from kvaudit.cost.providers.facts import CacheRules, Matching, Provider
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.models.provider_breakpoints import MarkedBlocks, MessageEnds
from kvaudit.replay.models.provider_entries import Leniency, Served, Turn
from kvaudit.replay.models.provider_prefix import PrefixCache
from kvaudit.replay.models.provider_units import PrefixUnits
from kvaudit.replay.models.provider_variants import Variants
from kvaudit.replay.outcomes import CacheOutcome, HostedOutcome

AS_DOCUMENTED, ENDLESS, EVERYWHERE = (
    Leniency(),
    Leniency(expires=False),
    Leniency(expires=False, waits=False),
)


class _Matcher(Protocol):
    def serve(self, turn: Turn) -> Served: ...


class _Limits:
    """One cache of a provider, with the limits that are left in force."""

    def __init__(
        self,
        provider: Provider,
        leniency: Leniency,
        marker_lifetime_s: float | None,
        automatic: bool,
    ) -> None:
        self._matchers: dict[Matching, _Matcher] = {
            "token": PrefixCache(leniency),
            "block": MarkedBlocks(provider, leniency, marker_lifetime_s, automatic=automatic),
            "message-end": MessageEnds(provider, leniency, marker_lifetime_s),
            "unit": PrefixUnits(leniency),
        }

    def serve(self, turn: Turn) -> Served:
        return self._matchers[turn.rules.matching].serve(turn)


class HostedCache:
    """The cache of one provider; takes blocks of one token. Grows with the log's distinct text."""

    def __init__(
        self,
        provider: Provider,
        *,
        model: str | None = None,
        lifetime_s: float | None = None,
        automatic: bool = False,
    ) -> None:
        """Take a model and a lifetime in place of all others, or None for each request's own.

        ``automatic`` marks the last block of requests that mark nothing themselves.
        """
        self._provider, self._model, self._lifetime_s = provider, model, lifetime_s
        self._rules: dict[str | None, CacheRules] = {}
        self._variants = Variants(provider)
        self._caches = [
            _Limits(provider, leniency, lifetime_s, automatic)
            for leniency in (AS_DOCUMENTED, ENDLESS, EVERYWHERE)
        ]

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        assert blocks.block_units == 1
        rows = []
        for turn in self._turns(prompts, blocks):
            served, endless, everywhere = (cache.serve(turn) for cache in self._caches)
            in_time = max(endless.read_tokens - served.read_tokens, 0)
            in_place = max(everywhere.read_tokens - served.read_tokens - in_time, 0)
            rows.append((*served[:4], in_time, in_place, served.too_short))
        read, write_5m, write_1h, refused, expired, dispersed, too_short = (
            np.array(rows, np.int64).reshape(-1, 7).T
        )
        none = np.zeros(len(rows), np.int64)
        return CacheOutcome(
            cached_tokens=read,
            hit_blocks=read,
            admitted=refused == 0,
            evicted_blocks=none,
            held_blocks=none,
            peak_blocks=0,
            hosted=HostedOutcome(
                write_5m_tokens=write_5m,
                write_1h_tokens=write_1h,
                expired_tokens=expired,
                dispersed_tokens=dispersed,
                too_short=too_short == 1,
            ),
        )

    def serve(self, prompts: PromptBatch, blocks: BlockBatch) -> Iterator[tuple[Turn, Served]]:
        """Serve the requests with every limit in force; not to be mixed with `replay`."""
        for turn in self._turns(prompts, blocks):
            yield turn, self._caches[0].serve(turn)

    def _turns(self, prompts: PromptBatch, blocks: BlockBatch) -> Iterator[Turn]:
        for number in range(len(prompts.prompt_units)):
            yield self._turn(number, prompts, blocks)

    def _turn(self, number: int, prompts: PromptBatch, blocks: BlockBatch) -> Turn:
        facts = prompts.requests[number]
        start, end = blocks.key_offsets[number : number + 2].tolist()
        prompt_tokens = int(prompts.prompt_units[number])
        rules = self._rules_of(self._model or facts.model)
        return Turn(
            facts=facts,
            rules=rules,
            keys=blocks.keys[start:end],
            prompt_tokens=prompt_tokens,
            shared_tokens=int(blocks.shared_units[number]),
            scale=scale_of(facts, prompt_tokens),
            lifetime_s=self._lifetime_of(facts, rules),
            variants=self._variants.of(facts),
        )

    def _rules_of(self, model: str | None) -> CacheRules:
        rules = self._rules.get(model)
        if rules is None:
            rules = self._rules[model] = self._provider.rules_of(model)
        return rules

    def _lifetime_of(self, facts: RequestFacts, rules: CacheRules) -> float | None:
        if self._lifetime_s is not None:
            return self._lifetime_s
        asked = (facts.cache_options or {}).get("prompt_cache_retention")
        ttl = asked if isinstance(asked, str) and rules.matching == "token" else None
        named = self._provider.lifetimes.get(ttl.replace("-", "_")) if ttl else None
        return named if named is not None else self._provider.lifetimes.get(rules.default_ttl or "")


def scale_of(facts: RequestFacts, prompt_tokens: int) -> float:
    """Return the tokens that the log counts for one that was counted here.

    A provider's own tokenizer is seldom public, but the log often has its count. Ids that the
    log gives need no scale.
    """
    counted = facts.reported_prompt_tokens
    if not facts.counted or not counted or not prompt_tokens:
        return 1.0
    return counted / prompt_tokens
