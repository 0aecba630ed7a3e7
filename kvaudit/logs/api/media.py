"""Images and other media in messages: by content where the log says what it was.

A prefix cache tells two images apart by their bytes. So a medium is identified by the SHA-256
of its bytes, or by a provider's file id, which names the same bytes for good. A link names a
place, not what stood there: media behind links, in buckets, or cut out of the log are counted
as not identified.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote_to_bytes

from kvaudit.core.requests import Json, Mark

# No API nests a medium deeper, a hostile log may nest brackets by the thousand.
_DEPTH = 32
# What a tool was called with is the model's own text; it is never media.
_NOT_CONTENT = frozenset({"arguments", "input", "function", "tool_calls"})
# A message with no other keys and a text as its content holds no media.
_TEXT_KEYS = _NOT_CONTENT | {"role", "content", "name", "tool_call_id"}
# Langfuse puts such a reference where the medium was; its id is made from the content.
_LANGFUSE = re.compile(r"@@@langfuseMedia:[^@]*?\bid=([^|@]+)[^@]*@@@")


def find_media(messages: Iterable[Json]) -> dict[str, Any]:
    """Return ``media_hashes``, one for each medium in the order the model reads them.

    A medium without an identity holds its place, and then ``marks`` says so. Without media
    nothing is returned.
    """
    identities = [
        identity
        for message in messages
        # Most messages by far are plain text; looking into each of them shows in the profile.
        if type(message.get("content")) is not str or not _TEXT_KEYS.issuperset(message)
        for identity in _walk(message)
    ]
    if not identities:
        return {}
    found: dict[str, Any] = {"media_hashes": tuple(i or "unidentified" for i in identities)}
    if None in identities:
        found["marks"] = frozenset({Mark.UNIDENTIFIED_MEDIA})
    return found


def _walk(node: Json | list[Any], depth: int = _DEPTH) -> Iterator[str | None]:
    """Yield one identity, or None where there is none to be had, for each medium below."""
    if isinstance(node, dict):
        medium = _medium(node)
        if medium is not _NO_MEDIUM:
            yield _identity(medium)
            return
        children: Iterable[Any] = (v for k, v in node.items() if k not in _NOT_CONTENT)
    else:
        children = node
    for child in children:
        if isinstance(child, dict | list) and depth:
            yield from _walk(child, depth - 1)


_NO_MEDIUM = object()
_SOURCE_KEYS = ("source", "data", "bytes", "content", "file_data", "url", "image_url")


def _medium(part: Json) -> object:
    """Return what a content part says about its medium; `_NO_MEDIUM` for any other part."""
    kind = part.get("type")
    if kind in ("image", "document", "audio", "video", "blob", "uri", "media"):
        # Anthropic, OpenTelemetry, LangChain: the payload or its place, under some key.
        return next((part[key] for key in _SOURCE_KEYS if part.get(key) is not None), part)
    if kind in ("image_url", "input_audio", "video_url", "audio_url"):  # OpenAI chat, vLLM
        return part.get(str(kind))
    if kind in ("file", "input_image", "input_file"):  # OpenAI chat and Responses
        return part.get("file") or part
    for key in ("image", "document", "video", "audio"):  # Bedrock Converse has no ``type``
        inner = part.get(key)
        if kind is None and isinstance(inner, dict) and ("source" in inner or "url" in inner):
            return inner.get("source") or inner
    for key in ("inlineData", "inline_data", "fileData", "file_data"):  # Gemini
        if kind is None and isinstance(part.get(key), dict):
            return part[key]
    return _NO_MEDIUM


def _identity(medium: object) -> str | None:
    """Return the content hash or file id of a medium, None where only its place is known."""
    if isinstance(medium, str):
        return _of_text(medium)
    if not isinstance(medium, dict):
        return None
    file_id = medium.get("file_id")
    if isinstance(file_id, str) and file_id:
        return f"file:{file_id}"
    if medium.get("type") == "text" and isinstance(medium.get("data"), str):
        return _sha256(medium["data"].encode(errors="surrogatepass"))
    for key in (*_SOURCE_KEYS, "base64"):
        inner = medium.get(key)
        if isinstance(inner, str):
            return _of_text(inner)
    return None


def _of_text(payload: str) -> str | None:
    """Return the identity of a payload: a data URL, bare base64, or a Langfuse reference."""
    reference = _LANGFUSE.match(payload)
    if reference:
        return f"file:{reference[1]}"
    if payload.startswith("data:"):
        header, comma, payload = payload.partition(",")
        if not comma:
            return None
        if not header.endswith(";base64"):
            return _sha256(unquote_to_bytes(payload.encode(errors="surrogatepass")))
    elif "://" in payload:
        return None
    try:
        content = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        return None  # cut off or replaced by a placeholder
    return _sha256(content) if content else None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
