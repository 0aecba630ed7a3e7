"""The units that stand for media, in the order in which the log's reader listed their hashes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kvaudit.core.media import NEVER_MEDIA, NO_MEDIUM, medium_of
from kvaudit.core.requests import Json, Request
from kvaudit.tokens.pieces import Media

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
    return medium_of(part) is not NO_MEDIUM


def take_out(node: Any, media: Iterator[Media], taken: list[Media]) -> Any:
    """``node`` with null for each medium in it; the units are put into ``taken``."""
    if isinstance(node, dict):
        if is_medium(node):
            taken.append(next(media))
            return None
        return {
            key: value if key in NEVER_MEDIA else take_out(value, media, taken)
            for key, value in node.items()
        }
    if isinstance(node, list):
        return [take_out(child, media, taken) for child in node]
    return node
