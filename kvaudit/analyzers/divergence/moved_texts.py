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
    """Return the request with ``texts`` elsewhere; None where no message holds one as it is.

    Nor is it known where blank text stands, or what a message of several parts would be.
    """
    if not request.messages or to is Destination.BEHIND or not all(map(str.strip, texts)):
        return None
    messages = list(request.messages)
    target = {Destination.FIRST: 0, Destination.NEWEST: -1}.get(to)
    if target is not None and not isinstance(messages[target].get("content"), str):
        return None
    for text in texts:
        at = next((n for n, m in enumerate(messages) if text.rstrip() in _content(m)), None)
        if at is None:
            return None
        messages[at] = {**messages[at], "content": _without(_content(messages[at]), text)}
    moved = "".join(texts)
    if to is Destination.FIRST:
        messages[0] = {**messages[0], "content": f"{_content(messages[0])}\n{moved}"}
    if to is Destination.NEWEST:
        messages[-1] = {**messages[-1], "content": moved + _content(messages[-1])}
    return replace(request, messages=messages)


def _without(content: str, text: str) -> str:
    """Return a message without a text; blank lines in front of one that ends it go with it."""
    before, _, behind = content.partition(text if text in content else text.rstrip())
    return before + behind if behind else before.rstrip()


def _content(message: Json) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""
