"""A memo of texts and their ids that holds no more than so many bytes.

Two generations: what is used is kept in the young one, and when that has half the bytes, the
old one is dropped and the young one becomes old. So nothing used within the last half of the
memo's bytes is lost, without a list to reorder at every look-up.
"""

from sys import getsizeof

from kvaudit.tokens.pieces import Piece

# A dictionary's slot and index (about 100 bytes at its usual fill), beside key and value.
_ENTRY_BYTES = 100


class Memo:
    """Ids as raw int32 bytes by text, or by any other piece of a prompt."""

    def __init__(self, capacity_bytes: int) -> None:
        """Hold texts, ids and what Python needs around them in ``capacity_bytes``."""
        self._half = capacity_bytes // 2
        self._young: dict[Piece, bytes] = {}
        self._old: dict[Piece, bytes] = {}
        self._young_bytes = 0
        self.get_young = self._young.get
        """Look up the young generation alone, for callers in a hurry."""

    def get(self, text: Piece) -> bytes | None:
        """Ids of ``text`` if it is remembered; it then counts as used now."""
        ids = self._young.get(text)
        if ids is None:
            ids = self._old.pop(text, None)
            if ids is not None:
                self.put(text, ids)
        return ids

    def put(self, text: Piece, ids: bytes) -> None:
        """Remember the ids of ``text``, and forget what has not been used for long."""
        size = getsizeof(text) + getsizeof(ids) + _ENTRY_BYTES
        if size > self._half:
            return
        if self._young_bytes + size > self._half:
            self._old = self._young
            self._young = {}
            self._young_bytes = 0
            self.get_young = self._young.get
        self._young[text] = ids
        self._young_bytes += size
