"""Lines that one of two texts has where the other has nothing: what they are by themselves.

A value that half of the requests carry is met like this as often as beside another value. Its line
alone says less than two lines do: what is not told here, the group's other pairs may tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kvaudit.analyzers.divergence.owners import address_ends, names_someone
from kvaudit.analyzers.divergence.slots import Slot, length
from kvaudit.analyzers.divergence.values import kind_of, names_session
from kvaudit.analyzers.divergence.verdict import Anchors, Pair, Verdict
from kvaudit.analyzers.template.request_log.texts import value_in
from kvaudit.core.document import Origin
from kvaudit.core.why import Cause

OF_ORIGIN = {
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
LONG_CHARS = 200
"""A differing text as long as this is content and no value."""
SENTENCES = 100
"""Characters of a line without a label that are too many for a value."""
_LABEL = re.compile(r"[:：=]\s*")
_PUNCTUATION = ".,;!。！，"
_NUMBER = re.compile(r"(?<![\w-])\d+(?![\w-])")


def only_in_one(lines: Sequence[str], pair: Pair, around: Anchors) -> Verdict:
    """Tell lines that one of the texts has, and the other has nothing in their place."""
    text = next((line for line in lines if line.strip()), "")
    start = pair.parting.offset
    # A date in a passage is no more its own than the other words are.
    found = value_of(text, start) if length(text) < LONG_CHARS else None
    if found is not None:
        return found
    slot = Slot("", text, "", "", start)
    if any(o and o in text for o in (pair.later.user, pair.earlier.user)):
        return Verdict(Cause.IDENTITY, slot)
    sentences = sum(map(length, lines)) >= SENTENCES
    if sentences and not pair.same_session:
        return Verdict(Cause.RETRIEVED_CONTEXT_FIRST, slot, anchors=around, sure=False)
    cause = Cause.LIVE_STATE if pair.same_session else Cause.UNCLASSIFIED
    number = _NUMBER.search(text) if len(lines) == 1 and not sentences else None
    if number is not None:  # what it counts, the group's other pairs show
        slot = Slot(text[: number.start()], number[0], "", text[number.end() :], start)
        return Verdict(cause, slot, sure=False)
    return Verdict(cause, slot, anchors=around, sure=False)


def value_of(text: str, start: int = 0) -> Verdict | None:
    """Return the value that a line holds, by its shape or by its label."""
    value = value_in(text)
    if value is not None and value.origin in OF_ORIGIN:
        slot = Slot(text[: value.start], value.new, "", text[value.end :], start)
        of_session = value.origin is Origin.RANDOM and names_session(slot)
        return Verdict(Cause.SESSION_VALUE if of_session else OF_ORIGIN[value.origin], slot)
    for slot in _labelled(text, start):
        someone = names_someone(slot.before, slot.later)
        # Shapes are asked of two values: as if both texts had this one.
        kind = Cause.IDENTITY if someone else kind_of(slot._replace(earlier=slot.later))
        if kind is None and names_session(slot):
            kind = Cause.SESSION_VALUE
        if kind is not None:
            return Verdict(kind, slot)
    return None


def _labelled(text: str, start: int) -> Iterator[Slot]:
    """Yield a line cut behind what may be a label."""
    label = _LABEL.search(text)
    ends = [*([label.end()] if label else []), *address_ends(text)]
    for end in ends:
        value = text[end:].rstrip(_PUNCTUATION)
        if value.strip():
            yield Slot(text[:end], value, "", text[end + len(value) :], start)
