"""The place where two rendered requests part: message, role, character, and both texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from kvaudit.analyzers.divergence.turns import turns_of
from kvaudit.analyzers.template.request_log.texts import shared_head
from kvaudit.core.requests import SYSTEM_ROLES, Json, Request

Render = Callable[[Request], Sequence[str]]
"""A request as the pieces of its prompt, control tokens among them."""


class Parting(NamedTuple):
    """Where a request parts from an earlier one, in text."""

    section: str
    """tools, system or messages."""
    position: str
    """tools, system, history or newest."""
    role: str | None
    message: int | None
    """Number of the message, from 0."""
    later: str
    """The text of the piece in which they part."""
    earlier: str
    offset: int
    """Characters of the piece that both have."""
    chars: int
    """Characters of the whole prompt that both have."""


def parting(later: Request, earlier: Request, render: Render) -> Parting | None:
    """Return where two requests part; None where one is all the other begins with."""
    mine, yours = _pieces(later, render), _pieces(earlier, render)
    same = 0
    for one, other in zip(mine, yours, strict=False):
        if one != other:
            break
        same += 1
    else:
        return None
    offset = shared_head(mine[same], yours[same])
    chars = sum(map(len, mine[:same])) + offset
    section, role, message = _stands_in(later, mine, same, offset)
    return Parting(
        section=section,
        position=_position(later, section, message),
        role=role,
        message=message,
        later=mine[same],
        earlier=yours[same],
        offset=offset,
        chars=chars,
    )


def _pieces(request: Request, render: Render) -> Sequence[str]:
    """Return a prompt in pieces; of one that is one text, its turns."""
    turns = turns_of(request.prompt) if request.prompt is not None else ()
    if request.prompt is None or not turns:
        return render(request)
    starts = [*(turn.start for turn in turns), len(request.prompt)]
    return [request.prompt[a:b] for a, b in pairwise(starts)]


def _stands_in(
    request: Request, pieces: Sequence[str], number: int, offset: int
) -> tuple[str, str | None, int | None]:
    """Return section, role and message of a character of a piece."""
    piece = pieces[number]
    if request.messages is None:
        return "system", None, None
    if request.prompt is not None:  # each turn is a piece
        if number >= len(request.messages):
            return "messages", None, None
        role = str(request.messages[number].get("role"))
        return ("system" if number == 0 and role in SYSTEM_ROLES else "messages"), role, number
    if request.tools and _in_tools(piece, request.tools, offset):
        return "tools", None, None
    for at in range(_written(request.messages, pieces[:number]), len(request.messages)):
        message = request.messages[at]
        texts = [text for text in _texts(message) if text]
        found = [piece.find(text) for text in texts]
        if any(0 <= f <= offset <= f + len(t) for f, t in zip(found, texts, strict=True)):
            role = str(message.get("role") or "")
            return ("system" if role in SYSTEM_ROLES and at == 0 else "messages"), role, at
    role = piece.split("\n", 1)[0].strip()
    if role in SYSTEM_ROLES:
        return "system", role, 0
    return "messages", role if role.isalpha() else None, None


def _written(messages: Sequence[Json], pieces: Sequence[str]) -> int:
    """Return how many messages the pieces hold, which write them in order."""
    at = 0
    for piece in pieces:
        while at < len(messages) and all(text in piece for text in _texts(messages[at]) if text):
            at += 1
            if any(_texts(messages[at - 1])):
                break
    return at


def _in_tools(piece: str, tools: Sequence[Json], offset: int) -> bool:
    """Whether a character stands in the definitions of tools, as any template may write them."""
    starts, ends = [], []
    for tool in (tools[0], tools[-1]):
        name = _name(tool)
        at = piece.find(f'"{name}"')
        if at < 0:
            return False
        starts.append(at)
        ends.append(at + len(json.dumps(tool, ensure_ascii=False)))
    line = piece.rfind("\n", 0, min(starts)) + 1
    return line <= offset <= max(ends)


def _name(tool: Any) -> str:
    inner = tool.get("function") if isinstance(tool, dict) else None
    owner = inner if isinstance(inner, dict) else tool
    return str(owner.get("name", "")) if isinstance(owner, dict) else ""


def _texts(message: Json) -> list[str]:
    """Return the strings of a message."""
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    if isinstance(content, list):
        return [
            part["text"]
            for part in content
            if isinstance(part, dict) and isinstance(part.get("text"), str)
        ]
    return []


def _position(request: Request, section: str, message: int | None) -> str:
    if section != "messages" or message is None:
        return section if section != "messages" else "history"
    asked = [n for n, m in enumerate(request.messages or ()) if m.get("role") in ("user", "human")]
    return "newest" if message >= max(asked, default=0) else "history"
