"""Cache keys in source: what reaches the digest, against what decides the answer.

Looks only at keys of answers of language models and of blocks of their tokens; how other things
are hashed, ETags and dictionaries are nobody's business here. Nothing is executed.
"""

from __future__ import annotations

import re

_WORDS = re.compile(
    r"hash|digest|md5|sha1|sha256|sha512|blake|crc32|adler32|cache|memo|lookup|_keys?\b|\bkey\(",
    re.IGNORECASE,
)
_SUBJECTS = re.compile(
    r"prompt|token|llm|messages|question|query|completion|chat\b|openai|anthropic|embed|model"
    r"|text\b|lora|temperature",
    re.IGNORECASE,
)


def may_build_keys(text: str) -> bool:
    """Whether a file may build a key of a cache in front of a model."""
    return _WORDS.search(text) is not None and _SUBJECTS.search(text) is not None
