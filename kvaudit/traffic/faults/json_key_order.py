"""The keys of every tool definition in a new order for each request; the tools keep theirs."""

from dataclasses import replace
from random import Random
from typing import Any

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Shuffle the keys of the tools, at every depth."""
    return replace(draft, tools=tuple(_shuffled(tool, rng) for tool in draft.tools))


def _shuffled(value: Any, rng: Random) -> Any:
    if isinstance(value, list):
        return [_shuffled(item, rng) for item in value]
    if isinstance(value, dict):
        keys = rng.sample(list(value), len(value))
        return {key: _shuffled(value[key], rng) for key in keys}
    return value


FAULT = Fault(
    name="json-key-order",
    title="the keys of tool definitions in a new order for each request",
    cause="json-key-order",
    position="tools",
    plant=plant,
)
