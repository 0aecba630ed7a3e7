"""System texts of two requests: a value that changed, lines in another order, other white space."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kvaudit.analyzers.template.request_log.change import Change
from kvaudit.analyzers.template.request_log.request import Path, Record, Text
from kvaudit.analyzers.template.request_log.texts import (
    Changed,
    changes,
    one_prompt,
    same_but_for_space,
    shared_head,
)
from kvaudit.core.document import Origin, Position
from kvaudit.core.requests import SYSTEM_ROLES

_HEADER = re.compile(r"\s*(?:x-[a-z][\w-]*|[\w-]+-header)[ \t]*[:=]", re.IGNORECASE)
_EXAMPLE = re.compile(r"^\s*(?:example|q:|a:|input|output|user:|assistant:|question|answer)", re.I)
_PASSAGE = re.compile(
    r"^\s*(?:[\[【](?:[^\W\d_]{1,12}[ .#-]{0,2})?\d{1,4}[\]】]"  # [3], [Doc 3], 【文档3】
    r"|<(?:doc|document|passage|chunk|source)|(?:doc|source|score)\b)",
    re.I,
)
_OF_A_SESSION = (Origin.CLOCK, Origin.RANDOM)
_QUOTED = 12


def compare_system(
    earlier: Record, later: Record, *, same_session: bool, stood_still: bool = False
) -> Iterator[Change]:
    """Yield what changed in the system text; text of no known kind counts in a session only.

    ``stood_still`` says that the earlier text was the same over several turns of its session: a
    value in it is then the session's own.
    """
    if same_session:
        yield from _hoisted(earlier, later)
    pair = _Pair(earlier, later, same_session, stood_still)
    for index, (before, after) in enumerate(zip(earlier.system, later.system, strict=False)):
        if before.text == after.text:
            continue
        if not (
            one_prompt(before.text, after.text)
            or (same_session and _continues(earlier, later))
            or _HEADER.match(after.text)
        ):
            return
        yield from _text_changes(pair, before, after, first=index == 0)


class _Pair(NamedTuple):
    """Two requests, and what is known of how they belong together."""

    earlier: Record
    later: Record
    same_session: bool
    stood_still: bool


def _text_changes(pair: _Pair, before: Text, after: Text, *, first: bool) -> Iterator[Change]:
    """Yield what changed between a system text and the one in its place."""
    earlier, later = pair.earlier, pair.later
    if same_but_for_space(before.text, after.text):
        yield _drift(earlier, later, after.path, Position.SYSTEM)
        return
    kind = _reordering(before.text, after.text)
    if kind is not None:
        yield Change(
            earlier=earlier,
            later=later,
            path=after.path,
            kind=kind,
            start=_first_difference(before.text, after.text),
            end=len(after.text),
            detail="the same lines in another order",
        )
        return
    transport = first and _HEADER.match(after.text) is not None
    for changed in changes(before.text, after.text) or _as_one(before.text, after.text):
        origin = _in_a_pair(_origin(changed, after.text, transport=transport), changed, pair)
        if origin is not None:
            yield Change(
                earlier=earlier,
                later=later,
                path=after.path,
                origin=origin,
                start=changed.start,
                end=changed.end,
                was=changed.old,
            )


def _in_a_pair(origin: Origin | None, changed: Changed, pair: _Pair) -> Origin | None:
    """Return what a change means between two requests; None for nothing."""
    if origin is None and _asked(changed.new, pair.later):
        return Origin.USER_INPUT
    if pair.same_session:
        return origin or Origin.LIVE_STATE
    if pair.stood_still and origin in _OF_A_SESSION:
        return Origin.SESSION
    return None if origin is Origin.COUNTER else origin


def _hoisted(earlier: Record, later: Record) -> Iterator[Change]:
    """Yield a system text that stood among the messages before, and now stands at the head."""
    late = {t.text for m in earlier.messages if m.role in SYSTEM_ROLES for t in m.texts}
    for text in later.system:
        if text.text in late:
            yield Change(
                earlier=earlier,
                later=later,
                path=text.path,
                kind="system-hoisted",
                detail="it stood among the messages of the request before",
            )


def _origin(changed: Changed, text: str, *, transport: bool) -> Origin | None:
    line_end = text.lstrip().find("\n")
    if transport and (line_end < 0 or changed.start <= line_end):
        return Origin.TRANSPORT
    return changed.origin


def _continues(earlier: Record, later: Record) -> bool:
    """Whether the conversation behind the system text is the same, so that it is one prompt."""
    if not earlier.messages or len(later.messages) <= len(earlier.messages):
        return False
    return earlier.messages[0].said == later.messages[0].said


def _as_one(before: str, after: str) -> list[Changed]:
    """Return all that lies between the common beginning and the common end."""
    head = shared_head(before, after)
    tail = shared_head(before[head:][::-1], after[head:][::-1])
    start, end = head, max(len(after) - tail, head)
    return [
        Changed(
            start=start,
            end=end,
            old=before[head : len(before) - tail],
            new=after[start:end],
            origin=None,
        )
    ]


def _asked(text: str, record: Record) -> bool:
    """Whether a text of the system message is the user's newest one."""
    said = [m.said for m in record.messages if m.role in ("user", "human")]
    return bool(said) and len(text.strip()) >= _QUOTED and text.strip() in said[-1]


def is_example(text: str) -> bool:
    """Whether a line begins as an example does."""
    return _EXAMPLE.match(text) is not None


def is_passage(text: str) -> bool:
    """Whether a line begins as something retrieved does."""
    return _PASSAGE.match(text) is not None


def _drift(earlier: Record, later: Record, path: Path, position: Position) -> Change:
    return Change(
        earlier=earlier,
        later=later,
        path=path,
        kind="whitespace-drift",
        detail="the text is that of the request before but for white space or Unicode form",
        position=position,
    )


def _reordering(before: str, after: str) -> str | None:
    """Return what it means that two texts have the same lines in another order."""
    mine, yours = _lines(before), _lines(after)
    if len(mine) < 2 or sorted(mine) != sorted(yours) or mine == yours:
        return None
    moved = [line for line, other in zip(yours, mine, strict=True) if line != other]
    if any(_EXAMPLE.match(line) for line in moved):
        return "shuffled-examples"
    return "retrieval-order" if any(_PASSAGE.match(line) for line in moved) else "discovery-order"


def compare_examples(earlier: Record, later: Record) -> Iterator[Change]:
    """Yield examples that stand in another order in the only message of two requests."""
    if len(earlier.messages) != 1 or len(later.messages) != 1:
        return
    for before, after in zip(earlier.messages[0].texts, later.messages[0].texts, strict=False):
        known = set(_blocks(before.text))
        yours = [block for block in _blocks(after.text) if block in known]
        mine = [block for block in _blocks(before.text) if block in set(yours)]
        if len(mine) > 1 and mine != yours and any(_EXAMPLE.match(block) for block in yours):
            moved = next(b for a, b in zip(mine, yours, strict=False) if a != b)
            start = after.text.find(moved)
            yield Change(
                earlier=earlier,
                later=later,
                path=after.path,
                kind="shuffled-examples",
                start=start,
                end=start + len(moved),
                detail=f"the same {len(yours)} examples as in the request before, in another order",
                position=Position.FEWSHOT,
            )


def _blocks(text: str) -> list[str]:
    return [block.strip() for block in text.split("\n\n") if block.strip()]


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _first_difference(before: str, after: str) -> int:
    at = next(
        (i for i, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), 0
    )
    return after.rfind("\n", 0, at) + 1
