"""Cache keys in source: what reaches the digest, against what decides the answer.

Looks only at keys of answers of language models and of blocks of their tokens; how other things
are hashed, ETags and dictionaries are nobody's business here. Nothing is executed.
"""

from __future__ import annotations

import re

_WORDS = re.compile(
    r"[hH]ash\(|_cached?\(|hashlib|[xX]xhash|xxh\d|mmh3|blake|sha\d+\(|md5\(|crc32|adler32|createHash|subtle\.digest|Hash\("
    r"|murmur|def \w*(key|slot|fingerprint|uid)\w*\(|[\"']temperature[\"'], 0\)"
    r"|(get|from|load|read|check|lookup)\w*Cached?\w*\("
    r"|(cache\w*|redis|rdb|valkey|memo|r|rc|answers)\.a?(get|lookup|fetch)\w*\("
    r"|\b(not )?in (self\.)?_?\w*(cache|memo|cached|answers)\b|(cache|memo|cached|answers)\["
)
"""Where a digest is made, a key is named, or a cache is asked."""
_SUBJECTS = re.compile(
    r"prompt|token|llm|messages|question|query|completion|chat\b|openai|anthropic|embed|model"
    r"|text\b|lora|temperature|tuple\(\w+\[",
    re.IGNORECASE,
)


def may_build_keys(text: str) -> bool:
    """Whether a file may build a key of a cache in front of a model."""
    return _WORDS.search(text) is not None and _SUBJECTS.search(text) is not None
