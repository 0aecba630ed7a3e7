"""Why two requests part among their messages: in the history, or in front of fixed text."""

from __future__ import annotations

from collections import Counter

from kvaudit.analyzers.divergence.comparing import record_of
from kvaudit.analyzers.divergence.instructions import anchors_of, is_retrieved, value_at
from kvaudit.analyzers.divergence.lone_lines import OF_ORIGIN
from kvaudit.analyzers.divergence.owners import is_identity, names_owner
from kvaudit.analyzers.divergence.parting import Parting
from kvaudit.analyzers.divergence.slots import Slot, differing_lines, slot_at
from kvaudit.analyzers.divergence.verdict import Pair, Verdict
from kvaudit.analyzers.template.request_log.change import Change
from kvaudit.analyzers.template.request_log.cuts import messages_cut
from kvaudit.analyzers.template.request_log.history import TRIMMED, compare_messages
from kvaudit.analyzers.template.request_log.request import Record
from kvaudit.analyzers.template.request_log.system import is_passage
from kvaudit.core.document import Origin
from kvaudit.core.why import Cause

_OF_HISTORY = {
    TRIMMED: Cause.HISTORY_TRIMMED,
    "reasoning-stripped": Cause.REASONING_STRIPPED,
    "arguments-rewritten": Cause.JSON_KEY_ORDER,
    "whitespace-drift": Cause.WHITESPACE_DRIFT,
    "signed-address": Cause.HISTORY_REWRITTEN,
    "history-rewritten": Cause.HISTORY_REWRITTEN,
}
_TITLES = {
    Cause.HISTORY_TRIMMED: "messages of the history are gone",
    Cause.REASONING_STRIPPED: "reasoning is gone from the history",
    Cause.JSON_KEY_ORDER: "arguments of a past call in other bytes",
    Cause.WHITESPACE_DRIFT: "a past message but for white space",
    Cause.HISTORY_REWRITTEN: "a past message with other text",
    Cause.ENVIRONMENT_NOT_REPLAYED: "text sent with the newest message, and not sent again",
}
_LEAST_EXAMPLES = 4
"""Messages that changed places: two questions with their answers."""
_FIXED_CHARS = 64
"""Text behind a slot in the same message, that is worth moving the slot for."""


def in_messages(pair: Pair) -> Verdict | None:
    """Tell why two requests part behind their instructions; None where nothing is lost by it."""
    later, earlier = record_of(pair.later), record_of(pair.earlier)
    if _shuffled_turns(later, earlier):
        title = "the same examples, as messages, in another order"
        return Verdict(Cause.SHUFFLED_EXAMPLES, None, title, position="fewshot")
    goes_on = len(later.messages) > 1 and len(earlier.messages) > 1
    alike = goes_on and _begin_alike(later, earlier)
    if pair.same_session or alike or _continues(later, earlier):
        found = _in_history(pair, earlier, later)
        if found is not None:
            return found
    return _before_fixed_text(pair)


def _continues(later: Record, earlier: Record) -> bool:
    """Whether a request goes on from another one, whose messages it changed or moved."""
    mine, yours = later.messages, earlier.messages
    if len(mine) <= len(yours) or not yours:
        return False
    if len(yours) > 1:
        said = {(m.role, m.said) for m in mine}
        if all((m.role, m.said) in said for m in yours):
            return True
    first, was = mine[0], yours[0]
    if first.role != was.role:
        return False
    called = bool(first.calls) and [t.text for t in first.others] == [t.text for t in was.others]
    now, then = first.said.strip(), was.said.strip()
    return called or (0 < len(now) < len(then) and (then.startswith(now) or then.endswith(now)))


def _begin_alike(later: Record, earlier: Record) -> bool:
    mine, yours = later.messages[0], earlier.messages[0]
    return mine.role == yours.role and mine.said == yours.said


def _in_history(pair: Pair, earlier: Record, later: Record) -> Verdict | None:
    slot = slot_at(pair.parting.later, pair.parting.earlier, pair.parting.offset)
    if _came_back(later, earlier):
        cause = Cause.HISTORY_TRIMMED
        return Verdict(cause, None, _TITLES[cause], position="history")
    for change in compare_messages(earlier, later):
        if change.kind == "history-rewritten" and _not_replayed(change, earlier):
            cause = Cause.ENVIRONMENT_NOT_REPLAYED
            return Verdict(cause, None, _TITLES[cause], position="history")
        counted = change.origin is Origin.COUNTER  # the number of the turn, say
        if change.origin is not None and change.origin in OF_ORIGIN and not counted:
            return Verdict(OF_ORIGIN[change.origin], slot)
        if counted:
            cause = Cause.HISTORY_REWRITTEN
            return Verdict(cause, None, _TITLES[cause], position="history")
        found = _OF_HISTORY.get(str(change.kind))
        if found is not None:
            return Verdict(found, None, _TITLES[found], position="history")
    if pair.same_session and _one_replaced(later, earlier):
        cause = Cause.HISTORY_REWRITTEN
        return Verdict(cause, None, _TITLES[cause], position="history")
    return None


def _one_replaced(later: Record, earlier: Record) -> bool:
    """Whether a message has nothing of what it was, and others of the history stand as before."""
    mine, yours = later.messages, earlier.messages
    stand = [(a.role, a.said) == (b.role, b.said) for a, b in zip(mine[:-1], yours, strict=False)]
    return len(mine) > 2 and 2 * sum(stand) >= len(stand) > 1


def _came_back(later: Record, earlier: Record) -> bool:
    """Whether messages stand in front again that the earlier request had lost."""
    mine, yours = later.messages, earlier.messages
    if len(mine) < 2 or len(yours) < 2 or _begin_alike(later, earlier):
        return False
    return messages_cut(mine, yours, 0) > 0


def _not_replayed(change: Change, earlier: Record) -> bool:
    """Whether the newest message lost a part of itself once it was history."""
    if not change.was or not earlier.messages:
        return False
    asked = [m for m in earlier.messages if m.role in ("user", "human")]
    newest = (*asked[-1:], earlier.messages[-1])
    if not any(t.text == change.was for m in newest for t in m.texts):
        return False
    now = next(
        (t.text for m in change.later.messages for t in m.texts if t.path == change.path), ""
    )
    return len(now.strip()) >= 1 and now.strip() in change.was and len(now) < len(change.was)


def _shuffled_turns(later: Record, earlier: Record) -> bool:
    """Whether both begin with the same messages in another order, whatever follows them."""
    mine = [(m.role, m.said) for m in later.messages[:-1]]
    yours = [(m.role, m.said) for m in earlier.messages[:-1]]
    # What only one of them has so far; what both have is taken out, so that none need be looked at.
    missing: Counter[tuple[str, str]] = Counter()
    moved = False
    for number, (one, other) in enumerate(zip(mine, yours, strict=False), 1):
        for message, step in ((one, 1), (other, -1)):
            missing[message] += step
            if not missing[message]:
                del missing[message]
        moved = moved or one != other
        if moved and number >= _LEAST_EXAMPLES and not missing:
            return True
    return False


def _before_fixed_text(pair: Pair) -> Verdict | None:
    """Tell a value, or the user's words, that stand before text which comes in every message."""
    part = pair.parting
    fixed = _fixed_after(part)
    if fixed is None:
        return None
    return _before_fixed(pair, slot_at(part.later, part.earlier, part.offset))._replace(fixed=fixed)


def _before_fixed(pair: Pair, slot: Slot) -> Verdict:
    part = pair.parting
    if names_owner(slot, pair):
        return Verdict(Cause.IDENTITY, slot)
    found = value_at(part, slot)
    if found is not None:
        return found
    lines = differing_lines(part.later, part.earlier, part.offset)
    around = anchors_of(slot, lines)
    if is_retrieved(lines, slot):
        return Verdict(Cause.RETRIEVED_CONTEXT_FIRST, slot, anchors=around)
    if is_identity(slot):
        return Verdict(Cause.IDENTITY, slot)
    if part.role in ("user", "human") or part.role is None:
        return Verdict(Cause.USER_TEXT_FIRST, slot, anchors=around)
    return Verdict(Cause.UNCLASSIFIED, slot, sure=False)


def _fixed_after(part: Parting) -> str | None:
    """Return the line with which both texts go on alike; empty where all of their ends is alike.

    None where there is neither.
    """
    a, b = part.later[part.offset :], part.earlier[part.offset :]
    tail = 0
    for x, y in zip(reversed(a), reversed(b), strict=False):
        if x != y:
            break
        tail += 1
    if tail >= _FIXED_CHARS:
        return ""
    theirs = set(b.split("\n"))
    alike = (
        line
        for line in a.split("\n")[1:]
        if len(line) >= _FIXED_CHARS and line in theirs and not is_passage(line)
    )
    return next(alike, None)
