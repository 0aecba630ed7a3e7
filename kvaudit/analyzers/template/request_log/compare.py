"""A log, request by request: each one against the one it goes on from, or its nearest neighbour."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

from kvaudit.analyzers.template.request_log.change import Change
from kvaudit.analyzers.template.request_log.history import TRIMMED, compare_messages
from kvaudit.analyzers.template.request_log.parameters import compare_parameters
from kvaudit.analyzers.template.request_log.request import Message, Record
from kvaudit.analyzers.template.request_log.routing_keys import RoutingKeys
from kvaudit.analyzers.template.request_log.sessions import Session, Sessions
from kvaudit.analyzers.template.request_log.system import compare_examples, compare_system
from kvaudit.analyzers.template.request_log.texts import one_prompt
from kvaudit.analyzers.template.request_log.tools import compare_tools
from kvaudit.analyzers.template.request_log.usage_rows import Writes, lifetime_dropped, lost_history
from kvaudit.core.document import Evidence, Position
from kvaudit.cost.providers.facts import provider_named

_OFTEN = 0.2
"""A history that is cut in more of the turns than this is cut on each turn."""
_LAST_FIRSTS = 8
_FIRSTS = 1_000
"""Beginnings that are compared with their neighbours; what differs among these differs later."""


def compare(log: Iterable[Record]) -> Iterator[Change]:
    """Yield every change in a log, in its order; what needs the whole log comes at the end."""
    sessions, writes = Sessions(), Writes()
    firsts: deque[Session] = deque(maxlen=_LAST_FIRSTS)
    keys, begun = RoutingKeys(), 0
    for record in log:
        yield from writes.add(record)
        dropped = lifetime_dropped(record)
        if dropped is not None:
            yield dropped
        yield from keys.add(record)
        session = sessions.of(record)
        if session is not None:
            yield from _turn(session, record)
            sessions.advance(session, record)
            continue
        begun += 1
        if begun <= _FIRSTS:
            yield from _begins(firsts, record)
        session, gone = sessions.begin(record)
        firsts.append(session)
        for ended in gone:
            yield from _ended(ended)
    for session in sessions.all():
        yield from _ended(session)
    unread = writes.unread()
    if unread is not None:
        yield unread
    yield from keys.spread()


def _turn(session: Session, record: Record) -> Iterator[Change]:
    """Compare a request with the one before it in its session."""
    before = session.last
    yield from compare_tools(before, record, same_session=True)
    yield from compare_system(before, record, same_session=True)
    if before.messages and record.messages:
        goes_on = False
        for change in compare_messages(before, record):
            goes_on = True
            if change.kind == TRIMMED:
                session.trims.append(change)
            elif _is_masking(change):
                session.masks.append(change)
            else:
                yield change
                yield from _moving_breakpoint(change)
        if goes_on or len(record.messages) >= len(before.messages):
            yield from compare_parameters(before, record)
            yield from _outran(before, record)
    elif not record.has_request:
        lost = lost_history(before, record)
        if lost is not None:
            session.trims.append(lost)


def _is_masking(change: Change) -> bool:
    """Whether an old result was replaced by less: once is a compaction, again and again is not."""
    if change.kind != "history-rewritten" or not change.was:
        return False
    message = next(
        (m for m in change.earlier.messages if any(t.text == change.was for t in m.texts)), None
    )
    return message is not None and (message.role in ("tool", "function") or message.results)


def _ended(session: Session) -> Iterator[Change]:
    """Say what is a fault only because it happened so often in a session."""
    cuts = [*session.trims, *session.masks]
    often = len(cuts) > _OFTEN * session.pairs
    if len(cuts) >= 2 and often:
        yield _trimmed(cuts, session.pairs)
        return
    if session.trims and often and "more than half" not in session.trims[0].detail:
        yield _trimmed(session.trims, session.pairs)
    yield from session.masks


def _trimmed(cuts: list[Change], pairs: int) -> Change:
    first = min(cuts, key=lambda change: change.later.number)
    return replace(
        first,
        kind="history-trimmed-each-turn",
        detail=f"{first.detail}; so it is in {len(cuts)} of {pairs} consecutive requests",
    )


def _moving_breakpoint(change: Change) -> Iterator[Change]:
    """A breakpoint at the end of a message that is not sent again as it was is never read."""
    earlier = change.earlier
    model = change.later.model or earlier.model
    provider = provider_named(None, model)
    if change.kind != "history-rewritten" or provider is None:
        return
    if provider.matching_of(model) != "message-end":
        return
    newest = earlier.messages[-1]
    if change.path[: len(newest.path)] == newest.path or _replaces(
        change, len(earlier.messages) - 1
    ):
        read = change.later.usage.read
        yield replace(
            change,
            kind="moving-marker",
            detail="the breakpoint at its end was written with text that is not sent again"
            + (", and nothing was read" if read == 0 else ""),
            evidence=Evidence.DATAFLOW if read == 0 else Evidence.BINDING,
        )


def _outran(before: Record, record: Record) -> Iterator[Change]:
    """A single marker on the newest text, too many blocks away from the one before it."""
    provider = provider_named(None, record.model)
    look_back = provider.cache.look_back if provider is not None else None
    here = [i for i, m in enumerate(record.messages) if m.marked]
    there = [i for i, m in enumerate(before.messages) if m.marked]
    if look_back is None or len(here) != 1 or not there or here[0] <= there[-1]:
        return
    added = sum(_blocks(m) for m in record.messages[there[-1] + 1 : here[0] + 1])
    if added > look_back:
        yield Change(
            earlier=before,
            later=record,
            path=record.messages[here[0]].path,
            kind="moving-marker",
            detail=f"{added} blocks were added since the marker of the request before, and a "
            f"look-up goes back {look_back}",
            position=Position.HISTORY,
        )


def _blocks(message: Message) -> int:
    """Return how many blocks a message counts for; results of parallel calls are one."""
    return 1 if message.results else max(1, len(message.texts) + len(message.calls))


def _replaces(change: Change, index: int) -> bool:
    messages = change.later.messages
    return (
        index < len(messages) and change.path[: len(messages[index].path)] == messages[index].path
    )


def _same_prompt(earlier: Record, later: Record) -> bool:
    if bool(earlier.system) is not bool(later.system) or bool(earlier.tools) is not bool(
        later.tools
    ):
        return False
    mine = earlier.system or [t for m in earlier.messages[:1] for t in m.texts]
    yours = later.system or [t for m in later.messages[:1] for t in m.texts]
    if not mine or not yours:
        return bool(earlier.tools)
    return bool(earlier.tools and not earlier.system) or one_prompt(
        mine[0].text[:4000], yours[0].text[:4000]
    )


def _begins(firsts: Iterable[Session], record: Record) -> Iterator[Change]:
    """Compare the beginning of a conversation with the last one of the same prompt."""
    alike_firsts = (s for s in reversed(list(firsts)) if _same_prompt(s.first, record))
    neighbour = next(alike_firsts, None)
    if neighbour is not None:
        yield from _another_session(neighbour, record)


def _another_session(neighbour: Session, record: Record) -> Iterator[Change]:
    """Compare the beginnings of two conversations: what all of them should share."""
    before = neighbour.first
    yield from compare_tools(before, record, same_session=False)
    yield from compare_system(before, record, same_session=False, stood_still=neighbour.stood_still)
    yield from compare_examples(before, record)
    mine = [(m.role, m.said) for m in before.messages[:-1]]
    yours = [(m.role, m.said) for m in record.messages[:-1]]
    if len(mine) > 1 and mine != yours and sorted(mine) == sorted(yours):
        at = next(i for i, pair in enumerate(zip(mine, yours, strict=True)) if pair[0] != pair[1])
        texts = record.messages[at].texts
        yield Change(
            earlier=before,
            later=record,
            path=texts[0].path if texts else record.messages[at].path,
            kind="shuffled-examples",
            detail=f"the same {len(mine)} messages as in the request before, in another order",
            position=Position.FEWSHOT,
        )
