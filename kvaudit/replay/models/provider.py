"""A hosted provider's cache by its dated rules, request by request.

What a provider does inside is not known, so this is a bound from above: it takes every prefix
that the documented rules allow to be read for read. Beside what they allow it tells what kept the
rest from being read: a lifetime, an entry that was not ready or on another machine, a parameter,
the minimum, a breakpoint that is missing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kvaudit.core.prompts import PromptBatch, RequestFacts
from kvaudit.cost.providers.facts import CacheRules, Provider
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.models.provider_entries import Served, Turn
from kvaudit.replay.models.provider_limits import REASONS, Limits
from kvaudit.replay.models.provider_variants import Variants
from kvaudit.replay.outcomes import CacheOutcome, HostedOutcome


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
        self._limits = Limits(provider, lifetime_s, automatic=automatic)

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        assert blocks.block_units == 1
        served, lost = [], []
        for turn in self._turns(prompts, blocks):
            one, kept_from = self._limits.compare(turn)
            served.append(one)
            lost.append(kept_from)
        columns = np.array(served, np.int64).reshape(-1, len(Served._fields)).T
        of = dict(zip(Served._fields, columns, strict=True))
        reasons = np.array(lost, np.int64).reshape(-1, len(REASONS)).T
        none = np.zeros(len(served), np.int64)
        return CacheOutcome(
            cached_tokens=of["read_tokens"],
            hit_blocks=of["read_tokens"],
            admitted=of["refused"] == 0,
            evicted_blocks=none,
            held_blocks=none,
            peak_blocks=0,
            hosted=HostedOutcome(
                write_5m_tokens=of["write_5m_tokens"],
                write_1h_tokens=of["write_1h_tokens"],
                lost=dict(zip(REASONS, reasons, strict=True)),
                too_short=of["too_short"] == 1,
            ),
        )

    def serve(self, prompts: PromptBatch, blocks: BlockBatch) -> Iterator[tuple[Turn, Served]]:
        """Serve the requests with every limit in force; not to be mixed with `replay`."""
        for turn in self._turns(prompts, blocks):
            yield turn, self._limits.serve(turn)

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
