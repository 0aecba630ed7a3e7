"""What the first batches of a log tell: how large it is, and whether responses are text."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.core.prompts import PromptBatch

# Below this the plain models are done before compiled code would be loaded.
SMALL_UNITS = 3 << 20
SMALL_REQUESTS = 3000


RANGE = (
    "of two replays: prompts only, where generated text never hits, and with logged responses "
    "tokenized again, which hit where the next turn repeats them"
)
"""What the two ends of a rate are, where a log holds responses as text only."""


class LateResponse(Exception):
    """The first response as text came after the caches were set up for a log without any."""


def head_of(batches: Iterator[PromptBatch]) -> tuple[list[PromptBatch], bool]:
    """Return the first batches, and whether they are all of a log that is small."""
    head: list[PromptBatch] = []
    units = requests = 0
    for batch in batches:
        head.append(batch)
        units += len(batch.units)
        requests += len(batch.requests)
        if units > SMALL_UNITS or requests > SMALL_REQUESTS:
            return head, False
    return head, True
