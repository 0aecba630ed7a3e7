"""Old answers and results cut down to their beginnings, one more on each turn."""

from dataclasses import replace
from random import Random

from kvaudit.core.requests import Json
from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion

_WHOLE = 2
_KEPT_CHARS = 80


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Cut down all but the newest messages of the history that no user wrote."""
    old = len(draft.history) - _WHOLE
    history = [_cut(m) if n < old else m for n, m in enumerate(draft.history)]
    return replace(draft, history=tuple(history))


def _cut(message: Json) -> Json:
    text = message["content"]
    if message["role"] == "user" or len(text) <= _KEPT_CHARS:
        return message
    return {**message, "content": f"{text[:_KEPT_CHARS]} [shortened]"}


FAULT = Fault(
    name="history-rewritten",
    title="old answers and results cut down to their beginnings",
    cause="history-rewritten",
    position="history",
    plant=plant,
)
