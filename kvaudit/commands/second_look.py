"""A log with one fault fixed, looked at again: what parts its prompts then.

What two faults keep apart is counted for the one that stands first, and the other one is not seen
before that is mended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from kvaudit.analyzers.divergence.follow import Divergences
from kvaudit.analyzers.divergence.recorded import KEPT_REQUESTS, RecordedUnits, Texts
from kvaudit.analyzers.divergence.settling import settle
from kvaudit.commands.recording import Again, Change, Recording
from kvaudit.commands.rendering import render_with
from kvaudit.core.lookups import Lookups
from kvaudit.core.requests import Request
from kvaudit.replay.run import replay_log
from kvaudit.tokens.tokenizer import Decodes

if TYPE_CHECKING:
    from kvaudit.commands import inputs
    from kvaudit.replay.plan import Plan
    from kvaudit.replay.prompts import Prompts
    from kvaudit.replay.result import ReplayResult


class Diagnosed(Protocol):
    """A log whose requests have their stories, from which fixes can be replayed."""

    source: inputs.OpenLog
    plan: Plan
    prompts: Prompts
    recording: Recording
    result: ReplayResult | None

    @property
    def texts(self) -> Texts:
        """The requests by number."""
        ...

    @property
    def found(self) -> Divergences:
        """What became of every request."""
        ...


class ChangedTexts:
    """The requests of a changed log; a prompt whose text is not known is read back from tokens."""

    def __init__(
        self, before: Diagnosed, change: Change, units: RecordedUnits, decodes: Decodes
    ) -> None:
        """Take the log as it was, and what will hold the prompts as they are now."""
        self.sessions: Sequence[str | None] = before.texts.sessions
        self._texts, self._change = before.texts, change
        self._units, self._decodes = units, decodes
        numbers = before.found.columns()["number"].tolist()
        self._places = {number: place for place, number in enumerate(numbers)}
        self.request = lru_cache(KEPT_REQUESTS)(self._read)

    def _read(self, number: int) -> Request:
        request, place = self._texts.request(number), self._places[number]
        changed = self._change.text(place, request, self._decodes)
        if changed is not None:
            return changed
        text = self._decodes.decode(self._units.of(place))
        return replace(request, messages=None, tools=None, prompt=text)


class _Spelling(Recording):
    """A recording that keeps the prompts before it passes them on, for their texts."""

    def __init__(self, found: Divergences, units: RecordedUnits, prompts: RecordedUnits) -> None:
        super().__init__(found, units)
        self._prompts = prompts

    def add(self, lookups: Lookups) -> None:
        """Take the next batch."""
        batch = lookups.prompts
        starts = batch.offsets[:-1].tolist()
        for start, length in zip(starts, batch.prompt_units.tolist(), strict=True):
            self._prompts.append(batch.units[start : start + length])
        super().add(lookups)


class SecondLook:
    """A diagnosed log with a change, diagnosed again."""

    def __init__(self, before: Diagnosed, change: Change, decodes: Decodes, block: int) -> None:
        """Replay ``before`` with the change, and follow that."""
        self.source, self.plan, self.prompts = before.source, before.plan, before.prompts
        self._units, self._prompts = RecordedUnits(), RecordedUnits()
        self.texts = ChangedTexts(before, change, self._prompts, decodes)
        self._block = block
        self.recording = self._follow()
        stream = Again(before.recording, before.prompts, change)
        self.result = replay_log(stream, self.plan, follow=self._follow)
        settle(self.found)

    @property
    def found(self) -> Divergences:
        """What became of every request."""
        return self.recording.found

    def close(self) -> None:
        """Let go what was recorded."""
        self._units.close()
        self._prompts.close()

    def _follow(self) -> Recording:
        self._units.start_over()
        self._prompts.start_over()
        found = Divergences(
            self.texts,
            self._units,
            lambda: render_with(self.source.encoder()),
            block_size=self._block,
        )
        self.recording = _Spelling(found, self._units, self._prompts)
        return self.recording


@contextmanager
def second_look(before: Diagnosed, change: Change) -> Iterator[SecondLook | None]:
    """Look at a changed log again; None where its tokens cannot be read."""
    loaded = before.source.encoder.loaded
    if loaded is None or not isinstance(loaded.tokenizer, Decodes):
        yield None
        return
    look = SecondLook(before, change, loaded.tokenizer, before.found.block_size)
    try:
        yield look
    finally:
        look.close()
