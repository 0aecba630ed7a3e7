"""Which text of a prompt is fixed: all requests of its kind have it, and not only some.

Passages come again as fixed text does, but each in other company: of two requests that have one in
common, the next has another one. So a request is compared with those that have most in common with
it, as those of its tenant have, and what nearly all of them have is fixed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.fingerprints import covered, grams_of, runs_of
from kvaudit.analyzers.divergence.relatives import GRAM, Relatives

_WORD = 64
_SAMPLE = 2 * _WORD
"""Requests of a group with which each is compared; spread evenly over it."""
OF_ITS_KIND = 0.3
"""Share of what the nearest has in common, from which on a request is of the same kind."""
_NEARLY_ALL = 0.7
_SOME = 0.4
"""Of a text that goes on into fixed text: some have a value in between."""
_LEAST = 2
"""Requests of a kind below which nothing is known."""


class Fixed(NamedTuple):
    """What is fixed in a prompt from a unit on."""

    units: NDArray[np.bool_]
    kind: list[int]
    """Places of the requests that were compared, those with most in common first."""
    common: int
    """Runs of it that the first of these has."""


class FixedText:
    """In which requests of a sample each run of `GRAM` units stands."""

    def __init__(
        self,
        relatives: Relatives,
        members: NDArray[np.int64],
        columns: dict[str, NDArray[np.int64]],
    ) -> None:
        """Look at ``members``, in each of which the text stands behind what it shares."""
        self._relatives = relatives
        step = max(1, -(-len(members) // _SAMPLE))
        self._sample = np.asarray(members[::step], np.int64)
        found = [
            np.unique(self._grams(int(place), int(columns["shared"][place])))
            for place in self._sample
        ]
        flat = np.concatenate(found) if found else np.empty(0, np.uint64)
        owner = np.repeat(np.arange(len(found)), [len(grams) for grams in found])
        order = np.argsort(flat, kind="stable")
        self._runs, first = np.unique(flat[order], return_index=True)
        bits = np.uint64(1) << (owner[order] % _WORD).astype(np.uint64)
        self._in = np.zeros((len(self._runs), _SAMPLE // _WORD), np.uint64)
        for word in range(self._in.shape[1] if len(flat) else 0):
            own = np.where(owner[order] // _WORD == word, bits, np.uint64(0))
            self._in[:, word] = np.add.reduceat(own, first)

    def of(self, place: int, start: int) -> Fixed | None:
        """Return what is fixed in a prompt from a unit on; None where too few are of its kind."""
        grams = self._grams(place, start)
        if not len(grams) or not len(self._runs):
            return None
        at = np.searchsorted(self._runs, grams)
        at[at == len(self._runs)] = 0
        rows = np.where((self._runs[at] == grams)[:, None], self._in[at], np.uint64(0))
        have = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")
        have = have[:, : len(self._sample)]
        common = have.sum(axis=0, dtype=np.int64)
        common[self._sample == place] = 0  # it has all of itself
        if not common.any():
            return None
        kind = np.flatnonzero(common >= OF_ITS_KIND * common.max())
        if len(kind) < _LEAST:
            return None
        often = have[:, kind].sum(axis=1, dtype=np.int64) / len(kind)
        fixed = _with_edges(often >= _NEARLY_ALL, often >= _SOME)
        kind = kind[np.argsort(-common[kind], kind="stable")]
        return Fixed(covered(fixed, GRAM), self._sample[kind].tolist(), int(common.max()))

    def begin(self, place: int, shared: int, otherwise: int) -> int:
        """Return where the fixed text begins in a request; ``otherwise`` where there is none."""
        fixed = self.of(place, shared)
        if fixed is None or not fixed.units.any():
            return otherwise
        # A passage that is found often is in most of them, but what follows it is not: fixed text
        # begins where more of what follows, up to some unit, is fixed than anywhere else. What is
        # said in a long history behind it is not.
        inside = np.concatenate([[0], np.cumsum(np.where(fixed.units, 1, -1))])
        most = np.maximum.accumulate(inside[:0:-1])[::-1] - inside[:-1]
        return shared + int(np.where(fixed.units, most, -len(most)).argmax())

    def end(self, place: int, begin: int) -> int:
        """Return where the fixed text ends that begins at a unit, or soon behind it.

        A value that changes may stand in it: it ends where most of what is in front is fixed.
        """
        fixed = self.of(place, begin)
        if fixed is None:
            return begin
        inside = np.cumsum(np.where(fixed.units, 1, -1))
        last = int(inside.argmax())
        return begin + last + 1 if inside[last] > 0 else begin

    def _grams(self, place: int, shared: int) -> NDArray[np.uint64]:
        return grams_of(self._relatives.prompt(place)[shared:], GRAM)


def _with_edges(core: NDArray[np.bool_], edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the runs of ``edges`` that hold something of ``core``, which is a part of them."""
    kept = np.zeros(len(edges), np.bool_)
    for start, end in np.column_stack(runs_of(edges)).tolist():
        kept[start:end] = core[start:end].any()
    return kept
