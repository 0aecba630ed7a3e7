"""The content of a message as text and media, whatever API's shape it has.

Text parts are joined by a newline, as vLLM does for templates that take content as a string.
Parts that are neither text nor media, such as tool calls inside content, are their JSON, and
media in it follow it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kvaudit.core.requests import Json
from kvaudit.tokens.pieces import Media, Piece, merge_text
from kvaudit.tokens.templates.media import is_medium, take_out

# Type of a part -> its field that holds text: OpenAI chat and Responses, Anthropic.
_TEXT_FIELDS = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
    "thinking": "thinking",
    "tool_result": "content",
}


def content_pieces(content: Any, media: Iterator[Media]) -> list[Piece]:
    """Text and media of one message's content; takes from ``media`` what it holds."""
    pieces: list[Piece] = []
    for part in content_parts(content, media):
        if pieces and part and isinstance(pieces[-1], str) and isinstance(part[0], str):
            pieces.append("\n")
        pieces += part
    return merge_text(pieces)


def content_parts(content: Any, media: Iterator[Media]) -> list[list[Piece]]:
    """The same, part by part; content that is one string is one part."""
    if content is None:
        return []
    parts = content if isinstance(content, list) else [content]
    return [_part_pieces(part, media) for part in parts]


def _part_pieces(part: Any, media: Iterator[Media]) -> list[Piece]:
    if isinstance(part, str):
        return [part]
    if not isinstance(part, dict):
        return [to_json(part)]
    if is_medium(part):
        return [next(media)]
    kind = part.get("type")
    if kind in _TEXT_FIELDS:
        return content_pieces(part.get(_TEXT_FIELDS[kind]), media)
    if kind is None and isinstance(part.get("text"), str):
        return [part["text"]]
    taken: list[Media] = []
    return [to_json(take_out(part, media, taken)), *taken]


def content_text(content: Any, media: Iterator[Media]) -> str:
    """Text of a message's content; media, for which the place has no room, are left out."""
    return "".join(piece for piece in content_pieces(content, media) if isinstance(piece, str))


def trim(pieces: list[Piece]) -> list[Piece]:
    """Take away white space at the beginning and the end."""
    trimmed = list(pieces)
    if trimmed and isinstance(trimmed[0], str):
        trimmed[0] = trimmed[0].lstrip()
    if trimmed and isinstance(trimmed[-1], str):
        trimmed[-1] = trimmed[-1].rstrip()
    return merge_text(trimmed)


def reasoning_of(message: Json) -> str | None:
    """The reasoning beside a message's content, under any of the names servers give it."""
    named = (message.get(key) for key in ("reasoning_content", "thinking", "reasoning"))
    return next((text for text in named if isinstance(text, str)), None)


def tool_calls(message: Json) -> list[Json]:
    """Functions called in a message, with parsed arguments as vLLM hands them to templates."""
    calls = message.get("tool_calls")
    functions = (
        [call.get("function", call) for call in calls or () if isinstance(call, dict)]
        if isinstance(calls, list | tuple)
        else []
    )
    return [
        {**function, "arguments": _parsed(function.get("arguments"))}
        for function in functions
        if isinstance(function, dict)
    ]


def _parsed(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    try:
        return json.loads(arguments) if arguments else {}
    except ValueError:
        return arguments


def to_json(value: Any) -> str:
    """JSON as Python writes it, other scripts unescaped, keys in the order they were sent."""
    return json.dumps(value, ensure_ascii=False)


def role_of(message: Json) -> str:
    """The message's role; without one it is taken for the model's own."""
    role = message.get("role")
    return role if isinstance(role, str) else "assistant"
