"""Messages of two requests of a session: is the earlier conversation still there, as it was?"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from kvaudit.analyzers.template.request_log.change import Change
from kvaudit.analyzers.template.request_log.cuts import messages_cut, says_the_same
from kvaudit.analyzers.template.request_log.request import Message, Path, Record, Text
from kvaudit.analyzers.template.request_log.texts import (
    alike,
    changes,
    same_but_for_space,
    without_files,
)
from kvaudit.core.document import Evidence, Origin, Position

TRIMMED = "trimmed"
"""Kind of a change that is a fault only where it happens again and again."""
_RESEMBLES = 0.4
_COMPACTED = 0.6
"""A history that lost more than the rest of this share was compacted, which is done rarely."""


def compare_messages(earlier: Record, later: Record) -> Iterator[Change]:
    """Yield what happened to the messages that the earlier request had."""
    before, after = earlier.messages, later.messages
    at = next(
        (i for i, pair in enumerate(zip(before, after, strict=False)) if not says_the_same(*pair)),
        None,
    )
    if at is None:
        yield from _quietly_changed(earlier, later)
        return
    if at == len(after) - 1 and len(after) <= len(before):
        return  # the user wrote the newest message again, or went back
    moved = _moved(before, after, at)
    if moved is not None:
        yield _rewritten(earlier, later, at, moved)
        return
    cut = messages_cut(before, after, at)
    if cut:
        size, was = _size(after), _size(before)
        shallow = size > _COMPACTED * was
        yield Change(
            earlier=earlier,
            later=later,
            path=after[at].path,
            kind=TRIMMED,
            detail=f"{cut} of {len(before)} messages of the request before are gone"
            + ("" if shallow else ", more than half of the text"),
            position=Position.HISTORY,
            lost=size,
        )
        return
    yield from _changed_message(earlier, later, at)


def _quietly_changed(earlier: Record, later: Record) -> Iterator[Change]:
    """What is said is the same; what was thought, or how it is written, may not be."""
    for mine, yours in zip(earlier.messages, later.messages, strict=False):
        if mine.thoughts and not yours.thoughts:
            yield Change(
                earlier=earlier,
                later=later,
                path=yours.path,
                kind="reasoning-stripped",
                detail="the request before had its reasoning",
                position=Position.HISTORY,
            )
            return
        if mine.one_string is not yours.one_string and not (mine.marked or yours.marked):
            yield Change(
                earlier=earlier,
                later=later,
                path=yours.path,
                kind="history-rewritten",
                detail="it was one string and is a list of blocks, or the other way round",
                position=Position.HISTORY,
                evidence=Evidence.NAME,
            )
            return


def _moved(before: Sequence[Message], after: Sequence[Message], at: int) -> str | None:
    """Say whether the messages are all still there, but not where they were."""
    mine = Counter((m.role, m.said) for m in before[at:])
    yours = Counter((m.role, m.said) for m in after[at:])
    if mine - yours:
        return None
    if (before[at].role, before[at].said) == (after[at].role, after[at].said):
        return None
    return f"{_quoted(before[at])} stood here, and now stands later"


def _changed_message(earlier: Record, later: Record, at: int) -> Iterator[Change]:
    mine, yours = earlier.messages[at], later.messages[at]
    if mine.role != yours.role:
        if at > 0:
            yield _rewritten(earlier, later, at, f"{_quoted(mine)} stood here")
        return
    call = _same_call(mine, yours)
    if call is not None:
        yield Change(
            earlier=earlier,
            later=later,
            path=call[1].path,
            kind="arguments-rewritten",
            detail=f"the model wrote {_short(call[0].text)}",
            position=Position.HISTORY,
            was=call[0].text,
        )
        return
    if same_but_for_space(mine.said, yours.said):
        yield Change(
            earlier=earlier,
            later=later,
            path=_changed_text(mine, yours).path,
            kind="whitespace-drift",
            detail="a message is that of the request before but for white space or Unicode form",
            position=Position.HISTORY,
        )
        return
    likeness = alike(without_files(mine.said), without_files(yours.said))
    if at == 0 and likeness < _RESEMBLES and not _with_addition(mine, yours):
        return  # another conversation
    yield from _rewritten_text(earlier, later, at)


def _rewritten_text(earlier: Record, later: Record, at: int) -> Iterator[Change]:
    mine, yours = earlier.messages[at], later.messages[at]
    text = _changed_text(mine, yours)
    was = next(
        (t.text for t, n in zip(mine.parts, yours.parts, strict=False) if t.text != n.text), ""
    )
    found = changes(was, text.text)
    if found and all(changed.origin is Origin.SIGNED_URL for changed in found):
        yield Change(
            earlier=earlier,
            later=later,
            path=text.path,
            kind="signed-address",
            start=found[0].start,
            end=found[0].end,
            was=found[0].old,
            detail="it was signed or encoded otherwise when it was sent",
            position=Position.HISTORY,
            lost=_size(earlier.messages[at:]),
        )
        return
    for changed in found:
        if changed.origin is not None and yours.role != "tool" and not yours.results:
            yield Change(
                earlier=earlier,
                later=later,
                path=text.path,
                origin=changed.origin,
                start=changed.start,
                end=changed.end,
                was=changed.old,
                position=Position.HISTORY,
            )
    gone = next((c for c in found if c.old.strip()), found[0] if found else None)
    detail = "it was sent otherwise before"
    if gone is not None:
        detail = (
            f"{_short(gone.old)} stood in it when it was sent"
            if not gone.new.strip()
            else f"{_short(gone.new)} was not in it when it was sent"
            if not gone.old.strip()
            else f"{_short(gone.old)} became {_short(gone.new)}"
        )
    yield _rewritten(earlier, later, at, detail, path=text.path, was=was)


def _same_call(mine: Message, yours: Message) -> tuple[Text, Text] | None:
    """Return the arguments of a call that are the same value in other bytes."""
    said = [t.text for t in (*mine.texts, *mine.others)]
    if said != [t.text for t in (*yours.texts, *yours.others)] or len(mine.calls) != len(
        yours.calls
    ):
        return None
    for before, after in zip(mine.calls, yours.calls, strict=True):
        if before.text != after.text:
            try:
                same = bool(json.loads(before.text) == json.loads(after.text))
            except (ValueError, RecursionError):
                return None
            return (before, after) if same else None
    return None


def _with_addition(mine: Message, yours: Message) -> bool:
    """Whether one of two texts is the other with something put before or behind it."""
    short, long = sorted((mine.said.strip(), yours.said.strip()), key=len)
    rest = long.removeprefix(short) if long.startswith(short) else long.removesuffix(short)
    return bool(short) and rest != long and (not rest[:1].isalnum() or len(short) > 20)


def resembles(mine: Message, yours: Message) -> bool:
    """Whether two messages are one, perhaps written anew."""
    if mine.role != yours.role:
        return False
    return (
        mine.said == yours.said
        or _with_addition(mine, yours)
        or alike(mine.said, yours.said) >= _RESEMBLES
        or _same_call(mine, yours) is not None
    )


def _rewritten(
    earlier: Record,
    later: Record,
    at: int,
    detail: str,
    *,
    path: Path | None = None,
    was: str = "",
) -> Change:
    return Change(
        earlier=earlier,
        later=later,
        path=path or _first_path(later.messages[at]),
        kind="history-rewritten",
        detail=f"in message {at + 1}, {detail}",
        was=was,
        position=Position.HISTORY,
        lost=_size(earlier.messages[at:]),
    )


def _first_path(message: Message) -> Path:
    parts = message.parts
    return parts[0].path if parts else message.path


def _changed_text(mine: Message, yours: Message) -> Text:
    for before, after in zip(mine.parts, yours.parts, strict=False):
        if before.text != after.text:
            return after
    return next(iter(yours.parts), Text(text="", path=yours.path))


def _size(messages: Sequence[Message]) -> int:
    return sum(len(message.said) for message in messages)


def _quoted(message: Message) -> str:
    return _short(message.said) if message.said.strip() else f"a message of the {message.role}"


def _short(text: str, limit: int = 40) -> str:
    flat = " ".join(text.replace("\x00", " ").split())
    return repr(flat if len(flat) <= limit else f"{flat[: limit - 1]}…")
