"""A request with some of its texts moved to another of its messages.

What goes to the end of a prompt parts nothing, and a reader who looks for the question there would
not find it: that is left out.
"""

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
        at = next((n for n, m in enumerate(messages) if text.rstrip() in _content(m)), None)
        if at is None:
            return None
        messages[at] = {**messages[at], "content": _without(_content(messages[at]), text)}
    moved, newest = "".join(texts), len(messages) - 1
    if to is Destination.FIRST:
        messages[0] = {**messages[0], "content": f"{_content(messages[0])}\n{moved}"}
    if to is Destination.NEWEST and isinstance(messages[newest].get("content"), str):
        messages[newest] = {**messages[newest], "content": moved + _content(messages[newest])}
    return replace(request, messages=messages)


def _without(content: str, text: str) -> str:
    """Return a message without a text; blank lines in front of one that ends it go with it."""
    before, _, behind = content.partition(text if text in content else text.rstrip())
    return before + behind if behind else before.rstrip()


def _content(message: Json) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""
