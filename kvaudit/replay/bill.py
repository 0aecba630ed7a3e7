"""The bill of a replay through a provider's cache: kept per request, summed at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kvaudit.core.money import (
    ClassTotals,
    HostedSummary,
    LifetimeChoice,
    PricedModel,
    TokenClasses,
)
from kvaudit.core.prompts import PromptBatch, RequestFacts
from kvaudit.cost.pricing import price_list
from kvaudit.cost.providers.facts import Provider, all_providers
from kvaudit.replay.billing import (
    UNSAID,
    Groups,
    Rows,
    counted,
    modelled,
    reported,
    total,
)
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.lifetimes import Choice, Compared
from kvaudit.replay.outcomes import CacheOutcome

DAY_S = 86_400
AS_SENT = "as sent"
_READ, _WRITES = 1, slice(2, 4)
"""Columns of the classes."""


class Bill:
    """Collects what every request is billed as. Holds about 150 bytes a request."""

    def __init__(self, provider: str, model: str | None, lifetimes: Sequence[str] = ()) -> None:
        """Take a model in place of all others, if any, and the lifetimes to compare."""
        self._provider = all_providers()[provider]
        self._groups = Groups(price_list(provider), model)
        self._group: list[Rows] = []
        self._modelled: list[Rows] = []
        self._reported: list[Rows] = []
        self._lost: list[Rows] = []
        self._choices = [Choice(self._provider, model, name) for name in lifetimes]

    def add(self, batch: PromptBatch, blocks: BlockBatch, outcome: CacheOutcome) -> None:
        """Take a batch and what the cache did with it."""
        assert outcome.hosted is not None
        lengths = counted(batch)
        group = np.array(
            [
                self._groups.number(f.model, prompt)
                for f, prompt in zip(batch.requests, lengths.prompt.tolist(), strict=True)
            ],
            np.int64,
        )
        self._group.append(group)
        self._modelled.append(modelled(lengths, outcome))
        self._reported.append(reported(batch, lengths))
        self._lost.append(
            np.stack(
                [
                    lengths.scaled(outcome.hosted.lost["expired"]),
                    lengths.scaled(outcome.hosted.lost["dispersed"]),
                    ~outcome.admitted,
                    outcome.hosted.too_short,
                    [_is_marked(f) for f in batch.requests],
                    [f.outline is None for f in batch.requests],
                ],
                axis=1,
            )
        )
        for choice in self._choices:
            choice.add(batch, blocks, group)

    def summary(self, part: slice, span_s: float | None) -> HostedSummary:
        """Sum up the counted requests."""
        group = np.concatenate(self._group)[part]
        rows = np.concatenate(self._modelled)[part]
        said = np.concatenate(self._reported)[part]
        lost = np.concatenate(self._lost)[part]
        known = said[:, 0] != UNSAID
        plain = _without_cache(rows)
        over = rows[known, _READ] - said[known, _READ]
        costs = {name: self._usd(group, of) for name, of in (("out", plain), ("with", rows))}
        saved = None
        if costs["out"] is not None and costs["with"] is not None:
            saved = costs["out"] - costs["with"]
        return HostedSummary(
            provider=self._provider.name,
            rules_read=f"{self._provider.read}, {self._provider.source}",
            requests=len(group),
            refused=int(lost[:, 2].sum()),
            below_minimum=int(lost[:, 3].sum()),
            marked=int(lost[:, 4].sum()) if self._provider.cache.needs_marker else None,
            without=_totals(plain),
            modelled=_totals(rows),
            reported=_totals(said[known]) if known.any() else None,
            reported_requests=int(known.sum()),
            without_messages=int(lost[:, 5].sum()),
            expired_tokens=int(lost[:, 0].sum()),
            dispersed_tokens=int(lost[:, 1].sum()),
            unexplained_tokens=int(over[over > 0].sum()),
            surplus_tokens=int(-over[over < 0].sum()),
            usd_without=costs["out"],
            usd_with=costs["with"],
            usd_reported=self._usd(group[known], said[known]) if known.any() else None,
            usd_saved=saved,
            usd_saved_per_day=saved * DAY_S / span_s if saved is not None and span_s else None,
            models=list(self._models(group, plain, rows)),
            lifetimes=self._lifetimes(part, group, rows),
        )

    def _usd(self, group: Rows, rows: Rows) -> float | None:
        """Return what rows cost; those of a model without a price are left out."""
        sums = [
            self._groups.usd(of, total(rows[group == number]))
            for number, of in enumerate(self._groups)
            if (group == number).any()
        ]
        priced = [usd for usd in sums if usd is not None]
        return sum(priced) if priced else None

    def _models(self, group: Rows, plain: Rows, rows: Rows) -> Iterable[PricedModel]:
        by_model: dict[str | None, list[int]] = {}
        for number, of in enumerate(self._groups):
            by_model.setdefault(of.model, []).append(number)
        for model, numbers in sorted(by_model.items(), key=lambda item: item[0] or ""):
            chosen = np.isin(group, numbers)
            if not chosen.any():
                continue
            price, hint = self._groups.price(model)
            yield PricedModel(
                model=model or "not named",
                requests=int(chosen.sum()),
                usd_without=self._usd(group[chosen], plain[chosen]),
                usd_with=self._usd(group[chosen], rows[chosen]),
                source=f"{price.source}, read {price.read}" if price is not None else None,
                note=price.note if price is not None else _unpriced(model, hint, self._provider),
            )

    def _lifetimes(self, part: slice, group: Rows, rows: Rows) -> list[LifetimeChoice]:
        if not self._choices:
            return []
        found = [Compared(AS_SENT, rows, {}, {})]
        found += [choice.compared(part) for choice in self._choices]
        costs = [self._cost_of(group, one) for one in found]
        known = [usd for usd in costs if usd is not None]
        return [
            LifetimeChoice(
                name=one.name,
                cached_read_tokens=int(one.rows[:, _READ].sum()),
                cache_write_tokens=int(one.rows[:, _WRITES].sum()),
                pings=sum(one.sent.values()),
                ping_tokens=sum(one.tokens.values()),
                usd=usd,
                best=usd is not None and usd == min(known),
            )
            for one, usd in zip(found, costs, strict=True)
        ]

    def _cost_of(self, group: Rows, one: Compared) -> float | None:
        usd = self._usd(group, one.rows)
        for number, of in enumerate(self._groups):
            # A ping reads the entry and generates one token.
            tokens = TokenClasses(
                cached_read=one.tokens.get(number, 0), output=one.sent.get(number, 0)
            )
            more = self._groups.usd(of, tokens)
            usd = usd + more if usd is not None and more is not None else usd
        return usd


def _is_marked(facts: RequestFacts) -> bool:
    whole = (facts.cache_options or {}).get("cache_control") is not None
    return whole or (facts.outline is not None and bool(facts.outline.marks))


def _without_cache(rows: Rows) -> Rows:
    plain = np.zeros_like(rows)
    plain[:, 0] = rows[:, :4].sum(axis=1)
    plain[:, 4] = rows[:, 4]
    return plain


def _totals(rows: Rows) -> ClassTotals:
    return ClassTotals(**total(rows)._asdict())


def _unpriced(model: str | None, hint: str, provider: Provider) -> str:
    if model is None:
        return "the log names no model; say --model to price its requests"
    return f"no price of {provider.name} is known for it{hint}"
