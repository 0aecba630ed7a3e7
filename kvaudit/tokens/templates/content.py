"""The content of a message as text and media, whatever API's shape it has.

Text parts are joined by a newline, as vLLM does for templates that take content as a string.
Parts that are neither text nor media, such as tool calls inside content, are their JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kvaudit.core.requests import Json, Request
from kvaudit.tokens.pieces import Media, Piece, merge_text

# Type of a part -> its field that holds text: OpenAI chat and Responses, Anthropic.
_TEXT_FIELDS = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
    "thinking": "thinking",
    "tool_result": "content",
}
_MEDIA = frozenset(
    f"{prefix}{kind}{suffix}"
    for kind in ("image", "audio", "video", "file")
    for prefix, suffix in (("", ""), ("", "_url"), ("input_", ""))
) | {"document"}
UNIDENTIFIED = "unidentified"
"""Hash of media that the log does not identify; such a request is marked and not replayed."""


def media_of(request: Request) -> Iterator[Media]:
    """The request's media in order, without end: then come unidentified ones."""
    for content_hash in request.media_hashes:
        yield Media(content_hash)
    while True:
        yield Media(UNIDENTIFIED)


def content_pieces(content: Any, media: Iterator[Media]) -> list[Piece]:
    """Text and media of one message's content; takes from ``media`` what it holds."""
    if isinstance(content, str):
        return [content]
    if content is None:
        return []
    pieces: list[Piece] = []
    for part in content if isinstance(content, list) else [content]:
        found = _part_pieces(part, media)
        if pieces and found and isinstance(pieces[-1], str) and isinstance(found[0], str):
            pieces.append("\n")
        pieces += found
    return merge_text(pieces)


def _part_pieces(part: Any, media: Iterator[Media]) -> list[Piece]:
    kind = part.get("type") if isinstance(part, dict) else None
    if isinstance(part, str):
        return [part]
    if kind in _MEDIA:
        return [next(media)]
    if kind in _TEXT_FIELDS:
        return content_pieces(part.get(_TEXT_FIELDS[kind]), media)
    if kind is None and isinstance(part, dict) and isinstance(part.get("text"), str):
        return [part["text"]]
    return [to_json(part)]


def to_json(value: Any) -> str:
    """JSON as Python writes it, other scripts unescaped, keys in the order they were sent."""
    return json.dumps(value, ensure_ascii=False)


def role_of(message: Json) -> str:
    """The message's role; items of the Responses API without one are tool traffic."""
    role = message.get("role")
    if isinstance(role, str):
        return role
    return "tool" if message.get("type") == "function_call_output" else "assistant"
