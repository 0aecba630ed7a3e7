"""System texts that are put into a conversation as it stands: ``messages[0]["content"] = text``."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.source.python.drafts import Draft, Entry, blocks
from kvaudit.analyzers.source.python.engine import Filled, Unit
from kvaudit.analyzers.source.python.messages import content_of, role_of
from kvaudit.analyzers.source.python.turns_behind import turns
from kvaudit.core.document import Position


def put_first(unit: Unit, text: Filled) -> Iterator[Draft]:
    """Yield the prompt that a first message begins, with the conversation behind it."""
    role = role_of(text.value)
    if text.into is None or role not in (None, "system"):
        return
    behind = turns(unit, text.into)
    if behind is None:
        return
    content = text.value if role is None else content_of(text.value)
    entries = [*blocks(Position.SYSTEM, content), Entry(Position.HISTORY, behind)]
    yield Draft("first message", unit, entries, loops=text.loops, sent=True)
