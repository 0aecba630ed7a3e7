"""Reasoning that is sent with the newest answer of the history, and taken out of older ones."""

from dataclasses import replace
from random import Random
from zlib import crc32

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.english import ENGLISH
from kvaudit.traffic.fault import Fault, Occasion


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Give the newest answer of the history what the model thought before it."""
    history = list(draft.history)
    answers = [n for n, message in enumerate(history) if message["role"] == "assistant"]
    if not answers:
        return draft
    said = history[answers[-1]]
    thought = ENGLISH.paragraph("plan", Random(crc32(said["content"].encode())), 4)
    content = f"<think>\n{thought}\n</think>\n\n{said['content']}"
    history[answers[-1]] = {**said, "content": content}
    return replace(draft, history=tuple(history))


FAULT = Fault(
    name="reasoning-stripped",
    title="reasoning taken out of all but the newest answer",
    cause="reasoning-stripped",
    position="history",
    plant=plant,
)
