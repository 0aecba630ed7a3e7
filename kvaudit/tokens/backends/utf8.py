"""Four bytes of UTF-8 a token: an estimate that needs no vocabulary.

Equal texts have equal ids, so prefixes are shared as with a real tokenizer, at a quarter of
the bytes, which is near the truth for English prose and far from it for other scripts, where
a token holds more bytes or fewer. Four ASCII bytes have an id of their own; other groups are
hashed, and two of them share an id once in 268 million.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kvaudit.tokens.tokenizer import ControlToken

_GROUP = 4
_HIGH_BITS = np.uint32(0x80808080)
_FIRST_HASHED_ID = 1 << 28  # four times seven bits
_GOLDEN = np.uint32(0x9E3779B1)  # odd, so that multiplication loses nothing


class Utf8Groups:
    """Groups of four bytes; control tokens have no ids of their own."""

    name = "bytes"
    exactness = "estimate"
    source = "4 bytes of UTF-8 a token"
    bos_id: int | None = None
    control_tokens: Mapping[str, ControlToken] = {}
    cuts_at_lines = False

    def encode_batch(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Ids of the groups of each text, the last one filled up with zeros."""
        return [_ids(text.encode()) for text in texts]

    def special_id(self, token: str) -> int | None:
        """None: there is no vocabulary."""
        return None


def _ids(data: bytes) -> NDArray[np.int32]:
    groups = np.frombuffer(data + b"\0" * (-len(data) % _GROUP), "<u4").astype(np.uint32)
    low = np.uint32(0x7F)
    ascii_ids = sum((groups >> np.uint32(8 * i) & low) << np.uint32(7 * i) for i in range(_GROUP))
    hashed_ids = (groups * _GOLDEN >> np.uint32(4)) + np.uint32(_FIRST_HASHED_ID)
    return np.where(groups & _HIGH_BITS == 0, ascii_ids, hashed_ids).astype(np.int32)


def load() -> Utf8Groups:
    """The estimate, ready."""
    return Utf8Groups()
