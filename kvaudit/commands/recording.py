"""A replay that can be repeated: its batches are kept, their units on disk, to be given changed.

A fix of the text is a few units moved, or some requests encoded anew; nothing else of a log has
to be read again. Keeps about 500 bytes a request in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.destinations import Destination
from kvaudit.analyzers.divergence.follow import Divergences
from kvaudit.analyzers.divergence.moved_texts import with_moved
from kvaudit.analyzers.divergence.recorded import KeptRequests, RecordedUnits, Texts
from kvaudit.analyzers.divergence.spans import Spans
from kvaudit.core.lookups import Lookups
from kvaudit.core.prompts import Outline, PromptBatch, RequestFacts
from kvaudit.core.requests import Request
from kvaudit.replay.batches import offsets_of
from kvaudit.tokens.tokenizer import Decodes, Tokenizer

if TYPE_CHECKING:
    from kvaudit.analyzers.divergence.repairs.repair import Repair
    from kvaudit.replay.prompts import Prompts
    from kvaudit.tokens.encode import PromptEncoder

_NO_UNITS = np.empty(0, np.int32)


class Recording:
    """Follows a replay with the analysis, and keeps what is needed to replay again."""

    def __init__(self, found: Divergences, units: RecordedUnits) -> None:
        """Pass everything on to ``found``, which keeps the units in ``units``."""
        self.found, self.units = found, units
        self.batches: list[PromptBatch] = []
        self._evicted: list[NDArray[np.int64]] = []

    def add(self, lookups: Lookups) -> None:
        """Take the next batch."""
        self.found.add(lookups)
        self.batches.append(replace(lookups.prompts, units=_NO_UNITS))
        self._evicted.append(lookups.evicted_blocks)

    def evicted(self) -> NDArray[np.int64]:
        """Return how many blocks were evicted for each request, in replay order."""
        return np.concatenate(self._evicted)

    def with_facts(self, changed: Callable[[RequestFacts], RequestFacts]) -> Recording:
        """Return the recording with something changed that is no text."""
        other = Recording(self.found, self.units)
        other.batches = [
            replace(batch, requests=[changed(facts) for facts in batch.requests])
            for batch in self.batches
        ]
        return other


class Change(Protocol):
    """A change of some requests of a batch."""

    def __call__(self, first: int, batch: PromptBatch) -> dict[int, Changed]:
        """Return the new prompts by number within the batch, whose first request has a place."""
        ...

    def text(self, place: int, request: Request, decodes: Decodes) -> Request | None:
        """Return the request at a place as the change leaves it; None where it is not known."""
        ...


class Changed(NamedTuple):
    """A prompt as it is changed."""

    units: NDArray[np.int32]
    outline: Outline | None
    """Where its blocks end."""


class Again:
    """The recorded log as a stream of prompts, changed or as it was."""

    def __init__(self, recording: Recording, prompts: Prompts, change: Change | None) -> None:
        """Stream what was recorded of ``prompts``."""
        self._recording, self._change = recording, change
        self.holds_blocks = prompts.holds_blocks
        self.block_tokens = prompts.block_tokens
        self.outputs_reencoded = False
        """The recorded units are those of prompts only, where responses are known as text."""
        self.namespace_names: Sequence[str] = prompts.namespace_names
        self.lmcache_namespaces: Sequence[int] = prompts.lmcache_namespaces

    def __iter__(self) -> Iterator[PromptBatch]:
        """Read the recording from its beginning."""
        first = 0
        for batch in self._recording.batches:
            changed = {} if self._change is None else self._change(first, batch)
            yield self._filled(first, batch, changed)
            first += len(batch.requests)

    def _filled(self, first: int, batch: PromptBatch, changed: dict[int, Changed]) -> PromptBatch:
        pieces, lengths = [], batch.prompt_units.copy()
        facts = list(batch.requests)
        for i, length in enumerate(lengths.tolist()):
            units = self._recording.units.of(first + i)
            if i in changed:
                prompt, outline = changed[i]
                units = np.concatenate([prompt, units[length:]])
                lengths[i] = len(prompt)
                facts[i] = facts[i]._replace(outline=outline)
            pieces.append(units)
        return replace(
            batch,
            requests=facts,
            units=np.concatenate(pieces),
            offsets=offsets_of(np.fromiter(map(len, pieces), np.int64, len(pieces))),
            prompt_units=lengths,
            prompt_tokens=batch.prompt_tokens if self.holds_blocks else lengths,
        )


class Moving:
    """Moves spans elsewhere in each prompt.

    Behind the instructions nothing is gained in a session of one request.
    """

    def __init__(
        self,
        recording: Recording,
        spans: Spans,
        to: Destination,
        end_of_turn: int | None,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        """Move ``spans`` of what was recorded; a message ends with ``end_of_turn``."""
        self._units, self._spans, self._to = recording.units, spans, to
        self._end_of_turn, self._tokenizer = end_of_turn, tokenizer
        self._sessions = recording.found.sessions()
        self._lengths = Counter(self._sessions)

    def __call__(self, first: int, batch: PromptBatch) -> dict[int, Changed]:
        """Return the prompts that have such spans."""
        changed = {}
        for i, length in enumerate(batch.prompt_units.tolist()):
            spans = self._spans.of(first + i)
            if spans:
                units = self._units.of(first + i)[:length]
                to = self._destination(first + i)
                prompt = self._spans.moved(first + i, units, to, self._end_of_turn)
                prompt = self._ended(prompt, units, spans)
                outline = _shifted(batch.requests[i].outline, spans, len(prompt))
                changed[i] = Changed(prompt, outline)
        return changed

    def _ended(
        self, prompt: NDArray[np.int32], units: NDArray[np.int32], spans: Sequence[tuple[int, int]]
    ) -> NDArray[np.int32]:
        """Return a prompt without the blank lines in front of a text that ended its message."""
        start, end = spans[-1]
        at = start - sum(b - a for a, b in spans[:-1])
        last = start < end < len(units) and units[end] == self._end_of_turn == prompt[at]
        tokenizer = self._tokenizer
        if not last or at == 0 or tokenizer is None or not isinstance(tokenizer, Decodes):
            return prompt
        text = tokenizer.decode(prompt[at - 1 : at])
        if text == text.rstrip():
            return prompt
        bare = tokenizer.encode_batch([text.rstrip()])[0]
        return np.concatenate([prompt[: at - 1], bare, prompt[at:]])

    def text(self, place: int, request: Request, decodes: Decodes) -> Request | None:
        """Return a request with its text moved, where its messages hold that as it is."""
        spans, units = self._spans.of(place), self._units.of(place)
        texts = [decodes.decode(units[a:b]) for a, b in spans if a < b]
        return with_moved(request, texts, self._destination(place)) if texts else request

    def _destination(self, place: int) -> Destination:
        alone = self._lengths[self._sessions[place]] == 1 and self._to is Destination.FIRST
        return Destination.END if alone else self._to


def _shifted(outline: Outline | None, spans: list[tuple[int, int]], total: int) -> Outline | None:
    """Return where the blocks end once spans in front of their ends were moved to the end."""
    if outline is None:
        return None
    ends = outline.ends.copy()
    for a, b in spans:
        ends -= np.clip(outline.ends - a, 0, b - a)
    ends[-1] = total
    return outline._replace(ends=ends)


class Mending:
    """Encodes anew what a repair of the text changes."""

    def __init__(
        self,
        recording: Recording,
        texts: Texts,
        repair: Repair,
        encoder: PromptEncoder,
        kept: KeptRequests | None = None,
    ) -> None:
        """Repair ``texts``; what is changed is added to ``kept``, to be asked for."""
        self._numbers = recording.found.columns()["number"]
        self._texts, self._repair, self._encoder, self._kept = texts, repair, encoder, kept

    def __call__(self, first: int, batch: PromptBatch) -> dict[int, Changed]:
        """Return the prompts that the repair changes."""
        mended: dict[int, Request] = {}
        for i in range(len(batch.requests)):
            number = int(self._numbers[first + i])
            request = self._texts.request(number)
            after = self._repair.mend(request)
            if after is not request:
                mended[i] = after
                if self._kept is not None:
                    self._kept.add(number, after)
        arrays = self._encoder.encode(list(mended.values()))
        return {
            i: Changed(ids, _outlined(self._encoder, batch, i, request, ids))
            for (i, request), ids in zip(mended.items(), arrays, strict=True)
            if len(ids)
        }

    def text(self, place: int, request: Request, decodes: Decodes) -> Request | None:
        """Return a request as it was mended."""
        if self._kept is None:
            return None
        return self._kept.get(int(self._numbers[place]), request.session) or request


def _outlined(
    encoder: PromptEncoder, batch: PromptBatch, i: int, request: Request, ids: NDArray[np.int32]
) -> Outline | None:
    return None if batch.requests[i].outline is None else encoder.outline(request, ids)
