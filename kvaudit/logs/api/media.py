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

from kvaudit.core.media import NEVER_MEDIA, NO_MEDIUM, SOURCE_KEYS, medium_of
from kvaudit.core.requests import Json, Mark

# No API nests a medium deeper, a hostile log may nest brackets by the thousand.
_DEPTH = 32
# A message with no other keys and a text as its content holds no media.
_TEXT_KEYS = NEVER_MEDIA | {"role", "content", "name", "tool_call_id"}
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
        medium = medium_of(node)
        if medium is not NO_MEDIUM:
            yield _identity(medium)
            return
        children: Iterable[Any] = (v for k, v in node.items() if k not in NEVER_MEDIA)
    else:
        children = node
    for child in children:
        if isinstance(child, dict | list) and depth:
            yield from _walk(child, depth - 1)


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
    for key in (*SOURCE_KEYS, "base64"):
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
