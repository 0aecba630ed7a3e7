"""Which earlier request a request goes on from.

By the session's id where the log has one, else by the history: the newest message of the earlier
request stands among the older ones of the later. Only the last request of each session is kept,
and of so many sessions that memory stays small.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from kvaudit.analyzers.template.request_log.change import Change
from kvaudit.analyzers.template.request_log.cuts import says_the_same
from kvaudit.analyzers.template.request_log.history import resembles
from kvaudit.analyzers.template.request_log.request import Message, Record

MAX_NAMED = 512
MAX_UNNAMED = 32
"""Sessions without an id are searched one by one, newest first."""
_PERHAPS, _SURE = 1, 2


@dataclass(slots=True)
class Session:
    """The requests of one conversation so far."""

    first: Record
    last: Record
    pairs: int = 0
    """Consecutive requests that were compared."""
    trims: list[Change] = field(default_factory=list)
    masks: list[Change] = field(default_factory=list)

    @property
    def stood_still(self) -> bool:
        """Whether its system text was seen more than once, and was the same."""
        if self.pairs == 0:
            return False
        return [t.text for t in self.first.system] == [t.text for t in self.last.system]


class Sessions:
    """Finds the session of each request, in the order of the log."""

    def __init__(self) -> None:
        """Begin without any."""
        self._named: OrderedDict[str, Session] = OrderedDict()
        self._unnamed: list[Session] = []

    def of(self, record: Record) -> Session | None:
        """Return the session that a request goes on; None where it begins one."""
        if record.session is not None:
            return self._named.get(record.session)
        best: Session | None = None
        surest = 0
        for session in reversed(self._unnamed):
            sure = goes_on(session.last, record)
            if sure > surest:
                best, surest = session, sure
                if sure == _SURE:
                    break
        return best

    def begin(self, record: Record) -> tuple[Session, list[Session]]:
        """Begin a session; also return those that are given up for it."""
        session = Session(first=record, last=record)
        gone: list[Session] = []
        if record.session is not None:
            self._named[record.session] = session
            if len(self._named) > MAX_NAMED:
                gone.append(self._named.popitem(last=False)[1])
        else:
            self._unnamed.append(session)
            if len(self._unnamed) > MAX_UNNAMED:
                gone.append(self._unnamed.pop(0))
        return session, gone

    def advance(self, session: Session, record: Record) -> None:
        """Make a request the newest of its session."""
        session.last = record
        session.pairs += 1
        if record.session is None:
            self._unnamed.remove(session)
            self._unnamed.append(session)
        else:
            self._named.move_to_end(record.session)

    def all(self) -> list[Session]:
        """Return the sessions that are still known."""
        return [*self._named.values(), *self._unnamed]


def goes_on(earlier: Record, later: Record) -> int:
    """Tell whether a request continues the conversation of another: 0 no, 1 perhaps, 2 surely."""
    before, after = earlier.messages, later.messages
    if not before and not after:
        # Nothing but tools or counters: neighbours in one file are taken for one session.
        alone = bool(earlier.tools and later.tools) or not (
            earlier.has_request or later.has_request
        )
        return _SURE if alone else 0
    if not before or len(after) < 2:
        return 0
    newest = before[-1]
    older = after[:-1]
    if any(says_the_same(newest, m) for m in older):
        known = len(before) == 1 or _share(before, after) or _overlap(before, after)
        return _SURE if known else 0
    if _answer_masked(before, after):
        return _PERHAPS
    near = after[max(len(before) - 4, 0) : len(before) + 2]
    written_anew = any(m is not after[-1] and resembles(newest, m) for m in near)
    return _PERHAPS if written_anew and _begins_alike(before, after) else 0


def _overlap(before: list[Message], after: list[Message]) -> bool:
    """Whether a history begins where the earlier one goes on: a window that slid."""
    start = next((i for i, m in enumerate(before) if says_the_same(m, after[0])), None)
    return start is not None and all(map(says_the_same, before[start:], after))


def _answer_masked(before: list[Message], after: list[Message]) -> bool:
    """Whether all is as it was but the newest, a result that now reads otherwise."""
    newest = before[-1]
    if (
        len(before) < 2
        or len(after) <= len(before)
        or not (newest.results or newest.role == "tool")
    ):
        return False
    same_role = after[len(before) - 1].role == newest.role
    return same_role and all(map(says_the_same, before[:-1], after))


def _begins_alike(before: list[Message], after: list[Message]) -> bool:
    """The first message is still the first, or half of the others are still there."""
    return resembles(before[0], after[0]) or _share(before, after)


def _share(before: list[Message], after: list[Message]) -> bool:
    said = {(m.role, m.said) for m in after}
    kept = sum((m.role, m.said) in said for m in before)
    return 2 * kept >= len(before)
