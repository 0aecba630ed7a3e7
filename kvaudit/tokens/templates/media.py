"""Which parts of a message are media, and the units that stand for them.

The log's reader identifies media and lists their hashes in order (`kvaudit.logs.api.media`); here
they are found again in the same order. A test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kvaudit.core.requests import Json, Request
from kvaudit.tokens.pieces import Media

_TYPES = frozenset(
    (
        *("image", "image_url", "input_image", "audio", "audio_url", "input_audio", "video"),
        *("video_url", "file", "input_file", "document", "blob", "uri", "media"),
    )
)
# Bedrock Converse and Gemini: the kind is a key, and there is no ``type``.
_WITH_SOURCE = ("image", "document", "video", "audio")
_WITH_DATA = ("inlineData", "inline_data", "fileData", "file_data")
# What a tool was called with is the model's own text.
_NEVER_MEDIA = frozenset(("arguments", "input", "function", "tool_calls"))
UNIDENTIFIED = "unidentified"
"""Hash of media beyond those that the log lists."""


def media_of(request: Request) -> Iterator[Media]:
    """The request's media in order, without end: then come unidentified ones."""
    for content_hash in request.media_hashes:
        yield Media(content_hash)
    while True:
        yield Media(UNIDENTIFIED)


def is_medium(part: Json) -> bool:
    """Whether a content part is a medium, in the shape of any API."""
    kind = part.get("type")
    if kind is not None:
        return isinstance(kind, str) and kind in _TYPES
    for key in _WITH_SOURCE:
        inner = part.get(key)
        if isinstance(inner, dict) and ("source" in inner or "url" in inner):
            return True
    return any(isinstance(part.get(key), dict) for key in _WITH_DATA)


def take_out(node: Any, media: Iterator[Media], taken: list[Media]) -> Any:
    """``node`` with null for each medium in it; the units are put into ``taken``."""
    if isinstance(node, dict):
        if is_medium(node):
            taken.append(next(media))
            return None
        return {
            key: value if key in _NEVER_MEDIA else take_out(value, media, taken)
            for key, value in node.items()
        }
    if isinstance(node, list):
        return [take_out(child, media, taken) for child in node]
    return node
