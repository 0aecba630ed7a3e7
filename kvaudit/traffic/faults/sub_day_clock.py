"""The time to the second, on the first line of the instructions."""

from random import Random

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Put a clock before the instructions."""
    return draft.headed(f"Current time: {occasion.time:%Y-%m-%d %H:%M:%S} UTC")


FAULT = Fault(
    name="sub-day-clock",
    title="the time to the second on the first line of the system prompt",
    cause="sub-day-clock",
    position="system",
    plant=plant,
)
