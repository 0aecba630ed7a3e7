"""From a diagnosed log to the story of one of its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvaudit.analyzers.divergence.summary import code_of, example_of
from kvaudit.analyzers.divergence.telling import Told, evictions_between, parts_of, told
from kvaudit.commands import inputs
from kvaudit.commands.what_if import Fault, WhatIfs, fault_of_group
from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import nearest
from kvaudit.core.redact import shown
from kvaudit.core.story import StoryReport
from kvaudit.core.summaries import Note
from kvaudit.core.why import Cause, WhatIf

if TYPE_CHECKING:
    from kvaudit.commands.diagnosis import Diagnosis


def place_of(diagnosis: Diagnosis, request: str) -> int:
    """Return a request's place in the replay. Raises `UsageError` with the nearest ids."""
    ids = _ids(diagnosis)
    if request in ids:
        return ids.index(request)
    near = nearest(request, ids)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    if not near and ids:
        hint = f"; ids are such as {ids[0]} and {ids[-1]}"
    raise UsageError(
        f"--explain {request}: none of the {len(ids):,} replayed requests has this id{hint}"
    )


def _ids(diagnosis: Diagnosis) -> list[str]:
    return [facts.id for batch in diagnosis.recording.batches for facts in batch.requests]


def story_of(
    diagnosis: Diagnosis, request: str, *, show_text: bool, fixes: int | None
) -> StoryReport:
    """Return the story of a request; texts of the log only where they may be shown."""
    result, found = diagnosis.result, diagnosis.found
    if result is None:
        raise UsageError(f"--explain {request}: no request of the log could be replayed")
    place = place_of(diagnosis, request)
    tale = told(found, place)
    story, group = tale.story, tale.group
    parts = parts_of(tale)
    unseen = sum(part.tokens for part in parts if part.what == Cause.FIRST_SEEN)
    apart = group is not None and story.kin >= 0
    return StoryReport(
        log=inputs.log_summary(diagnosis.source, diagnosis.prompts, result),
        engine=result.engine,
        request=request,
        place=place + 1,
        prompt_tokens=story.prompt,
        parts=parts,
        could_hit_tokens=story.prompt - unseen,
        cause=group.cause if group is not None else None,
        code=code_of(group.cause, group.position) if group is not None else None,
        relative=found.ids(found.number_of(tale.relative), -1)[0] if tale.relative >= 0 else None,
        requests_since=place - tale.relative - 1 if tale.relative >= 0 else None,
        shared_tokens=tale.shared,
        template="" if group is None else group.title or shown(group.template, show_text=show_text),
        example=example_of(found, place, show_text=show_text) if apart else None,
        evictions=evictions_between(found, tale.relative, place, diagnosis.recording.evicted())
        if story.evicted and tale.relative >= 0
        else None,
        what_if=None if fixes == 0 else _what_if(diagnosis, tale),
        notes=[*_same_id(diagnosis, request), *diagnosis.source.notes()],
    )


def _same_id(diagnosis: Diagnosis, request: str) -> list[Note]:
    """Return a note where several requests have the id that was asked for."""
    count = _ids(diagnosis).count(request)
    if count == 1:
        return []
    text = f"{count:,} replayed requests have the id {request}; this is the first of them"
    return [Note(topic="explain", text=text, count=count)]


def _what_if(diagnosis: Diagnosis, tale: Told) -> WhatIf | None:
    """Return what the fix of the request's largest loss would bring to the whole log."""
    losses = {
        part.what: part.tokens
        for part in parts_of(tale)
        if part.what not in ("hit", Cause.FIRST_SEEN)
    }
    if not losses:
        return None
    most = max(losses, key=lambda what: losses[what])
    what_ifs = WhatIfs(diagnosis, diagnosis.recording)
    if tale.group is not None and most == tale.group.cause:
        return what_ifs.of(fault_of_group(tale.group.cause, tale.group.position))
    return what_ifs.of(Fault(Cause(most), "history"))
