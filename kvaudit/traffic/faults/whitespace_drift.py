"""Double spaces in the instructions, as two copies of one template have them."""

from dataclasses import replace
from random import Random

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Double the spaces after full stops."""
    return replace(draft, system=draft.system.replace(". ", ".  "))


FAULT = Fault(
    name="whitespace-drift",
    title="double spaces in the instructions",
    cause="whitespace-drift",
    position="system",
    plant=plant,
)
