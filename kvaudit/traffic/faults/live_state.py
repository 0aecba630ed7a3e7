"""What the application knows of the user at the moment, before the instructions."""

from random import Random

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.english import ENGLISH
from kvaudit.traffic.fault import Fault, Occasion


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Put notes that change from turn to turn before the instructions."""
    notes = "\n".join(f"- {note}" for note in ENGLISH.sentences("fact", rng, 2))
    return draft.headed(f"Memory of this user:\n{notes}")


FAULT = Fault(
    name="live-state",
    title="notes that change from turn to turn at the top of the system prompt",
    cause="live-state",
    position="system",
    plant=plant,
)
