"""Look-ups in the dated data about providers' prompt caches.

One TOML file a provider, in ``data/``. Facts drift monthly: every part names its source and when
it was read, and what sources disagree about is marked as not certain.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

Matching = Literal["token", "block", "message-end", "unit"]
Lost = Literal["all", "system", "messages"]
DEFAULT_MINIMUM = 1024
"""What most providers ask for; used where the model is not known."""


class Minimum(NamedTuple):
    """The shortest prefix a model caches."""

    tokens: int
    certain: bool
    source: str


class CacheRules(NamedTuple):
    """What decides about one model's hits, the exceptions of its generation applied."""

    matching: Matching
    step_tokens: int
    minimum_tokens: int
    marker_limit: int | None
    look_back: int | None
    considered: int | None
    default_ttl: str | None
    """None where nothing is documented: an entry then lives on."""
    keys_per_minute: int | None
    route_tokens: int | None
    minimum_each: bool


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Cache(_Strict):
    needs_marker: bool
    matching: Matching
    order: tuple[str, ...]
    marker_limit: int | None = None
    look_back: int | None = None
    default_ttl: str | None = None
    step_tokens: int = 1
    keys_per_minute: int | None = None
    route_tokens: int | None = None
    """Tokens at the head whose hash chooses the machine."""
    minimum_each: bool = False
    """Whether the n-th marker counts only from n times the minimum on."""


class _Generation(_Strict):
    models: str
    matching: Matching
    source: str
    marker_limit: int | None = None
    look_back: int | None = None
    considered: int | None = None
    """The latest so many breakpoints of a request that a look-up considers."""
    default_ttl: str | None = None


class _Retention(_Strict):
    models: str
    ttl: str
    source: str
    certain: bool = True


class _Minimum(_Strict):
    models: str
    tokens: int
    source: str
    certain: bool = True


class Provider(_Strict):
    """What is known of one provider's cache."""

    name: str
    models: str
    """Pattern of the models' names."""
    read: str
    """Year and month in which the source was read."""
    source: str
    cache: _Cache
    generation: tuple[_Generation, ...] = ()
    retention: tuple[_Retention, ...] = ()
    """Models whose entries live otherwise where the request says nothing."""
    lifetimes: Mapping[str, int] = Field(default_factory=dict)
    minimum: tuple[_Minimum, ...] = ()
    invalidates: Mapping[str, Lost] = Field(default_factory=dict)

    def minimum_of(self, model: str) -> Minimum | None:
        """Return the shortest prefix that is cached for a model; None where it is not known."""
        for entry in self.minimum:
            if re.search(entry.models, model.lower()):
                return Minimum(entry.tokens, entry.certain, f"{entry.source}, read {self.read}")
        return None

    def matching_of(self, model: str | None) -> Matching:
        """Return what two prompts must share to reuse anything."""
        for entry in self.generation:
            if model and re.search(entry.models, model.lower()):
                return entry.matching
        return self.cache.matching

    def marker_limit_of(self, model: str | None) -> int | None:
        """Return how many markers a request may have; None where there are none."""
        for entry in self.generation:
            if model and re.search(entry.models, model.lower()):
                return entry.marker_limit
        return self.cache.marker_limit

    def _minimum_for(self, model: str) -> Minimum | None:
        """Return a model's minimum, for an unknown one that of most, which stands last."""
        found = self.minimum_of(model)
        if found is None and self.minimum:
            last = self.minimum[-1]
            return Minimum(last.tokens, False, last.source)
        return found

    def lifetime_of(self, ttl: str | None) -> int | None:
        """Return how many seconds a marker lives, by its ttl as written."""
        return self.lifetimes.get(ttl or self.cache.default_ttl or "")

    def rules_of(self, model: str | None) -> CacheRules:
        """Return all that a model of this cache follows, for one of the provider's models."""
        name = (model or "").lower()
        newer = next((g for g in self.generation if re.search(g.models, name)), None)
        kept = next((r.ttl for r in self.retention if re.search(r.models, name)), None)
        minimum = self._minimum_for(name)
        own = newer if newer is not None else self.cache
        return CacheRules(
            matching=own.matching,
            step_tokens=self.cache.step_tokens if newer is None else 1,
            minimum_tokens=minimum.tokens if minimum is not None else 1,
            marker_limit=own.marker_limit,
            look_back=own.look_back,
            considered=newer.considered if newer is not None else None,
            default_ttl=kept or own.default_ttl,
            keys_per_minute=self.cache.keys_per_minute,
            route_tokens=self.cache.route_tokens,
            minimum_each=self.cache.minimum_each,
        )


@cache
def all_providers() -> Mapping[str, Provider]:
    """Return every provider by name."""
    paths = sorted((Path(__file__).parent / "data").glob("*.toml"))
    found = [Provider.model_validate(tomllib.loads(path.read_text("utf-8"))) for path in paths]
    return {provider.name: provider for provider in found}


@cache
def provider_of_model(model: str) -> str | None:
    """Return who makes the model of this name, where its name says so."""
    lower = model.lower()
    # Bedrock's names hold those of the model's maker, so the longer pattern goes first.
    for provider in sorted(all_providers().values(), key=lambda p: p.name != "bedrock"):
        if re.search(provider.models, lower):
            return provider.name
    return None


def provider_named(name: str | None, model: str | None) -> Provider | None:
    """Return a provider by name, or else by its model's name."""
    if name is None and model:
        name = provider_of_model(model)
    return all_providers().get((name or "").lower())
