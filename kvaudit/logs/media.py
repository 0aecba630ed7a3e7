"""Images and other media in messages, by the hash of their content.

Two prompts share a prefix past an image only if it is the same image, so each needs an
identity. Inline data is hashed; a provider's file id is one; an address on the web is not,
since what it serves may change: such a request is marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from kvaudit.core.requests import Json, Mark

# Types of content parts that hold text or tool traffic: all else is media.
_NOT_MEDIA = frozenset(
    {
        *("text", "input_text", "output_text", "thinking", "redacted_thinking", "reasoning"),
        *("tool_use", "tool_result", "tool_call", "tool_call_response", "refusal"),
        *("server_tool_use", "web_search_tool_result", "summary_text"),
    }
)


def find_media(messages: Sequence[Json]) -> dict[str, Any]:
    """Return ``media_hashes``, and ``marks`` where a medium has no identity; {} without media."""
    hashes: list[str] = []
    unknown = False
    for message in messages:
        content = message.get("content")
        if type(content) is list:
            for part in _media_parts(content):
                identity = _identity(part)
                unknown = unknown or identity is None
                hashes.append(identity or "unidentified")
    if not hashes:
        return {}
    found: dict[str, Any] = {"media_hashes": tuple(hashes)}
    if unknown:
        found["marks"] = frozenset({Mark.UNIDENTIFIED_MEDIA})
    return found


def _media_parts(content: Iterable[object]) -> Iterator[Json]:
    for part in content:
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        if kind == "tool_result" and isinstance(part.get("content"), list):
            yield from _media_parts(part["content"])
        elif isinstance(kind, str) and kind not in _NOT_MEDIA:
            yield part


def _identity(part: Json) -> str | None:
    """Return the hash of inline data or a file's id, wherever the API puts it in the part."""
    inner = part.get(str(part.get("type")), part)
    for place in (inner, part, part.get("source")):
        if isinstance(place, str):
            place = {"url": place}
        if not isinstance(place, dict):
            continue
        for key in ("file_id", "id"):
            if isinstance(place.get(key), str):
                return f"file:{place[key]}"
        for key in ("url", "image_url", "data", "file_data", "base64"):
            value = place.get(key)
            if isinstance(value, str) and (key not in ("url", "image_url") or _inline(value)):
                return sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return None


def _inline(address: str) -> bool:
    return address.startswith("data:")
