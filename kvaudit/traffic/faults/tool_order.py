"""Tools in a new order for each request, as from a set."""

from dataclasses import replace
from random import Random

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Shuffle the tools."""
    return replace(draft, tools=tuple(rng.sample(draft.tools, len(draft.tools))))


FAULT = Fault(
    name="tool-order",
    title="tools in a new order for each request",
    cause="tool-order",
    position="tools",
    plant=plant,
)
