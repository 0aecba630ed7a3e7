"""Which earlier request a prompt is nearest to, and how much of what follows both have.

Two answers are needed of every prompt. The *longest shared prefix* is with one request, found
without a search: each prompt is filed under the last block it shares, in the order of the units
that follow, where its nearest one stands beside it. What could have been shared *after* the
place where they part is found by fingerprints: of all runs of `GRAM` units some are chosen by
their own hash (winnowing by modulus, Manber 1994), and an earlier request with many of them holds
the same text, wherever it stands there.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.fingerprints import (
    chosen_of,
    common_units,
    dense,
    found_at,
    grams_of,
    longest,
    reach,
    repeated,
)
from kvaudit.analyzers.divergence.kin import Kin, Met
from kvaudit.analyzers.divergence.recorded import RecordedUnits
from kvaudit.core.lookups import Lookups

GRAM = 16
"""Units of a run that counts as the same text: a block of vLLM's."""
_ENOUGH = 0.9
"""Share of what follows: where the first candidate has it, no other is looked for."""
SAME_PLACE = 64
"""Units by which two requests may part earlier or later in one and the same value or line."""
_SAME_VALUE = 8
"""The same within one value, of which more or less may be alike by chance."""
_IN_PIECES = 0.75
"""Share of a text in another order or spelling that comes back in short runs; of new text, which
has a few words in common with any, it is less."""
_NONE = -1


class Relatives:
    """Finds relatives. Grows by about 150 bytes a request and 5 a distinct unit, and on disk."""

    def __init__(self, units: RecordedUnits, *, gram: int = GRAM) -> None:
        """Keep prompts in ``units``; ``gram`` is the least run that counts as the same text."""
        self._gram = gram
        self._units = units
        self._prompts = array("q")
        self._last_with = np.full(1024, _NONE, np.int64)
        self._roots: dict[int, int] = {}
        self._branches: dict[int, list[tuple[bytes, int]]] = {}
        self._prints: dict[int, int] = {}
        self._in_session: dict[tuple[int, str], int] = {}

    def follow(self, lookups: Lookups, sessions: Sequence[str | None]) -> Iterator[Met]:
        """Yield each request of the next batch, with its session, against those before it."""
        prompts, bounds = lookups.prompts, lookups.prompts.offsets.tolist()
        lengths, keys = prompts.prompt_units.tolist(), lookups.key_offsets.tolist()
        shared = lookups.shared_units.tolist()
        for i, namespace in enumerate(prompts.namespaces.tolist()):
            units = prompts.units[bounds[i] : bounds[i + 1]]
            path = lookups.keys[keys[i] : keys[i + 1]]
            # Another request is met as a prompt, so what only an output shares is left out here.
            met = self._meet(
                units[: lengths[i]],
                path,
                namespace=namespace,
                shared=shared[i],
                block=lookups.block_units,
                session=sessions[i],
            )
            yield met
            self._keep(units, path, met, namespace, sessions[i], lengths[i])

    def _meet(
        self,
        prompt: NDArray[np.int32],
        path: NDArray[np.int32],
        *,
        namespace: int,
        shared: int,
        block: int,
        session: str | None,
    ) -> Met:
        place = len(self._prompts)
        depth = min(shared // block, len(path))
        parent = int(path[depth - 1]) if depth else -1 - namespace
        neighbour = self._neighbour(parent, prompt, depth * block, block, place)
        if shared >= len(prompt):
            return Met(place, shared, None, None, neighbour)
        grams = grams_of(prompt[shared:], self._gram)
        before = self._in_session.get((namespace, session), _NONE) if session else _NONE
        deepest, *others = self._voted(grams, namespace)
        if deepest not in (neighbour, _NONE):
            kin = self.compared(deepest, prompt, shared)
            if _rich(kin) and kin.shared_units >= shared - SAME_PLACE:
                # No other can have more; but the nearest may have as much, and part later.
                later = neighbour != _NONE and kin.shared_units < shared - _SAME_VALUE
                nearest = self.compared(neighbour, prompt, shared) if later else None
                return Met(place, shared, nearest, kin, neighbour)
        nearest = best = None
        for candidate in dict.fromkeys((neighbour, before, deepest, *others)):
            if candidate == _NONE:
                continue
            if best is not None and _rich(best):
                break
            kin = self.compared(candidate, prompt, shared)
            if candidate == neighbour:
                nearest = kin
            elif candidate != before and kin.shared_units < shared - SAME_PLACE:
                kin = kin._replace(again_units=kin.onward_units, far=True)
            if best is None or kin.again_units > best.again_units:
                best = kin
        return Met(place, shared, nearest, best, neighbour)

    def compared(
        self,
        place: int,
        prompt: NDArray[np.int32],
        shared: int,
        *,
        gram: int | None = None,
        goes_on: bool = False,
    ) -> Kin:
        """Compare a prompt, of which ``shared`` units are shared with any, with a request.

        Runs of ``gram`` units count too, where most is in such runs. What follows the end of a
        request that this one ``goes_on`` from is new, whatever phrases are in it.
        """
        other = self._units.of(place)
        common = common_units(prompt, other)
        again = repeated(prompt[common:], other[common:], self._gram)
        if gram is not None:
            pieces = repeated(prompt[common:], other[common:], gram)
            again |= dense(pieces, self._gram, _IN_PIECES)
        if goes_on:
            again[max(len(again) - self.new_units(place, prompt), 0) :] = False
        behind = max(shared - common, 0)
        return Kin(
            place=place,
            shared_units=common,
            again_units=int(again[behind:].sum()),
            onward_units=reach(again, behind),
            longest_units=longest(again, behind),
            resumes_units=int(again.argmax()) if again.any() else None,
            unseen_units=len(prompt) - shared,
        )

    def new_units(self, place: int, prompt: NDArray[np.int32]) -> int:
        """Return how many units of a prompt follow what an earlier one ends with; 0 if it has not.

        They could not be shared with that one, wherever else the two part.
        """
        return found_at(prompt[::-1], self.prompt(place)[: -self._gram - 1 : -1]) or 0

    def _neighbour(
        self, parent: int, prompt: NDArray[np.int32], start: int, block: int, place: int
    ) -> int:
        """File the prompt under the last block it shares; return its nearest one there."""
        filed = self._branches.setdefault(parent, [])
        if not filed:
            last = int(self._last_with[parent]) if parent >= 0 else self._roots.get(parent, _NONE)
            if last != _NONE:
                filed.append((self._units.of(last, start)[:block].tobytes(), last))
        own = prompt[start : start + block].tobytes()
        at = bisect_left(filed, (own, place))
        beside = [filed[n] for n in (at - 1, at) if 0 <= n < len(filed)]
        found = max(beside, key=lambda entry: _same_bytes(entry[0], own), default=(b"", _NONE))
        if not beside or found[0] != own:  # what is filed already stands for it
            filed.insert(at, (own, place))
        return found[1]

    def _voted(self, grams: NDArray[np.uint64], namespace: int) -> tuple[int, int, int]:
        """Return who last had the deepest known fingerprint, most of them, and the first one.

        The deepest stands in a request before in the same conversation, which has the rest too;
        the first in one that goes on as this one does.
        """
        known = (self._prints.get(mark, _NONE) for mark in chosen_of(grams, namespace).tolist())
        found = [place for place in known if place != _NONE]
        if not found:
            return _NONE, _NONE, _NONE
        votes = Counter(found)
        return found[-1], max(votes, key=lambda place: (votes[place], place)), found[0]

    def met_before(
        self, prompt: NDArray[np.int32], namespace: int, start: int, end: int
    ) -> list[int]:
        """Return who last had each fingerprint of a part of a prompt; -1 for nobody.

        What a search finds comes again in other requests; what users ask does not.
        """
        marks = chosen_of(grams_of(prompt[start:end], self._gram), namespace).tolist()
        return [self._prints.get(mark, _NONE) for mark in marks]

    def _keep(
        self,
        units: NDArray[np.int32],
        path: NDArray[np.int32],
        met: Met,
        namespace: int,
        session: str | None,
        length: int,
    ) -> None:
        self._units.append(units)
        self._prompts.append(length)
        if len(path):
            top = int(path.max())
            if top >= len(self._last_with):
                grown = np.full(2 * top, _NONE, np.int64)
                grown[: len(self._last_with)] = self._last_with
                self._last_with = grown
            self._last_with[path] = met.place
        self._roots[-1 - namespace] = met.place
        fresh = grams_of(units[min(met.shared_units, length) : length], self._gram)
        self._prints.update(dict.fromkeys(chosen_of(fresh, namespace).tolist(), met.place))
        if session is not None:
            self._in_session[namespace, session] = met.place

    def resumes_at(self, place: int, earlier: int, shared: int, resumes: int) -> int | None:
        """Return where, in an earlier prompt, the text goes on that a later one resumes with.

        The two part behind ``shared`` units, and the later one goes on so many units later.
        """
        later = self._units.of(place, shared + resumes)[: self._gram]
        at = found_at(self._units.of(earlier, shared)[: self._prompts[earlier] - shared], later)
        return None if at is None else shared + at

    def prompt(self, place: int) -> NDArray[np.int32]:
        """Return the units of a request's prompt."""
        return self._units.of(place)[: self._prompts[place]]

    def length(self, place: int) -> int:
        """Return how many units the prompt of a request has."""
        return self._prompts[place]


def _rich(kin: Kin) -> bool:
    return kin.again_units >= _ENOUGH * kin.unseen_units


def _same_bytes(one: bytes, other: bytes) -> int:
    """Return how many bytes two strings begin with in common."""
    size = min(len(one), len(other))
    a, b = np.frombuffer(one, np.uint8, size), np.frombuffer(other, np.uint8, size)
    differs = np.flatnonzero(a != b)
    return int(differs[0]) if len(differs) else size
