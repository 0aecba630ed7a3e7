"""Tools that join the list as a conversation goes on."""

from dataclasses import replace
from random import Random

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion

_AT_FIRST = 4


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Send some tools at first, and one more with every two messages."""
    return replace(draft, tools=draft.tools[: _AT_FIRST + len(draft.history) // 2])


FAULT = Fault(
    name="tool-set",
    title="tools that join the list as the conversation goes on",
    cause="tool-set",
    position="tools",
    plant=plant,
)
