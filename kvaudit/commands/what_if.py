"""What a fix would bring: the log replayed with it, in the same cache, by the same rules.

Fixes are made for a cause at a place, for all of its groups together: a clock that stands in three
templates is one fault. A fix of the text is simulated by moving or rewriting the text in every
request, and one of the cache by replaying the same requests in another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kvaudit.analyzers.divergence.destinations import Destination
from kvaudit.analyzers.divergence.fault_spans import FaultSpans
from kvaudit.analyzers.divergence.recorded import KeptRequests
from kvaudit.analyzers.divergence.repairs.as_sent import AsSent
from kvaudit.analyzers.divergence.repairs.in_turns import InTurns
from kvaudit.analyzers.divergence.repairs.one_form import (
    OneExampleOrder,
    OneSpelling,
    OneToolOrder,
)
from kvaudit.analyzers.divergence.repairs.one_tool_set import OneToolSet
from kvaudit.analyzers.divergence.spans import Spans
from kvaudit.commands.other_caches import OF_CACHE, other_caches
from kvaudit.commands.recording import Again, Change, Mending, Moving, Recording
from kvaudit.core.requests import Request
from kvaudit.core.why import Cause, DivergenceGroup, WhatIf
from kvaudit.replay.plan import first_counted
from kvaudit.replay.run import replay_log

if TYPE_CHECKING:
    from kvaudit.analyzers.divergence.repairs.repair import Repair
    from kvaudit.commands.second_look import Diagnosed
    from kvaudit.replay.plan import Plan
    from kvaudit.replay.result import ReplayResult

NOTHING = "no fix can be simulated"
_MOVED = {
    Cause.SUB_DAY_CLOCK: "the time",
    Cause.CALENDAR_DATE: "the date",
    Cause.RANDOM_ID: "the id",
    Cause.COUNTER: "the counter",
    Cause.IDENTITY: "what names the user or tenant",
    Cause.SESSION_VALUE: "the session's value",
    Cause.LIVE_STATE: "the state",
    Cause.USER_TEXT_FIRST: "the user's text",
    Cause.RETRIEVED_CONTEXT_FIRST: "the retrieved text",
    Cause.PARAMETER_CHANGE: "the parameter",
    Cause.UNCLASSIFIED: "the text that differs",
}
_MENDED = {
    Cause.HISTORY_REWRITTEN: "send the history as it was sent before",
    Cause.REASONING_STRIPPED: "keep reasoning in the history as it was sent",
    Cause.ENVIRONMENT_NOT_REPLAYED: "store the block with its message, and send it again",
    Cause.HISTORY_TRIMMED: "drop old messages rarely: at twice of what is kept now, down to that",
    Cause.TOOL_ORDER: "send the tools in one order",
    Cause.TOOL_SET: "send all tools from the first request on",
    Cause.JSON_KEY_ORDER: "write the JSON with its keys in one order",
    Cause.WHITESPACE_DRIFT: "spell the text in one way",
    Cause.SHUFFLED_EXAMPLES: "send the examples in one order",
}
_OF_HISTORY = {
    Cause.HISTORY_REWRITTEN,
    Cause.REASONING_STRIPPED,
    Cause.ENVIRONMENT_NOT_REPLAYED,
    Cause.HISTORY_TRIMMED,
}
"""Where a log has several of these, a fix of one takes back what that one did."""


class Moved(NamedTuple):
    """A value that a fix moves, in the counted requests."""

    tokens: int
    hits: int
    """Those of them that are hits where they stand now."""


NOTHING_MOVED = Moved(0, 0)


class Remedy(NamedTuple):
    """A fix of the text."""

    fix: str
    change: Change
    moved: Moved
    rewrites: bool = False
    """Whether it writes texts anew, instead of moving tokens."""


class Fault(NamedTuple):
    """A cause at a place."""

    cause: Cause
    position: str


def fix_of(fault: Fault, to: Destination | None = None) -> str:
    """Return what is done about a fault, in words; ``to`` is where its text is moved."""
    if fault.cause in _MENDED:
        return _MENDED[fault.cause]
    if to is None:
        return NOTHING
    if to is Destination.NOWHERE:
        return "leave the user's text to the newest message, where it stands anyway"
    return f"move {_MOVED[fault.cause]} {to.value}"


def destination_of(fault: Fault, *, stays: bool, one_text: bool = False) -> Destination:
    """Return where a text belongs: behind all that changes less often than it does.

    ``stays`` says that it is the same in all requests of a session, ``one_text`` that prompts are
    one text, whose newest message nobody knows.
    """
    if fault.position not in ("tools", "system", "fewshot"):
        content = fault.cause in (Cause.RETRIEVED_CONTEXT_FIRST, Cause.USER_TEXT_FIRST)
        return Destination.BEHIND if content or stays else Destination.END
    if fault.cause is Cause.USER_TEXT_FIRST:
        return Destination.BEHIND if one_text else Destination.NOWHERE
    if stays:
        return Destination.FIRST
    content = fault.cause is Cause.RETRIEVED_CONTEXT_FIRST
    return Destination.NEWEST if content else Destination.END


class WhatIfs:
    """Replays a diagnosed log with fixes."""

    def __init__(
        self, diagnosis: Diagnosed, recording: Recording, before: ReplayResult | None = None
    ) -> None:
        """Take the log as it was diagnosed, and the recording of its replay.

        ``before`` is what fixes are held against, where that is another replay.
        """
        result = before or diagnosis.result
        assert result is not None
        self._diagnosis, self._recording, self._before = diagnosis, recording, result
        self._sessions = recording.found.sessions()
        loaded = diagnosis.source.encoder.loaded
        self._end_of_turn = None if loaded is None else loaded.end_of_turn_id()
        self._tokenizer = None if loaded is None else loaded.tokenizer
        self._texts = FaultSpans(diagnosis.found, self._tokenizer, self._end_of_turn)

    def of(self, fault: Fault, beside: Moved = NOTHING_MOVED) -> WhatIf:
        """Replay with a fault mended; ``beside`` was moved before."""
        if fault.cause in OF_CACHE and fault.position == "history":
            return self._of_cache(fault.cause)
        remedy = self.remedy(fault)
        if remedy is None:
            return self._unknown(fix_of(fault))
        moved = Moved(*map(sum, zip(remedy.moved, beside, strict=True)))
        return self._compared(remedy.fix, self._diagnosis.plan, remedy.change, moved=moved)

    def remedy(self, fault: Fault, kept: KeptRequests | None = None) -> Remedy | None:
        """Return what a fix does to the texts; None where none is known.

        Requests that it rewrites are added to ``kept``.
        """
        if fault.cause in _MENDED:
            encoder, texts = self._diagnosis.source.encoder(), self._diagnosis.texts
            change: Change = Mending(self._recording, texts, self._repair(fault), encoder, kept)
            return Remedy(fix_of(fault), change, NOTHING_MOVED, rewrites=True)
        if fault.cause not in _MOVED:
            return None
        # What the newest turn says again is left out there too; a task said once is moved.
        own = [self._diagnosis.found.groups.all[n] for n in self._texts.groups(*fault)]
        one_text = any(g.one_text and not g.is_sure(Cause.USER_TEXT_FIRST) for g in own)
        content = fault.cause is Cause.RETRIEVED_CONTEXT_FIRST or (
            fault.cause is Cause.USER_TEXT_FIRST and (fault.position == "newest" or one_text)
        )
        spans = self._texts.spans(*fault, content=content)
        to = destination_of(fault, stays=spans.stay(self._sessions), one_text=one_text)
        change = Moving(self._recording, spans, to, self._end_of_turn, self._tokenizer)
        moved = NOTHING_MOVED if content else self._moved(spans, to)
        return Remedy(fix_of(fault, to), change, moved)

    def _moved(self, spans: Spans, to: Destination) -> Moved:
        """Count a value that is moved. A session's own is a hit once its first request had it."""
        first = first_counted(self._diagnosis.plan.warmup, len(self._sessions))
        known: set[str | None] = {None}
        tokens = hits = 0
        for place, session in enumerate(self._sessions):
            length = sum(b - a for a, b in spans.of(place)) if place >= first else 0
            stays = to in (Destination.FIRST, Destination.BEHIND) and session in known - {None}
            known.add(session)
            tokens, hits = tokens + length, hits + (length if stays else 0)
        whole = self._diagnosis.prompts.holds_blocks or to is Destination.NOWHERE
        return NOTHING_MOVED if whole else Moved(tokens, hits)

    def _of_cache(self, cause: Cause) -> WhatIf:
        """Replay the same requests in other caches, and return what the best of them brings."""
        tried = [
            self._compared(fix, plan, None, recording)
            for fix, plan, recording in other_caches(cause, self._diagnosis.plan, self._recording)
        ]
        if not tried:
            return self._unknown(NOTHING)
        return max(tried, key=lambda found: found.saved_tokens)

    def _repair(self, fault: Fault) -> Repair:
        cause = fault.cause
        if cause is Cause.TOOL_SET:
            return OneToolSet(self._requests)
        if cause in (Cause.TOOL_ORDER, Cause.JSON_KEY_ORDER):
            return OneToolOrder(keys=cause is Cause.JSON_KEY_ORDER)
        if cause is Cause.WHITESPACE_DRIFT and fault.position:
            return OneSpelling(self._requests())
        if cause is Cause.SHUFFLED_EXAMPLES:
            return OneExampleOrder(self._requests())
        others = {fault_of_group(*each).cause for each in self._texts.faults()} & _OF_HISTORY
        only = cause if others - {cause} and cause in _OF_HISTORY else None
        return InTurns(AsSent(drops=cause is Cause.HISTORY_TRIMMED, only=only))

    def _requests(self) -> Iterator[Request]:
        """Read the log's requests again, in replay order."""
        texts, numbers = self._diagnosis.texts, self._diagnosis.found.columns()["number"]
        return (texts.request(number) for number in numbers.tolist())

    def _compared(
        self,
        fix: str,
        plan: Plan,
        change: Change | None,
        recording: Recording | None = None,
        *,
        moved: Moved = NOTHING_MOVED,
    ) -> WhatIf:
        stream = Again(recording or self._recording, self._diagnosis.prompts, change)
        after = replay_log(stream, plan)
        assert after is not None
        return _difference(fix, self._before, after, moved)

    def _unknown(self, fix: str) -> WhatIf:
        return WhatIf(
            fix=fix,
            hit_rate_before=self._before.prefix.hit_rate,
            hit_rate_after=None,
            saved_tokens=0,
            saved_flops=None,
            usd=None,
            helps=False,
        )


def _difference(fix: str, before: ReplayResult, after: ReplayResult, moved: Moved) -> WhatIf:
    saved = before.prefix.computed_tokens - after.prefix.computed_tokens
    work = [result.savings.flops_with if result.savings else None for result in (before, after)]
    flops = None if work[0] is None or work[1] is None else float(work[0] - work[1])
    return WhatIf(
        fix=fix,
        hit_rate_before=before.prefix.hit_rate,
        hit_rate_after=_rate_without(after, moved),
        moved_tokens=moved.tokens,
        hit_rate_moved=after.prefix.hit_rate if moved.tokens else None,
        saved_tokens=saved,
        saved_flops=flops,
        usd=_usd(before, after),
        helps=saved > 0 and (after.prefix.hit_rate or 0) > (before.prefix.hit_rate or 0),
    )


def _rate_without(after: ReplayResult, moved: Moved) -> float | None:
    """Return the hit rate of all prompt tokens but those of a value that was moved."""
    rest = after.prefix.prompt_tokens - moved.tokens
    if not moved.tokens or rest <= 0:
        return after.prefix.hit_rate
    return min(max(after.prefix.hit_tokens - moved.hits, 0) / rest, 1.0)


def _usd(before: ReplayResult, after: ReplayResult) -> float | None:
    """Return how much less is paid: by a provider's prices, or for accelerators."""
    one, other = _paid(before), _paid(after)
    return None if one is None or other is None else one - other


def _paid(result: ReplayResult) -> float | None:
    if result.hosted is not None:
        return result.hosted.usd_with
    use = None if result.savings is None else result.savings.accelerator
    if use is None or use.usd_per_hour is None:
        return None
    return use.hours_with * use.usd_per_hour


def fault_of(group: DivergenceGroup) -> Fault:
    """Return the fault that a group is a part of."""
    return fault_of_group(group.cause, group.position)


def fault_of_group(cause: Cause, position: str) -> Fault:
    """Return the fault of a cause at a place; what rewrites the past does so everywhere."""
    anywhere = cause in _MENDED and (
        cause is not Cause.WHITESPACE_DRIFT or position in ("history", "newest")
    )
    return Fault(cause, "" if anywhere else position)
