"""What tokens cost at a provider: dated list prices by class of token.

One TOML file a provider, in ``prices/``; every entry names its page and when it was read. A price
is USD per million tokens. A prompt of at least ``long_from`` tokens is billed at ``long``, all of
it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from kvaudit.core.money import TokenClasses
from kvaudit.core.nearest import did_you_mean

PER = 1_000_000
_LIST_OF = {"azure": "openai"}
"""Providers that bill by another's list."""
# What stands before and behind a model's own name: routers, regions, makers, dates, revisions.
_BEFORE = re.compile(
    r"^(?:.*/|[a-z_]+:)?(?:(?:us|eu|apac|jp|au|global|us-gov)\.)?(?:anthropic\.|amazon\.)?"
)
_BEHIND = re.compile(
    r"(?:[@:]\d+|-v\d+(?::\d+)?|[-@]20\d{6}|-20\d\d-\d\d-\d\d|-latest"
    r"|-preview(?:-\d\d-\d\d(?:\d\d)?)?)$"
)


class Rates(BaseModel):
    """USD per million tokens of each class; a missing one costs what input costs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float
    cached_read: float | None = None
    cache_write_5m: float | None = None
    cache_write_1h: float | None = None
    output: float

    def usd(self, tokens: TokenClasses) -> float:
        """Return what the tokens cost."""
        rates = (
            *(self.input, self.cached_read, self.cache_write_5m, self.cache_write_1h),
            self.output,
        )
        return (
            sum(
                count * (self.input if rate is None else rate)
                for count, rate in zip(tokens, rates, strict=True)
            )
            / PER
        )


class Price(Rates):
    """The prices of some models, and where they were read."""

    models: tuple[str, ...]
    storage_hour: float | None = None
    long_from: int | None = None
    long: Rates | None = None
    note: str | None = None
    source: str
    read: str

    def is_long(self, prompt_tokens: int) -> bool:
        """Whether a prompt of so many tokens is billed at the rates of long ones."""
        return self.long_from is not None and prompt_tokens >= self.long_from

    def rates(self, *, long: bool) -> Rates:
        """Return the rates of ordinary or of long prompts."""
        return self.long if long and self.long is not None else self


class Found(NamedTuple):
    """The price of a model, or what its name may have meant."""

    price: Price | None
    hint: str
    """``; did you mean ...``, or nothing."""


class PriceList:
    """The prices of one provider."""

    def __init__(self, prices: Sequence[Price]) -> None:
        """Take the entries; a model is in one of them."""
        self._by_model: Mapping[str, Price] = {m: p for p in prices for m in p.models}

    def of(self, model: str | None) -> Found:
        """Return the price of a model by its name as a log has it."""
        if model is None:
            return Found(None, "")
        name = plain_name(model)
        price = self._by_model.get(name)
        return Found(price, "" if price is not None else did_you_mean(name, self._by_model))


@cache
def price_list(provider: str) -> PriceList:
    """Return a provider's prices, an empty list where none are known."""
    path = Path(__file__).parent / "prices" / f"{_LIST_OF.get(provider, provider)}.toml"
    if not path.exists():
        return PriceList(())
    entries = tomllib.loads(path.read_text("utf-8"))["price"]
    return PriceList([Price.model_validate(entry) for entry in entries])


def plain_name(model: str) -> str:
    """Return a model's own name: without router, region, maker, date and revision."""
    name = _BEFORE.sub("", model.lower().strip(), count=1)
    while True:
        shorter = _BEHIND.sub("", name)
        if shorter == name:
            return re.sub(r"(?<=claude-)(\w+-\d)\.(\d)", r"\1-\2", name)
        name = shorter
