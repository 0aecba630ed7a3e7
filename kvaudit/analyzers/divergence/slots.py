"""The line in which two texts part, cut into what both have and what differs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kvaudit.analyzers.divergence.spelling import squeezed
from kvaudit.analyzers.template.request_log.texts import shared_head

SLOT = "⟨…⟩"
_WORD = re.compile(r"[^\W\d]+|\d[\d.,:/T+-]*|\s+|[^\w\s]")
_DENSE = re.compile(r"[\u2e80-\ua4cf\uac00-\ud7af]")
_LINE_CHARS = 160
"""Of a longer line only what is this near to the slot is shown and compared."""
_ALIKE_CHARS = 12
"""A line as long as this does not come back by chance."""
_HEADING = re.compile(r"[^\W\d_]{3}|[\u2e80-\ua4cf\uac00-\ud7af]{2}")
_ROLES = frozenset(("system", "developer", "user", "human", "assistant", "tool"))
_WORD_END = re.compile(r"[\s:：=]|(?<=[\u2e80-\ua4cf])(?=\d)")
"""Chinese and Japanese write no space in front of a number."""
_RESUMES_WITHIN = 400
"""Lines after the parting in which the texts are searched for one they have in common."""


class Slot(NamedTuple):
    """The differing part of one line of two texts."""

    before: str
    """What both lines have in front of it."""
    later: str
    earlier: str
    after: str
    """What both lines have behind it."""
    start: int
    """Where it begins in the later text."""


def slot_at(later: str, earlier: str, offset: int) -> Slot:
    """Return the slot of the line in which two texts part at ``offset``."""
    start = later.rfind("\n", 0, offset) + 1
    mine, yours = line_at(later, start), line_at(earlier, start)
    head = shared_head(mine, yours)
    while head and _of_word(mine[head - 1]) and _goes_on(mine, yours, head):
        head -= 1  # begin at the beginning of a word
    a, b = mine[head:], yours[head:]
    tail = shared_head(a[::-1], b[::-1])
    while tail and _of_word(a[len(a) - tail]) and _begins_inside(a, b, tail):
        tail -= 1
    return Slot(
        before=mine[:head],
        later=a[: len(a) - tail],
        earlier=b[: len(b) - tail],
        after=a[len(a) - tail :],
        start=start + head,
    )


def _of_word(character: str) -> bool:
    """Whether words are parted by other characters; Chinese and Japanese write none between."""
    return character.isalnum() and not "\u2e80" <= character <= "\ua4cf"


def length(text: str) -> int:
    """Return how long a text is in characters of English; Chinese says the same in a third."""
    return len(text) + 2 * len(_DENSE.findall(text))


def _goes_on(mine: str, yours: str, head: int) -> bool:
    return any(len(t) > head and _of_word(t[head]) for t in (mine, yours))


def _begins_inside(a: str, b: str, tail: int) -> bool:
    return any(len(t) > tail and _of_word(t[len(t) - tail - 1]) for t in (a, b))


def line_at(text: str, start: int) -> str:
    """Return the line that begins at a character."""
    end = text.find("\n", start)
    return text[start : len(text) if end < 0 else end]


class Differing(NamedTuple):
    """The lines of two texts from where they part up to the first that both have."""

    later: list[str]
    earlier: list[str]
    before: str
    """The line in front, of some length, that both have; empty at the beginning."""
    after: str
    """The line they go on with; empty where they never do."""


def differing_lines(later: str, earlier: str, offset: int) -> Differing:
    """Return the lines that differ, without blank ones and those that both begin or end with.

    Lines that differ in white space only are the same here; short ones come back by chance, and
    count only where both texts have them once, as headings are, behind nothing else or one form.
    """
    start = later.rfind("\n", 0, offset) + 1
    mine, yours = (
        t[start:].split("\n", _RESUMES_WITHIN)[:_RESUMES_WITHIN] for t in (later, earlier)
    )
    theirs: dict[str, int] = {}
    for number, line in enumerate(yours):
        theirs.setdefault(squeezed(line), number)
    once = _met_once(mine) & _met_once(yours)
    before = _line_before(later, start)
    for number, line in enumerate(mine):
        bare = squeezed(line)
        there = theirs.get(bare)
        is_long = len(line.strip()) >= _ALIKE_CHARS
        if there is None or number == there == 0 or not (is_long or bare in once):
            continue
        ends = _without_ends(mine[:number], yours[:there])
        if is_long or not all(ends) or first_words(ends[0]) == first_words(ends[1]):
            return Differing(*ends, before, line.strip())
    return Differing(*_without_ends(mine, yours), before, "")


def _met_once(lines: Sequence[str]) -> set[str]:
    """Return the lines with a word in them that no other line repeats."""
    often = Counter(map(squeezed, lines))
    return {line for line, times in often.items() if times == 1 and _HEADING.search(line)}


def first_words(lines: Sequence[str]) -> list[str]:
    """Return what each line begins with: the lines of a form that is filled in begin alike."""
    return [_WORD_END.split(line.strip(), maxsplit=1)[0] for line in lines]


def _line_before(text: str, start: int) -> str:
    """Return the nearest line in front that is not blank, and not the role of a message."""
    head = text[max(0, start - 2 * _LINE_CHARS) : start].rstrip()
    line = head[head.rfind("\n") + 1 :].strip()
    is_role = "\n" not in head and line.lower() in _ROLES
    return line if len(line) >= 3 and not is_role else ""


def _without_ends(mine: list[str], yours: list[str]) -> tuple[list[str], list[str]]:
    """Return the lines without those that both begin or end with, and without blank ones."""
    one, other = ([line for line in lines if line.strip()] for lines in (mine, yours))
    while one and other and squeezed(one[0]) == squeezed(other[0]):
        del one[0], other[0]
    while one and other and squeezed(one[-1]) == squeezed(other[-1]):
        del one[-1], other[-1]
    return one, other


def words_of(slot: Slot) -> tuple[str, ...]:
    """Return the line's fixed words with slots between them; numbers are slots too."""
    words: list[str] = []
    before = _WORD.findall(slot.before[-_LINE_CHARS:])
    for word in (*before, SLOT, *_WORD.findall(slot.after[:_LINE_CHARS])):
        filled = word == SLOT or word[:1].isdigit()
        if not filled:
            words.append(word if word.strip() else " ")
        elif words[-2:] == [SLOT, " "]:
            words.pop()
        elif not words or words[-1] != SLOT:
            words.append(SLOT)
    return tuple(words)


def merged(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...] | None:
    """Return the template of both, if they are one: at least half of their words are in order."""
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, one, other, autojunk=False)
    blocks = matcher.get_matching_blocks()
    fixed = sum(
        1 for b in blocks for word in one[b.a : b.a + b.size] if word != SLOT and word != " "
    )
    most = max(sum(1 for w in words if w not in (SLOT, " ")) for words in (one, other))
    if fixed == 0 or 2 * fixed < most:
        return None
    words: list[str] = []
    at = (0, 0)
    for block in blocks:
        gap = (block.a, block.b) != at
        if gap and (not words or words[-1] != SLOT):
            words.append(SLOT)
        for word in one[block.a : block.a + block.size]:
            if word != SLOT or not words or words[-1] != SLOT:
                words.append(word)
        at = (block.a + block.size, block.b + block.size)
    return tuple(words)
