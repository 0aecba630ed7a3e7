"""From the stories of all requests to sums by cause and by group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.follow import Divergences
from kvaudit.analyzers.divergence.group import Group
from kvaudit.analyzers.divergence.parting import Parting
from kvaudit.analyzers.divergence.story import NO_GROUP
from kvaudit.analyzers.divergence.two_prompts import causes_of
from kvaudit.core.redact import shown
from kvaudit.core.why import Cause, CauseTotal, DivergenceGroup, Example, rule_of

DEFINITION = (
    "computed prompt tokens that an earlier request of the namespace has too, behind the place "
    "where the two part, in runs of 16 tokens or more, and that a cause other than new text kept "
    "from being shared; the tokens of all causes and the hits are the prompt tokens"
)
EXAMPLE_CHARS = 120
_OF_AMOUNT = {
    "evicted": (Cause.EVICTED, "a prefix that was evicted before it came back"),
    "expired": (Cause.EXPIRED, "a prefix that came back after its lifetime"),
    "elsewhere": (Cause.OTHER_REPLICA, "a prefix that another replica holds"),
    "parameter": (Cause.PARAMETER_CHANGE, "the same prefix with another parameter"),
}
"""Columns of what the cache, and not the text, kept from being shared; its cause, and a title."""


class Summary(NamedTuple):
    """What is reported of the counted requests."""

    requests: int
    prompt_tokens: int
    hit_tokens: int
    lost_tokens: int
    engine_rule_tokens: int
    causes: list[CauseTotal]
    groups: list[DivergenceGroup]
    numbers: list[int]
    """Theirs among the groups that were followed."""


def summary(found: Divergences, *, first_counted: int, show_text: bool) -> Summary:
    """Sum up the requests from ``first_counted`` on, in replay order."""
    columns = {name: values[first_counted:] for name, values in found.columns().items()}
    of = causes_of(found)
    of_none = [number for number, cause in of.items() if cause == Cause.FIRST_SEEN]
    columns["lost"] = np.where(np.isin(columns["group"], of_none), 0, columns["lost"])
    causes = _causes(of, columns)
    groups = _numbered(
        [
            *_groups(found, of, columns, show_text=show_text),
            *_of_the_cache(found, columns, first_counted),
        ]
    )
    return Summary(
        requests=len(columns["prompt"]),
        prompt_tokens=int(columns["prompt"].sum()),
        hit_tokens=int(columns["hit"].sum()),
        lost_tokens=sum(total.lost_tokens for total in causes),
        engine_rule_tokens=int(columns["rule"].sum()),
        causes=causes,
        groups=[group for _, group in groups],
        numbers=[number for number, _ in groups],
    )


def code_of(cause: Cause, position: str | None = None) -> str | None:
    """Return the code of the lint rule that finds a cause in a template."""
    rule = rule_of(cause, position)
    return None if rule is None else rule[0]


def _causes(of: dict[int, Cause], columns: dict[str, NDArray[np.int64]]) -> list[CauseTotal]:
    """Return the causes that were met, the most costly first, and new text last."""
    tokens: dict[Cause, list[int]] = {}
    for name, (cause, _) in _OF_AMOUNT.items():
        amount = columns[name]
        tokens[cause] = [int((amount > 0).sum()), int(amount.sum())]
    for number, cause in of.items():
        if cause == Cause.FIRST_SEEN:
            continue
        own = columns["group"] == number
        sums = tokens.setdefault(cause, [0, 0])
        sums[0] += int(own.sum())
        sums[1] += int(columns["lost"][own].sum())
    totals = [
        CauseTotal(
            cause=cause, code=code_of(cause), requests=requests, tokens=lost, lost_tokens=lost
        )
        for cause, (requests, lost) in tokens.items()
        if requests
    ]
    new = columns["prompt"] - columns["hit"] - columns["lost"]
    new = new - sum(columns[name] for name in _OF_AMOUNT)
    if new.any():
        totals.append(
            CauseTotal(
                cause=Cause.FIRST_SEEN,
                code=None,
                requests=int((new > 0).sum()),
                tokens=int(new.sum()),
                lost_tokens=0,
            )
        )
    return sorted(totals, key=lambda t: (-t.lost_tokens, t.cause))


def _groups(
    found: Divergences,
    of: dict[int, Cause],
    columns: dict[str, NDArray[np.int64]],
    *,
    show_text: bool,
) -> Iterator[tuple[int, DivergenceGroup]]:
    """Yield the groups that cost anything with their numbers, the most costly first."""
    requests = len(columns["prompt"])
    counted = []
    for group in found.groups.all:
        own = columns["group"] == group.number
        if own.any() and of[group.number] != Cause.FIRST_SEEN:
            counted.append((int(columns["lost"][own].sum()), int(own.sum()), group))
    counted.sort(key=lambda entry: (-entry[0], entry[2].number))
    for lost, met, group in counted:
        made = DivergenceGroup(
            id="",
            cause=of[group.number],
            code=code_of(of[group.number], group.position),
            requests=met,
            share=met / requests,
            lost_tokens=lost,
            position=group.position,
            template=group.title or shown(group.template, show_text=show_text),
            slot=_values(group, show_text=show_text),
            example=example_of(found, found.examples[group.number], show_text=show_text),
        )
        yield group.number, made


def _of_the_cache(
    found: Divergences, columns: dict[str, NDArray[np.int64]], first_counted: int
) -> Iterator[tuple[int, DivergenceGroup]]:
    """Yield a group for each cause that is the cache's, with the request that lost most by it."""
    for name, (cause, title) in _OF_AMOUNT.items():
        amount = columns[name]
        if not amount.any():
            continue
        story = found.story(first_counted + int(amount.argmax()))
        ids = found.ids(story.number, found.number_of(story.beside))
        made = DivergenceGroup(
            id="",
            cause=cause,
            code=code_of(cause),
            requests=int((amount > 0).sum()),
            share=int((amount > 0).sum()) / len(amount),
            lost_tokens=int(amount.sum()),
            position="history",
            template=title,
            slot="",
            example=Example(
                request=ids[0],
                relative=ids[1],
                role=None,
                message=None,
                a="",
                b="",
                offset_chars=None,
                offset_tokens=story.hit,
                resumes_tokens=None,
            ),
        )
        yield NO_GROUP, made


def _numbered(groups: list[tuple[int, DivergenceGroup]]) -> list[tuple[int, DivergenceGroup]]:
    """Return the groups with their ids, the most costly first."""
    groups.sort(key=lambda entry: -entry[1].lost_tokens)
    return [(n, replace(group, id=f"g{place}")) for place, (n, group) in enumerate(groups, 1)]


def _values(group: Group, *, show_text: bool) -> str:
    return " | ".join(
        shown(value.strip(), show_text=show_text) for value in group.values if value.strip()
    )


def example_of(found: Divergences, place: int, *, show_text: bool) -> Example:
    """Return the pair of a request and its relative; texts only as far as they may be shown."""
    story = found.story(place)
    pair = found.parting(story.number, story.relative) if story.chars >= 0 else None
    later, earlier = found.names(story)
    if pair is None:
        return Example(
            request=later,
            relative=earlier,
            role=None,
            message=None,
            a="",
            b="",
            offset_chars=None,
            offset_tokens=story.shared,
            resumes_tokens=None if story.resumes < 0 else story.resumes,
        )
    mine, yours = _excerpts(pair[2])
    return Example(
        request=later,
        relative=earlier,
        role=pair[2].role,
        message=None if pair[2].message is None else pair[2].message + 1,
        a=shown(mine, show_text=show_text),
        b=shown(yours, show_text=show_text),
        offset_chars=pair[2].chars,
        offset_tokens=story.shared,
        resumes_tokens=None if story.resumes < 0 else story.resumes,
    )


def _excerpts(where: Parting) -> tuple[str, str]:
    """Return both texts around the place where they part, from the beginning of the line on."""
    start = max(where.later.rfind("\n", 0, where.offset) + 1, where.offset - EXAMPLE_CHARS // 3)
    return where.later[start : start + EXAMPLE_CHARS], where.earlier[start : start + EXAMPLE_CHARS]
