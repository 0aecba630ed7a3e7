"""A fresh UUID before the instructions, as request tracing likes to put it there."""

from random import Random
from uuid import UUID

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Put a UUID before the instructions."""
    return draft.headed(f"Trace {UUID(int=rng.getrandbits(128), version=4)}")


FAULT = Fault(
    name="random-id",
    title="a new UUID on the first line of the system prompt",
    cause="random-id",
    position="system",
    plant=plant,
)
