"""The user's words before the instructions."""

from random import Random

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Quote the newest question before the instructions."""
    if not draft.question:
        return draft
    return draft.headed(f"The customer writes: {draft.question}")


FAULT = Fault(
    name="user-text-first",
    title="the user's newest words before the instructions",
    cause="user-text-first",
    position="system",
    plant=plant,
)
