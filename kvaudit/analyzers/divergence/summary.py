"""From the stories of all requests to sums by cause and by group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.follow import Divergences
from kvaudit.analyzers.divergence.groups import Group
from kvaudit.analyzers.divergence.parting import Parting
from kvaudit.core.redact import shown
from kvaudit.core.why import RULES, Cause, CauseTotal, DivergenceGroup, Example

DEFINITION = (
    "computed prompt tokens that an earlier request of the namespace has too, behind the place "
    "where the two part, in runs of 16 tokens or more, and that a cause other than new text kept "
    "from being shared; the tokens of all causes and the hits are the prompt tokens"
)
EXAMPLE_CHARS = 120
_AMOUNTS = ("evicted", "expired", "elsewhere")
_OF_AMOUNT = {
    "evicted": Cause.EVICTED,
    "expired": Cause.EXPIRED,
    "elsewhere": Cause.OTHER_REPLICA,
}


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
    of_none = [g.number for g in found.groups.all if g.cause == Cause.FIRST_SEEN]
    columns["lost"] = np.where(np.isin(columns["group"], of_none), 0, columns["lost"])
    causes = _causes(found, columns)
    groups = list(_groups(found, columns, show_text=show_text))
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


def code_of(cause: Cause) -> str | None:
    """Return the code of the lint rule that finds a cause in a template."""
    return RULES[cause][0] if cause in RULES else None


def _causes(found: Divergences, columns: dict[str, NDArray[np.int64]]) -> list[CauseTotal]:
    """Return the causes that were met, the most costly first, and new text last."""
    tokens: dict[Cause, list[int]] = {}
    for name in _AMOUNTS:
        amount = columns[name]
        tokens[_OF_AMOUNT[name]] = [int((amount > 0).sum()), int(amount.sum())]
    for group in found.groups.all:
        if group.cause == Cause.FIRST_SEEN:
            continue
        own = columns["group"] == group.number
        sums = tokens.setdefault(group.cause, [0, 0])
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
    new = new - sum(columns[name] for name in _AMOUNTS)
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
    found: Divergences, columns: dict[str, NDArray[np.int64]], *, show_text: bool
) -> Iterator[tuple[int, DivergenceGroup]]:
    """Yield the groups that cost anything with their numbers, the most costly first."""
    requests = len(columns["prompt"])
    counted = []
    for group in found.groups.all:
        own = columns["group"] == group.number
        if own.any() and group.cause != Cause.FIRST_SEEN:
            counted.append((int(columns["lost"][own].sum()), int(own.sum()), group))
    counted.sort(key=lambda entry: (-entry[0], entry[2].number))
    for number, (lost, met, group) in enumerate(counted, 1):
        made = DivergenceGroup(
            id=f"g{number}",
            cause=group.cause,
            code=code_of(group.cause),
            requests=met,
            share=met / requests,
            lost_tokens=lost,
            position=group.position,
            template=group.title or shown(group.template, show_text=show_text),
            slot=_values(group, show_text=show_text),
            example=example_of(found, found.examples[group.number], show_text=show_text),
        )
        yield group.number, made


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
