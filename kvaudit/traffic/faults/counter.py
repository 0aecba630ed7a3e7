"""A running number on the first line of the instructions."""

from random import Random

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Number the requests before the instructions."""
    return draft.headed(f"Request number {occasion.number + 1}.")


FAULT = Fault(
    name="counter",
    title="a running number on the first line of the system prompt",
    cause="counter",
    position="system",
    plant=plant,
)
