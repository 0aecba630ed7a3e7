"""What one request's story is made of, from what was followed of the whole log."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.follow import Divergences
from kvaudit.analyzers.divergence.group import Group
from kvaudit.analyzers.divergence.story import NO_GROUP, Story
from kvaudit.analyzers.divergence.two_prompts import causes_of
from kvaudit.core.story import Evictions, Evictor, Part
from kvaudit.core.why import Cause

_MOST = 3


class Told(NamedTuple):
    """A request among the others."""

    story: Story
    group: Group | None
    """None where it parts as two conversations do, or from nothing."""
    relative: int
    """Place of the request it has most in common with; -1 where there is none."""
    shared: int
    """Tokens of the prefix that it has with that one."""


def told(found: Divergences, place: int) -> Told:
    """Return what is known of the request at a place of the replay."""
    story = found.story(place)
    group = found.groups.all[story.group] if story.group != NO_GROUP else None
    if group is not None and causes_of(found)[group.number] == Cause.FIRST_SEEN:
        group = None
    if group is not None and story.kin >= 0:
        return Told(story, group, story.kin, story.shared)
    return Told(story, None, story.beside, min(story.near, story.prompt))


def parts_of(told: Told) -> list[Part]:
    """Return the request's tokens by what became of them; what there is none of is left out."""
    story = told.story
    lost = story.lost if told.group is not None else 0
    amounts: list[tuple[str, int]] = [
        ("hit", story.hit),
        (Cause.EXPIRED, story.expired),
        (Cause.PARAMETER_CHANGE, story.parameter),
        (Cause.OTHER_REPLICA, story.elsewhere),
        (Cause.EVICTED, story.evicted),
        (told.group.cause if told.group is not None else "", lost),
    ]
    rest = story.prompt - sum(tokens for _, tokens in amounts)
    amounts.append((Cause.FIRST_SEEN, rest))
    return [Part(what=str(what), tokens=tokens) for what, tokens in amounts if tokens]


def evictions_between(
    found: Divergences, earlier: int, later: int, evicted_blocks: NDArray[np.int64]
) -> Evictions:
    """Return what made room from an earlier request on until a later one was looked up."""
    between = evicted_blocks[earlier + 1 : later]
    most = np.argsort(-between, kind="stable")[:_MOST].tolist()
    return Evictions(
        requests=len(between),
        evicted_blocks=int(between.sum()),
        most=[
            Evictor(
                request=found.ids(found.number_of(earlier + 1 + at), -1)[0],
                evicted_blocks=int(between[at]),
            )
            for at in most
            if between[at]
        ],
    )
