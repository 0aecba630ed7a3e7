"""Block keys from a dictionary: the definition in plain Python.

Serves small logs, so that a first run never waits for a compiler. Takes about 0.3 us a block of
16 units; where only shared lengths are of interest, a larger block is cheaper.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import NO_KEY, BlockBatch
from kvaudit.replay.key_runs import runs_of_keys

_UNIT_BYTES = 4


class _Numbered(NamedTuple):
    """One request's blocks, and in bytes how much of its text was known."""

    keys: list[int]
    known_bytes: int
    parents: list[int]
    """The key before each block, and the one after the last full block."""


class PlainInterner:
    """Block keys from a dictionary of (key of the block before, text of the block).

    Grows with distinct text only: about 400 bytes a distinct block.
    """

    def __init__(self, block_units: int, *, tails: bool = False) -> None:
        """Number blocks of ``block_units``, and partial last ones too with ``tails``."""
        self.block_units = block_units
        self._tails = tails
        self._keys: dict[tuple[int, bytes], int] = {}
        # What follows each key: the one text seen so far or, from the second on, all
        # prefixes of all texts. Most blocks are followed by one text only.
        self._followers: dict[int, bytes | set[bytes]] = {}

    def intern(self, prompts: PromptBatch) -> BlockBatch:
        """Number the blocks of the next batch of the log."""
        text = prompts.units.tobytes()
        bounds = (prompts.offsets * _UNIT_BYTES).tolist()
        prompt_bytes = (prompts.prompt_units * _UNIT_BYTES).tolist()
        keys: list[int] = []
        offsets, before, seen = [0], [len(self._keys)], []
        tails: list[tuple[int, int]] = []
        for i, namespace in enumerate(prompts.namespaces.tolist()):
            request = text[bounds[i] : bounds[i + 1]]
            # Keys start at 0, so negative numbers are free to stand for the namespaces.
            found = self._number(-1 - namespace, request)
            if self._tails:
                prompt = request[: prompt_bytes[i]]
                tails.append((self._tail(found, prompt), self._tail(found, request)))
            keys += found.keys
            offsets.append(len(keys))
            before.append(len(self._keys))
            seen.append(found.known_bytes // _UNIT_BYTES)
        seen_units = np.array(seen, np.int64)
        key_offsets = np.array(offsets, np.int64)
        ends = np.array(tails, np.int32).reshape(-1, 2) if self._tails else None
        return BlockBatch(
            block_units=self.block_units,
            shared_units=np.minimum(seen_units, prompts.prompt_units),
            runs=runs_of_keys(np.array(keys, np.int32), key_offsets),
            key_offsets=key_offsets,
            known_before=np.array(before, np.int64),
            new_units=np.diff(prompts.offsets) - seen_units,
            prompt_tails=None if ends is None else ends[:, 0].copy(),
            end_tails=None if ends is None else ends[:, 1].copy(),
        )

    def _number(self, parent: int, text: bytes) -> _Numbered:
        keys: list[int] = []
        parents = [parent]
        known_bytes = -1
        step = self.block_units * _UNIT_BYTES
        full_end = len(text) - len(text) % step
        for start in range(0, full_end, step):
            block = text[start : start + step]
            key = self._keys.get((parent, block))
            if key is None:
                if known_bytes < 0:
                    known_bytes = start + self._followed_by(parent, block)
                key = self._keys[parent, block] = len(self._keys)
                self._follow(parent, block)
            keys.append(key)
            parents.append(key)
            parent = key
        rest = text[full_end:]
        if known_bytes < 0:
            known_bytes = full_end + self._followed_by(parent, rest)
        if rest:
            self._follow(parent, rest)
        return _Numbered(keys, known_bytes, parents)

    def _followed_by(self, parent: int, text: bytes) -> int:
        """Return how many bytes of ``text``, in whole units, have stood after ``parent``."""
        known = self._followers.get(parent, b"")
        if isinstance(known, bytes):
            common = next(
                (i for i, (a, b) in enumerate(zip(known, text, strict=False)) if a != b),
                min(len(known), len(text)),
            )
            return common - common % _UNIT_BYTES
        return next((len(p) for p in reversed(_prefixes(text)) if p in known), 0)

    def _follow(self, parent: int, text: bytes) -> None:
        known = self._followers.setdefault(parent, text)
        if isinstance(known, set):
            known.update(_prefixes(text))
        elif not known.startswith(text):
            self._followers[parent] = {*_prefixes(known), *_prefixes(text)}

    def _tail(self, found: _Numbered, text: bytes) -> int:
        """Return the key of the partial block that ``text``, a prefix of the request, ends in."""
        full, rest = divmod(len(text), self.block_units * _UNIT_BYTES)
        if not rest:
            return NO_KEY
        return self._keys.setdefault((found.parents[full], text[-rest:]), len(self._keys))


def _prefixes(text: bytes) -> list[bytes]:
    """Return the prefixes of ``text`` in whole units, shortest first, the empty one left out."""
    return [text[:end] for end in range(_UNIT_BYTES, len(text) + 1, _UNIT_BYTES)]
