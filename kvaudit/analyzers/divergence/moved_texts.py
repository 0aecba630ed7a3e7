"""A request with some of its texts moved to another of its messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kvaudit.analyzers.divergence.destinations import Destination
from kvaudit.core.requests import Json, Request


def with_moved(request: Request, texts: Sequence[str], to: Destination) -> Request | None:
    """Return the request with ``texts`` elsewhere; None where no message holds one as it is."""
    if not request.messages or to is Destination.BEHIND:
        return None
    messages = list(request.messages)
    for text in texts:
        at = next((n for n, m in enumerate(messages) if text in _content(m)), None)
        if at is None:
            return None
        messages[at] = {**messages[at], "content": _content(messages[at]).replace(text, "", 1)}
    moved = "\n".join(texts)
    at = 0 if to is Destination.FIRST else len(messages) - 1
    content = _content(messages[at])
    if to is Destination.NEWEST:
        content = moved + content
    elif to is not Destination.NOWHERE:
        content = f"{content}\n{moved}"
    if to is not Destination.NOWHERE and isinstance(messages[at].get("content"), str):
        messages[at] = {**messages[at], "content": content}
    return replace(request, messages=messages)


def _content(message: Json) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""
