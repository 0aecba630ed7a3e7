"""Which conversation a request belongs to, where the log does not say.

A request goes on from an earlier one if it has that one's newest message, or its answer, in its
history. A message that is rewritten, or trimmed away, leaves others by which it is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from kvaudit.analyzers.divergence.turns import with_messages
from kvaudit.core.requests import SYSTEM_ROLES, Json, Request

_CHARS = 160
"""Characters of a message's beginning, and of its end, by which it is known."""
_LEAST_CHARS = 12
"""A shorter message is said in many conversations."""


class Sessions:
    """Tells the conversations of a log apart. Grows by about 300 bytes a request."""

    def __init__(self) -> None:
        """Start with no request."""
        self._of: dict[int, int] = {}
        self._count = 0

    def of(self, request: Request) -> str | None:
        """Return the session of the next request; None where it has no messages."""
        if request.session is not None:
            return request.session
        said = [
            message
            for message in with_messages(request).messages or ()
            if message.get("role") not in SYSTEM_ROLES
        ]
        if not said:
            return None
        votes = Counter(
            self._of[mark] for message in said[:-1] for mark in _marks(message) if mark in self._of
        )
        if votes:
            session = max(votes, key=lambda number: (votes[number], number))
        else:
            session, self._count = self._count, self._count + 1
        answer = {"role": "assistant", "content": request.response}
        for message in (said[-1], answer):
            for mark in _marks(message):
                self._of[mark] = session
        return f"conversation {session}"


def _marks(message: Json) -> Iterator[int]:
    """Yield what a message is known by: how it begins, and how it ends."""
    text = _text(message).strip()
    if len(text) >= _LEAST_CHARS:
        yield hash((message.get("role"), 0, text[:_CHARS]))
        yield hash((message.get("role"), 1, text[-_CHARS:]))


def _text(message: Json) -> str:
    content: Any = message.get("content")
    parts: Sequence[Any] = content if isinstance(content, list) else [content]
    return "\n".join(
        str(part.get("text", "")) if isinstance(part, dict) else part
        for part in parts
        if isinstance(part, dict | str)
    )
