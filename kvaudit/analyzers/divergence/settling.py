"""What running text in front of fixed text has cost, once all requests are known.

While a log is followed, a request is compared with those before it, and what comes again in one of
them may be a passage. Which text is fixed, the whole group shows: only that was lost to passages or
to the user's words in front of it. A request that begins with passages of another tenant's request
has that one as its nearest; it belongs to the group of those that begin as it does.
"""

from __future__ import annotations

from math import inf
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.fingerprints import common_units, repeated
from kvaudit.analyzers.divergence.fixed_text import OF_ITS_KIND, FixedText
from kvaudit.analyzers.divergence.follow import LEAST_LOST, Divergences
from kvaudit.analyzers.divergence.relatives import GRAM
from kvaudit.analyzers.divergence.story import NO_GROUP, Story
from kvaudit.analyzers.divergence.verdict import CONTENT
from kvaudit.core.why import Cause

_COMPARED = 3
"""Earlier requests of the same kind of which the one with most in common is taken."""
_HALF = 0.5
"""Share of what comes again that is fixed where running text stands in front of fixed text."""
_MOSTLY = 0.6
"""Share of the requests, by what they lost, that must show such text."""
_SMALL = 8


class _Earlier(NamedTuple):
    """An earlier request, with what it has of the fixed text."""

    place: int
    shared: int
    again: NDArray[np.bool_]


class _Settled(NamedTuple):
    """A request's story, and what it is once the fixed text is known; None where that is not."""

    place: int
    before: Story
    after: Story | None


def settle(found: Divergences) -> None:
    """Correct what was lost to running text, and who belongs to such a group.

    What two requests of a session have in common behind such text was sent again, and stays
    counted.
    """
    columns, sessions = found.columns(), found.sessions()
    texts = _fixed_texts(found, columns)
    groups = columns["group"].copy()
    settled: dict[int, list[_Settled]] = {}
    for place in range(len(found)) if texts else ():
        number = _group_of(place, groups, columns)
        story = found.story(place)
        if number not in texts:
            continue
        own = story.kin >= 0 and sessions[place] is not None
        if own and sessions[place] == sessions[story.kin]:
            found.tell(place, _sent_again(found, texts[number], place, story))
            continue
        after = _settled(found, texts[number], place, story)
        if story.group != NO_GROUP or (after is not None and after.lost >= LEAST_LOST):
            groups[place] = number
            settled.setdefault(number, []).append(_Settled(place, story, after))
    for numbers in _sets(settled):
        members = [(number, each) for number in numbers for each in settled[number]]
        least = _least_lost([each for _, each in members])
        for number, each in members:
            after = each.after or each.before
            stays = after.lost >= (LEAST_LOST if each.after and least < inf else least)
            told = after._replace(group=number) if stays else _alone(found, each.before)
            found.tell(each.place, told)


def _sets(settled: dict[int, list[_Settled]]) -> list[list[int]]:
    """Return the groups one by one, but small ones together."""
    small = [number for number, members in settled.items() if len(members) < _SMALL]
    return [[number] for number in settled if number not in small] + ([small] if small else [])


def _least_lost(members: list[_Settled]) -> float:
    """Return what a request must have lost that is like no other: most of what others have.

    Nothing counts where little of what comes again is fixed: those are passages behind the rules.
    """
    known = [(each.before, each.after) for each in members if each.after is not None]
    # A few requests with all of the rules behind their passages say more than many with a sentence.
    weights = [before.lost**2 for before, _ in known]
    fixed = [after.lost >= _HALF * before.lost for before, after in known]
    shown = sum(weight for weight, is_fixed in zip(weights, fixed, strict=True) if is_fixed)
    if shown < _MOSTLY * sum(weights):
        return inf
    return _MOSTLY * median([after.lost for _, after in known if after.lost >= LEAST_LOST] or [0])


def _group_of(place: int, groups: NDArray[np.int64], columns: dict[str, NDArray[np.int64]]) -> int:
    """Return the group of a request; of one without, that of those which begin as it does."""
    beside = int(columns["beside"][place])
    if groups[place] != NO_GROUP or beside < 0:
        return int(groups[place])
    inside = columns["shared"][beside] <= columns["near"][place]
    return int(groups[beside]) if inside else NO_GROUP


def _fixed_texts(found: Divergences, columns: dict[str, NDArray[np.int64]]) -> dict[int, FixedText]:
    """Return the fixed text for every group of running text: of all that stand at its place."""
    places: dict[str, list[int]] = {}
    for group in found.groups.all:
        cause = group.cause
        if cause in CONTENT or (cause is Cause.UNCLASSIFIED and group.words):
            places.setdefault(group.position, []).append(group.number)
    texts = {}
    for numbers in places.values():
        members = np.flatnonzero(np.isin(columns["group"], numbers))
        texts.update(dict.fromkeys(numbers, FixedText(found.relatives, members, columns)))
    return texts


def _settled(found: Divergences, text: FixedText, place: int, story: Story) -> Story | None:
    """Return a story with what an earlier request had of the fixed text; None where unknown."""
    near, prompt = story.near, found.relatives.prompt(place)
    fixed = text.of(place, near)
    if fixed is None or fixed.common < OF_ITS_KIND * story.lost:
        return None  # its relative is of another kind than all others of its group
    own = [story.kin] if story.group != NO_GROUP else []
    best = None
    for other in (*own, *[each for each in fixed.kind if each < place][:_COMPARED]):
        theirs = found.relatives.prompt(other)
        common = common_units(prompt, theirs)
        again = repeated(prompt[near:], theirs[common:], GRAM) & fixed.units
        if best is None or again.sum() > best.again.sum():
            best = _Earlier(other, common, again)
    if best is None:
        return None
    inside, rule = story.inside_block(found.block_size)
    settled = story._replace(lost=inside + int(best.again.sum()), rule=rule)
    if story.group != NO_GROUP:
        return settled
    return settled._replace(
        kin=best.place,
        relative=found.number_of(best.place),
        shared=best.shared,
        resumes=near - best.shared + int(best.again.argmax()) if best.again.any() else -1,
        chars=-1,
    )


def _sent_again(found: Divergences, text: FixedText, place: int, story: Story) -> Story:
    """Return the story of a request that has the rest from the one before it in its session.

    What both have in front of the fixed text are passages that were found twice.
    """
    near, prompt = story.near, found.relatives.prompt(place)
    behind = text.begin(place, near, near) - near
    if story.group == NO_GROUP or not behind:
        return story
    theirs = found.relatives.prompt(story.kin)
    again = repeated(prompt[near:], theirs[common_units(prompt, theirs) :], GRAM)
    twice = int(again[:behind].sum())
    return story._replace(lost=max(story.lost - twice, 0))


def _alone(found: Divergences, story: Story) -> Story:
    """Return the story of a request that lost nothing: it parts inside a block, as new ones do."""
    return story._replace(group=NO_GROUP, lost=0, rule=story.inside_block(found.block_size)[1])
