"""Few-shot examples in a new order for each request."""

from dataclasses import replace
from random import Random

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Shuffle the examples."""
    return replace(draft, examples=tuple(rng.sample(draft.examples, len(draft.examples))))


FAULT = Fault(
    name="shuffled-examples",
    title="few-shot examples in a new order for each request",
    cause="shuffled-examples",
    position="fewshot",
    plant=plant,
)
