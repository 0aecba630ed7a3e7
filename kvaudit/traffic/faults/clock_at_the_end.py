"""The time to the second where it does little harm: on the last line of the instructions."""

from dataclasses import replace
from random import Random

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Put a clock after the instructions."""
    return replace(draft, tail=f"Current time: {occasion.time:%Y-%m-%d %H:%M:%S} UTC")


FAULT = Fault(
    name="clock-at-the-end",
    title="the same clock on the last line of the system prompt",
    cause="sub-day-clock",
    position="system",
    plant=plant,
)
