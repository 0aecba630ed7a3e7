"""The oldest messages cut off on each turn, once there are a few."""

from dataclasses import replace
from random import Random

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion

_KEPT = 4


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Keep the newest messages of the history."""
    return replace(draft, history=draft.history[-_KEPT:])


FAULT = Fault(
    name="history-trimmed",
    title="the oldest messages cut off on each turn",
    cause="history-trimmed",
    position="history",
    plant=plant,
)
