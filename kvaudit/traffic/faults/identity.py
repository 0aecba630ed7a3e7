"""The user's name and a running number before the instructions."""

from random import Random

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Greet the user before the instructions."""
    head = f"You are talking to {occasion.user}, visitor {occasion.number + 1} of today."
    return draft.headed(head)


FAULT = Fault(
    name="identity",
    title="the user's name and a running number near the top of the system prompt",
    cause="identity",
    position="system",
    plant=plant,
)
