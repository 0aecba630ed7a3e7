"""Which text of a request a policy embeds, and when two texts are the same to an exact cache."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from kvaudit.core.requests import SYSTEM_ROLES, Request
from kvaudit.replay.semantic.policy import Context

_TEXT_KEYS = ("text", "content", "input_text")


def embedded_text(request: Request, context: Context) -> str | None:
    """Return what is embedded; None where the request holds no text of a user.

    A prompt is taken whole. Of messages it is the newest user turn, or the newest messages up to
    that turn, with their roles; the system messages first where the policy embeds them.
    """
    if request.prompt is not None:
        return request.prompt
    turns = [m for m in request.messages or () if m.get("role") not in SYSTEM_ROLES]
    newest = max((i for i, m in enumerate(turns) if m.get("role") == "user"), default=None)
    if newest is None:
        return None
    if context.messages == 1:
        text = content_text(turns[newest].get("content"))
    else:
        first = max(0, newest + 1 - context.messages)
        text = "\n".join(
            f"{m.get('role')}: {content_text(m.get('content'))}" for m in turns[first : newest + 1]
        )
    if context.system_prompt:
        text = "\n".join((*system_texts(request), text))
    return text


def system_texts(request: Request) -> list[str]:
    """Return the request's system messages."""
    return [
        content_text(m.get("content"))
        for m in request.messages or ()
        if m.get("role") in SYSTEM_ROLES
    ]


def content_text(content: Any) -> str:
    """Return the text of a message's content, whatever API's shape it has; media have none."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return next((content_text(content[key]) for key in _TEXT_KEYS if key in content), "")
    if isinstance(content, Sequence):
        return "\n".join(text for part in content if (text := content_text(part)))
    return ""


def folded(text: str) -> str:
    """Return a text as an exact tier compares it: composed, with single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).split())
