"""What the user's screen shows, sent with the newest message and not stored with it."""

from dataclasses import replace
from random import Random

from kvaudit.core.requests import Json
from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Put a block before the newest question, or in front of the newest tool result."""
    block = f"<environment>\nclock {occasion.time:%H:%M:%S}\nbranch main\n</environment>\n\n"
    if draft.question:
        return replace(draft, question=block + draft.question)
    return replace(draft, newest=tuple(_with(block, message) for message in draft.newest))


def _with(block: str, message: Json) -> Json:
    return {**message, "content": block + message["content"]}


FAULT = Fault(
    name="environment-not-replayed",
    title="a block about the environment, sent with the newest message and not stored",
    cause="environment-not-replayed",
    position="history",
    plant=plant,
)
