"""What a file holds beside prompts: keys of caches, and semantic caches."""

from __future__ import annotations

from kvaudit.analyzers.keys import may_build_keys
from kvaudit.analyzers.semantic import may_hold_policy
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_KEYS = (
    "createHash", "hash(", "sha256", "md5", "xxh", "murmur", "Hash(", "subtle.digest", ".get(",
    "ache",
)  # fmt: skip
"""Digests, and stores that are asked; caches in either case."""


def beside_prompts(source: Source, kind: str) -> list[Document]:
    """Return the documents of keys and semantic caches. Raises `Unreadable`."""
    found: list[Document] = []
    if any(word in source.text for word in _KEYS) and may_build_keys(source.text):
        from kvaudit.analyzers.keys.ecmascript import key_documents

        found += key_documents(source, kind)
    if may_hold_policy(source.text):
        from kvaudit.analyzers.semantic.ecmascript import semantic_documents

        found += semantic_documents(source, kind)
    return found
