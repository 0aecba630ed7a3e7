"""Retrieved passages before the instructions instead of after them."""

from dataclasses import replace
from random import Random

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Move the passages before the instructions."""
    return replace(draft.headed("\n\n".join(draft.passages)), passages=())


FAULT = Fault(
    name="retrieved-context-first",
    title="retrieved passages before the instructions",
    cause="retrieved-context-first",
    position="system",
    plant=plant,
)
