"""Why two requests part: the cause, told from what differs, where, and what both still have.

The detectors are those by which a log is linted (`kvaudit.analyzers.template.request_log`). What
they say of two neighbours is here asked of a request and its nearest relative, at the one place
where the two part.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from kvaudit.analyzers.divergence.comparing import record_of
from kvaudit.analyzers.divergence.parting import Parting
from kvaudit.analyzers.divergence.slots import Slot, differing_lines, slot_at
from kvaudit.analyzers.template.request_log.change import Change
from kvaudit.analyzers.template.request_log.history import TRIMMED, compare_messages
from kvaudit.analyzers.template.request_log.request import Record
from kvaudit.analyzers.template.request_log.system import is_example, is_passage
from kvaudit.analyzers.template.request_log.texts import (
    changes,
    same_but_for_space,
    value_in,
)
from kvaudit.analyzers.template.request_log.tools import compare_tools
from kvaudit.core.document import Origin
from kvaudit.core.requests import Request
from kvaudit.core.why import Cause

_OF_ORIGIN = {
    Origin.CLOCK: Cause.SUB_DAY_CLOCK,
    Origin.DATE: Cause.CALENDAR_DATE,
    Origin.RANDOM: Cause.RANDOM_ID,
    Origin.OBJECT_REPR: Cause.RANDOM_ID,
    Origin.SIGNED_URL: Cause.RANDOM_ID,
    Origin.COUNTER: Cause.COUNTER,
    Origin.SESSION: Cause.SESSION_VALUE,
    Origin.IDENTITY: Cause.IDENTITY,
    Origin.USER_INPUT: Cause.USER_TEXT_FIRST,
}
_OF_TOOLS = {
    "discovery-order": Cause.TOOL_ORDER,
    "tools-change-in-session": Cause.TOOL_SET,
    "unsorted-json": Cause.JSON_KEY_ORDER,
    "set-order": Cause.JSON_KEY_ORDER,
}
_TITLES_OF_TOOLS = {
    Cause.TOOL_ORDER: "the same tools in another order",
    Cause.TOOL_SET: "another set of tools",
    Cause.JSON_KEY_ORDER: "the same JSON with its keys or values in another order",
}
_OF_HISTORY = {
    TRIMMED: Cause.HISTORY_TRIMMED,
    "reasoning-stripped": Cause.REASONING_STRIPPED,
    "arguments-rewritten": Cause.JSON_KEY_ORDER,
    "whitespace-drift": Cause.WHITESPACE_DRIFT,
    "signed-address": Cause.HISTORY_REWRITTEN,
    "history-rewritten": Cause.HISTORY_REWRITTEN,
}
_QUOTED_CHARS = 12
"""A text of the user as long as this does not stand elsewhere by chance."""
_LONG_CHARS = 200
"""A differing text as long as this is content and no value."""
_FIXED_CHARS = 64
"""Text behind a slot in the same message, that is worth moving the slot for."""
_WINDOW = 300
_NAMED = re.compile(
    r"\b(?:name[ds]?|user|customer|client|account|tenant|member|e-?mail|talking to|hello|dear"
    r"|herrn?|frau|kunden?|benutzer|nutzer|nom|utilisateur|usuario|cliente|nombre)\b"
    r"|用户|姓名|客户|称呼|お客様|ユーザー",
    re.IGNORECASE,
)
_WORD_BEFORE, _WORD_AFTER = re.compile(r"[\w@.+-]*$"), re.compile(r"[\w@.+-]*")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.\w+")
_PLACE = re.compile(
    r"(?:/[\w.-]+){2,}|[A-Za-z]:\\|\bsession|\bpid\b|\bcwd\b|working directory", re.I
)


class Verdict(NamedTuple):
    """What a pair of requests shows."""

    cause: Cause
    slot: Slot | None
    """The line they part in, where it is a line of text."""
    title: str = ""
    """What stands for the template where no line does."""
    fewshot: bool = False


class Pair(NamedTuple):
    """Two requests that part, and how they belong together."""

    later: Request
    earlier: Request
    parting: Parting
    same_session: bool


def classify(pair: Pair) -> Verdict | None:
    """Return the cause; None where they part as two conversations do, which loses nothing."""
    if pair.parting.section == "tools":
        return _in_tools(pair)
    if pair.parting.section == "system":
        return _in_text(pair)
    return _in_messages(pair)


def _in_tools(pair: Pair) -> Verdict:
    later, earlier = record_of(pair.later), record_of(pair.earlier)
    for change in compare_tools(earlier, later, same_session=True):
        cause = _OF_TOOLS.get(str(change.kind))
        if cause is not None:
            return Verdict(cause, None, _TITLES_OF_TOOLS[cause])
        break  # a text inside a tool: what kind of value it is, the line says
    return _in_text(pair)


def _in_text(pair: Pair) -> Verdict:
    """Tell what differs in a text that both should have: instructions, or a tool's description."""
    part = pair.parting
    mine, yours = differing_lines(part.later, part.earlier, part.offset)
    slot = slot_at(part.later, part.earlier, part.offset)
    if _only_space(part):
        return Verdict(Cause.WHITESPACE_DRIFT, None, "the same text but for white space")
    moved = _moved(part, slot)
    if moved is not None:
        return moved
    if _asked(mine, slot.later, pair.later) or _asked(yours, slot.earlier, pair.earlier):
        return Verdict(Cause.USER_TEXT_FIRST, slot)
    if is_passage(mine[0] if mine else "") or is_passage(yours[0] if yours else ""):
        return Verdict(Cause.RETRIEVED_CONTEXT_FIRST, slot)
    if _names_owner(slot, pair):
        return Verdict(Cause.IDENTITY, slot)
    if bool(mine) is not bool(yours):
        return _only_in_one(mine or yours, pair)
    found = _value(part, slot)
    if found is not None:
        return found
    if _is_identity(slot):
        return Verdict(Cause.IDENTITY, slot)
    if sum(map(len, mine)) >= _LONG_CHARS and sum(map(len, yours)) >= _LONG_CHARS:
        return Verdict(Cause.RETRIEVED_CONTEXT_FIRST, slot)
    common = any(character.isalnum() for character in slot.before + slot.after)
    if part.offset < _QUOTED_CHARS and not common:
        return Verdict(Cause.UNCLASSIFIED, slot)  # two prompts that share nothing up to here
    if pair.same_session:
        return Verdict(Cause.LIVE_STATE, slot)
    if _PLACE.search(slot.before[-40:] + slot.later):
        return Verdict(Cause.SESSION_VALUE, slot)
    return Verdict(Cause.UNCLASSIFIED, slot)


def _only_in_one(lines: Sequence[str], pair: Pair) -> Verdict:
    """Tell lines that one of the texts has, and the other has nothing in their place."""
    text = next((line for line in lines if line.strip()), "")
    value = value_in(text)
    if value is not None and value.origin in _OF_ORIGIN:
        before, after = text[: value.start], text[value.end :]
        slot = Slot(before, value.new, "", after, pair.parting.offset)
        return Verdict(_OF_ORIGIN[value.origin], slot)
    slot = Slot("", text, "", "", pair.parting.offset)
    if any(o and o in text for o in (pair.later.user, pair.earlier.user)):
        return Verdict(Cause.IDENTITY, slot)
    if sum(map(len, lines)) >= _LONG_CHARS:
        return Verdict(Cause.RETRIEVED_CONTEXT_FIRST, slot)
    return Verdict(Cause.LIVE_STATE if pair.same_session else Cause.UNCLASSIFIED, slot)


def _only_space(part: Parting) -> bool:
    """Whether the texts agree but for white space, as far as a window shows."""
    a, b = (t[part.offset : part.offset + _WINDOW] for t in (part.later, part.earlier))
    if not (a[:1].isspace() or b[:1].isspace() or (a and b and same_but_for_space(a, b))):
        shown = a[:8] + b[:8]
        if shown.isascii():
            return False
    one, other = _squeezed(a), _squeezed(b)
    size = min(len(one), len(other)) - 16
    return size >= 32 and one[:size] == other[:size]


def _squeezed(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split())


def _moved(part: Parting, slot: Slot) -> Verdict | None:
    """Tell a part that stands elsewhere in the other text: what is shuffled, not changed."""
    mine, yours = _block(part.later, slot.start), _block(part.earlier, slot.start)
    if min(len(mine), len(yours)) < _QUOTED_CHARS or mine == yours:
        return None
    here, there = part.later[slot.start :], part.earlier[slot.start :]
    if yours not in here or mine not in there:
        return None
    if is_passage(mine):
        return Verdict(Cause.RETRIEVED_CONTEXT_FIRST, None, "the same passages in another order")
    if is_example(mine) or is_example(yours):
        title = "the same examples in another order"
        return Verdict(Cause.SHUFFLED_EXAMPLES, None, title, fewshot=True)
    if part.section == "tools" or '"name"' in mine:
        return Verdict(Cause.TOOL_ORDER, None, "the same tools in another order")
    return Verdict(Cause.UNCLASSIFIED, None, "the same lines in another order")


def _block(text: str, at: int) -> str:
    """Return the line that holds a character, as it stands."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    return text[start : len(text) if end < 0 else end].strip()


def _asked(lines: Sequence[str], value: str, request: Request) -> bool:
    """Whether a differing text is the newest one of the user."""
    said = [_said(m.get("content")) for m in request.messages or () if m.get("role") == "user"]
    if not said:
        return False
    whole = "\n".join(lines)
    short = value.strip()
    question = said[-1].strip().split("\n")[-1].strip()
    return (len(short) >= _QUOTED_CHARS and short in said[-1]) or (
        len(question) >= _QUOTED_CHARS and question in whole
    )


def _said(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(p.get("text", "")) for p in content if isinstance(p, dict))
    return ""


def _value(part: Parting, slot: Slot) -> Verdict | None:
    """Return what kind of value differs first, where it is a known one on both sides."""
    start = slot.start - len(slot.before)
    later, earlier = (_lines(t, start, slot.start + 200) for t in (part.later, part.earlier))
    changed = next(iter(changes(later, earlier)), None)
    if changed is None or changed.origin not in _OF_ORIGIN:
        return None
    cause = _OF_ORIGIN[changed.origin]
    at = earlier.find("\n", changed.end)
    whole = Slot(
        before=earlier[: changed.start],
        later=changed.old,
        earlier=changed.new,
        after=earlier[changed.end : len(earlier) if at < 0 else at],
        start=start + changed.start,
    )
    return Verdict(cause, whole if "\n" not in whole.before else slot)


def _lines(text: str, start: int, least: int) -> str:
    end = text.find("\n", min(least, len(text)))
    return text[start : len(text) if end < 0 else end][:2000]


def _names_owner(slot: Slot, pair: Pair) -> bool:
    """Whether what differs is, by the log's own fields, the user or the tenant."""
    owners = [
        (mine, yours)
        for mine, yours in (
            (pair.later.user, pair.earlier.user),
            (pair.later.tenant, pair.earlier.tenant),
        )
        if mine and yours and mine != yours and min(len(mine), len(yours)) > 1
    ]
    texts = _whole_words(slot)
    return any(mine in texts[0] and yours in texts[1] for mine, yours in owners)


def _whole_words(slot: Slot) -> tuple[str, str]:
    """Return both values with what belongs to them in front and behind: tenant-⟨4⟩."""
    before, after = _WORD_BEFORE.search(slot.before), _WORD_AFTER.match(slot.after)
    head, tail = before[0] if before else "", after[0] if after else ""
    return f"{head}{slot.later}{tail}", f"{head}{slot.earlier}{tail}"


def _is_identity(slot: Slot) -> bool:
    """Whether what differs looks like a person: an address, or a few words after such a label."""
    texts = _whole_words(slot)
    if all(_EMAIL.search(t) for t in texts):
        return True
    words = [t.split() for t in texts]
    short = all(0 < len(w) <= 4 and not any(c.isdigit() for c in "".join(w)) for w in words)
    return short and _NAMED.search(slot.before[-40:]) is not None


def _in_messages(pair: Pair) -> Verdict | None:
    later, earlier = record_of(pair.later), record_of(pair.earlier)
    if _shuffled_turns(later, earlier):
        title = "the same examples, as messages, in another order"
        return Verdict(Cause.SHUFFLED_EXAMPLES, None, title, fewshot=True)
    goes_on = len(later.messages) > 1 and len(earlier.messages) > 1
    if pair.same_session or (goes_on and _begin_alike(later, earlier)):
        found = _in_history(pair, earlier, later)
        if found is not None:
            return found
    return _before_fixed_text(pair)


def _begin_alike(later: Record, earlier: Record) -> bool:
    mine, yours = later.messages[0], earlier.messages[0]
    return mine.role == yours.role and mine.said == yours.said


def _in_history(pair: Pair, earlier: Record, later: Record) -> Verdict | None:
    slot = slot_at(pair.parting.later, pair.parting.earlier, pair.parting.offset)
    for change in compare_messages(earlier, later):
        if change.origin is not None and change.origin in _OF_ORIGIN:
            return Verdict(_OF_ORIGIN[change.origin], slot)
        cause = _OF_HISTORY.get(str(change.kind))
        if cause is None:
            continue
        if change.kind == "history-rewritten" and _not_replayed(change, earlier):
            return Verdict(
                Cause.ENVIRONMENT_NOT_REPLAYED, None, _TITLES[Cause.ENVIRONMENT_NOT_REPLAYED]
            )
        return Verdict(cause, None, _TITLES[cause])
    return None


_TITLES = {
    Cause.HISTORY_TRIMMED: "messages of the history are gone",
    Cause.REASONING_STRIPPED: "reasoning is gone from the history",
    Cause.JSON_KEY_ORDER: "arguments of a past call in other bytes",
    Cause.WHITESPACE_DRIFT: "a past message but for white space",
    Cause.HISTORY_REWRITTEN: "a past message with other text",
    Cause.ENVIRONMENT_NOT_REPLAYED: "text sent with the newest message, and not sent again",
}


def _not_replayed(change: Change, earlier: Record) -> bool:
    """Whether the newest message lost a part of itself once it was history."""
    if not change.was or not earlier.messages:
        return False
    asked = [m for m in earlier.messages if m.role in ("user", "human")]
    newest = asked[-1] if asked else earlier.messages[-1]
    if not any(t.text == change.was for t in newest.texts):
        return False
    now = next(
        (t.text for m in change.later.messages for t in m.texts if t.path == change.path), ""
    )
    return len(now.strip()) >= 1 and now.strip() in change.was and len(now) < len(change.was)


def _shuffled_turns(later: Record, earlier: Record) -> bool:
    """Whether the messages before the newest are the same in another order."""
    mine = [(m.role, m.said) for m in later.messages[:-1]]
    yours = [(m.role, m.said) for m in earlier.messages[:-1]]
    return len(mine) > 3 and mine != yours and sorted(mine) == sorted(yours)


def _before_fixed_text(pair: Pair) -> Verdict | None:
    """Tell a value, or the user's words, that stand before text which comes in every message."""
    part = pair.parting
    slot = slot_at(part.later, part.earlier, part.offset)
    if not _fixed_after(part):
        return None
    if _names_owner(slot, pair):
        return Verdict(Cause.IDENTITY, slot)
    found = _value(part, slot)
    if found is not None:
        return found
    mine, yours = differing_lines(part.later, part.earlier, part.offset)
    if is_passage(mine[0] if mine else "") or is_passage(yours[0] if yours else ""):
        return Verdict(Cause.RETRIEVED_CONTEXT_FIRST, slot)
    if _is_identity(slot):
        return Verdict(Cause.IDENTITY, slot)
    if part.role in ("user", "human") or part.role is None:
        return Verdict(Cause.USER_TEXT_FIRST, slot)
    return Verdict(Cause.UNCLASSIFIED, slot)


def _fixed_after(part: Parting) -> bool:
    """Whether both texts go on alike in this message: at its end, or with a line of some length."""
    a, b = part.later[part.offset :], part.earlier[part.offset :]
    tail = 0
    for x, y in zip(reversed(a), reversed(b), strict=False):
        if x != y:
            break
        tail += 1
    if tail >= _FIXED_CHARS:
        return True
    theirs = set(b.split("\n"))
    return any(
        len(line) >= _FIXED_CHARS and line in theirs and not is_passage(line)
        for line in a.split("\n")[1:]
    )
