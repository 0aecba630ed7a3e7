"""From a draft to a document: segments with positions, hazards as observations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kvaudit.analyzers.profile import MIN_STABLE_TOKENS
from kvaudit.analyzers.sizes import estimate_tokens
from kvaudit.analyzers.source.parts import Hazard
from kvaudit.analyzers.source.python.engine import Engine, Phase, aged
from kvaudit.analyzers.source.python.providers import model_of, provider_of
from kvaudit.analyzers.source.python.sinks import Draft, Entry
from kvaudit.analyzers.source.python.values import Part
from kvaudit.core.document import (
    Document,
    Evidence,
    Marker,
    Observation,
    Origin,
    Position,
    Segment,
    Volatility,
)

_EXAMPLES = re.compile(r"example|few_?shots?|\bshots?\b|exemplar|demonstration", re.IGNORECASE)
_SHARED = (Position.TOOLS, Position.SYSTEM, Position.FEWSHOT, Position.HISTORY)


def document(engine: Engine, draft: Draft) -> Document:
    """Return the document of a draft."""
    segments: list[Segment] = []
    hazards: dict[tuple[str, int], tuple[Hazard, Position, int]] = {}
    markers: list[Marker] = []
    for block, entry in enumerate(draft.entries):
        for part in _parts(draft, entry):
            segments.append(_segment(part, entry.position, block))
            for hazard in part.hazards:
                key = (hazard.kind, hazard.span.start)
                hazards.setdefault(key, (hazard, entry.position, len(segments)))
        if entry.marked and entry.at is not None:
            source, span = entry.at
            markers.append(Marker(source=source, span=span, block=block, ttl=entry.ttl))
    return Document(
        source=engine.module.source,
        kind="python",
        name=draft.name,
        segments=segments,
        observations=[
            _observation(hazard, position)
            for hazard, position, behind in hazards.values()
            if position in _SHARED
            and (draft.role_known or _fixed(segments[behind:]) or _are_examples(draft, hazard))
        ],
        markers=markers,
        provider=provider_of(engine, draft),
        model=model_of(draft),
        multi_turn=draft.multi_turn and _goes_on(draft, segments),
        low_stakes=draft.unit.main,
    )


def _are_examples(draft: Draft, hazard: Hazard) -> bool:
    """Whether what is drawn anew are the examples, which are then lost themselves."""
    written = hazard.source.text[hazard.span.start : hazard.span.end]
    return hazard.kind == "shuffled-examples" and bool(
        _EXAMPLES.search(written) or _EXAMPLES.search(draft.name)
    )


def _goes_on(draft: Draft, segments: Sequence[Segment]) -> bool:
    """Whether to reckon with further turns: they are seen, or what changes was followed.

    A name alone does not say that a text is put together again on every turn.
    """
    if any(entry.position is Position.HISTORY for entry in draft.entries):
        return True
    return any(
        segment.volatility >= Volatility.DAY
        and (segment.trail or segment.evidence is not Evidence.NAME)
        for segment in segments
    )


def _fixed(segments: Sequence[Segment]) -> bool:
    """Whether enough fixed text follows to be lost."""
    texts = [segment.text for segment in segments if segment.text is not None]
    return sum(map(estimate_tokens, texts)) >= MIN_STABLE_TOKENS


def _parts(draft: Draft, entry: Entry) -> list[Part]:
    value = entry.value if draft.unit.phase is Phase.CALL else aged(entry.value, draft.unit.phase)
    return [_counted(draft, entry, part) for part in value.printed if part.text != ""]


def _counted(draft: Draft, entry: Entry, part: Part) -> Part:
    """Return a part; a count of a loop that the request stands outside of is fixed.

    So is one in a message that stays in the history, and what is only named like a count where
    no earlier turns are sent.
    """
    if part.origin is not Origin.COUNTER:
        return part
    stored = entry.position > Position.SYSTEM
    by_name = part.evidence is Evidence.NAME and not any(
        entry.position is Position.HISTORY for entry in draft.entries
    )
    if stored or by_name or (part.loop is not None and part.loop not in draft.loops):
        return replace(part, origin=Origin.UNKNOWN, volatility=Volatility.CONSTANT)
    return part


def _segment(part: Part, position: Position, block: int) -> Segment:
    return Segment(
        source=part.source,
        span=part.span,
        position=position,
        text=part.text,
        expression=part.expression,
        origin=part.origin,
        volatility=part.volatility,
        evidence=part.evidence,
        tokens=part.tokens,
        block=block,
        trail=part.trail,
    )


def _observation(hazard: Hazard, position: Position) -> Observation:
    return Observation(
        kind=hazard.kind,
        source=hazard.source,
        span=hazard.span,
        detail=hazard.detail,
        position=position,
    )
