"""From a draft to a document: segments with positions, hazards as observations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kvaudit.analyzers.profile import MIN_STABLE_TOKENS
from kvaudit.analyzers.sizes import estimate_tokens
from kvaudit.analyzers.source.parts import Hazard
from kvaudit.analyzers.source.python.builders import named_builder
from kvaudit.analyzers.source.python.drafts import Draft, Entry
from kvaudit.analyzers.source.python.engine import Engine, Phase, aged
from kvaudit.analyzers.source.python.providers import model_of, provider_of
from kvaudit.analyzers.source.python.sinks import makes_agent
from kvaudit.analyzers.source.python.values import Part
from kvaudit.core.document import (
    Document,
    Evidence,
    Marker,
    Observation,
    Origin,
    Position,
    Segment,
    Step,
    Volatility,
)
from kvaudit.core.doubt import Doubt
from kvaudit.core.sources import Source, Span
from kvaudit.cost.providers.facts import DEFAULT_MINIMUM

_EXAMPLES = re.compile(r"example|few_?shots?|\bshots?\b|exemplar|demonstration", re.IGNORECASE)
_OF_ONE_ROW = 8
"""Tokens of text between the number of a row and what is listed there: ``[1] Memory: ``."""
_SENDS_AS_IT_IS = ("messages.create", "messages.stream")
_SHARED = (Position.TOOLS, Position.SYSTEM, Position.FEWSHOT, Position.HISTORY)


def document(engine: Engine, draft: Draft) -> Document:
    """Return the document of a draft."""
    segments: list[Segment] = []
    hazards: dict[tuple[str, int], tuple[Hazard, Position, int]] = {}
    filled: dict[tuple[str, int], Volatility] = {}
    markers: list[Marker] = []
    for block, entry in enumerate(draft.entries):
        for part in _parts(draft, entry):
            segments.append(_segment(part, entry.position, block))
            if (hole := _hole_of_file(engine, part)) is not None:
                filled[hole] = max(part.volatility, filled.get(hole, part.volatility))
            for hazard in part.hazards:
                key = (hazard.kind, hazard.span.start)
                hazards.setdefault(key, (hazard, entry.position, len(segments) - 1))
        if entry.marked and entry.at is not None:
            source, span = entry.at
            markers.append(Marker(source=source, span=span, block=block, ttl=entry.ttl))
    return Document(
        source=engine.module.source,
        kind="python",
        name=draft.name,
        segments=segments,
        observations=[
            replace(
                _observation(hazard, position, segments[at]),
                unseen=_unseen_of_order(hazard, position, segments, at),
            )
            for hazard, position, at in hazards.values()
            if _costs(draft, hazard, position, segments, at)
        ],
        markers=markers,
        provider=provider_of(engine, draft),
        model=model_of(draft),
        multi_turn=draft.multi_turn and _goes_on(draft, segments),
        low_stakes=draft.unit.main,
        request=_request(engine, draft),
        sent=draft.sent,
        filled=filled,
        builder=named_builder(draft.unit) if draft.call is None else None,
    )


def _costs(
    draft: Draft, hazard: Hazard, position: Position, segments: Sequence[Segment], at: int
) -> bool:
    """Whether an order that changes keeps something from being shared.

    What is found for one question differs with it in any order: only text behind it is lost. Nor
    does the order of a set matter whose elements differ anyway.
    Behind what differs anyway nothing is, in a text that may be any turn's.
    """
    behind = segments[at + 1 :]
    lost = _fixed(behind)
    if hazard.kind == "retrieval-order":
        turns = any(segment.position is Position.HISTORY for segment in behind)
        return position in _SHARED and (lost or turns)
    if any(
        s.volatility >= Volatility.TURN and s.evidence is not Evidence.NAME for s in segments[:at]
    ):
        return False
    if hazard.kind == "set-order" and _differs_from(segments, at):
        return False
    if position in _SHARED:
        first = all(segment.volatility < Volatility.IDENTITY for segment in segments[:at])
        return draft.role_known or (lost and first) or _are_examples(draft, hazard)
    drawn = hazard.kind == "shuffled-examples" and position is Position.NEWEST
    return drawn and not draft.multi_turn and lost


def _differs_from(segments: Sequence[Segment], at: int) -> bool:
    """Whether what stands here is another text on each turn, be it behind its number or its mark.

    A name alone counts for the segment itself, and not for what follows it.
    """
    if segments[at].volatility >= Volatility.TURN:
        return True
    for behind in segments[at + 1 :]:
        if behind.text is None:
            return behind.volatility >= Volatility.TURN and behind.evidence is not Evidence.NAME
        if estimate_tokens(behind.text) > _OF_ONE_ROW:
            return False
    return False


def _unseen_of_order(
    hazard: Hazard, position: Position, segments: Sequence[Segment], at: int
) -> tuple[Doubt, ...]:
    """Return whether there is enough that a set's order, another in each process, spoils.

    Turns of one conversation may be answered by several processes. The definitions of tools are
    enough themselves, where something stands behind them that is known to be the same.
    """
    if hazard.kind != "set-order":
        return ()
    behind = segments[at + 1 :]
    least = 1 if position is Position.TOOLS else DEFAULT_MINIMUM
    turns = any(segment.position is Position.HISTORY for segment in behind)
    return () if turns or _fixed_tokens(behind) >= least else (Doubt.SMALL,)


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
    return _fixed_tokens(segments) >= MIN_STABLE_TOKENS


def _fixed_tokens(segments: Sequence[Segment]) -> int:
    texts = [segment for segment in segments if segment.text is not None]
    return sum(s.tokens or estimate_tokens(s.text or "") for s in texts)


def _parts(draft: Draft, entry: Entry) -> list[Part]:
    phase = draft.unit.phase
    if phase is Phase.CALL and draft.unit.main and makes_agent(draft) and not draft.loops:
        phase = Phase.SESSION  # a program that makes one agent and runs it
    value = entry.value if phase is Phase.CALL else aged(entry.value, phase)
    return [_counted(draft, entry, part) for part in value.printed if part.text != ""]


def _counted(draft: Draft, entry: Entry, part: Part) -> Part:
    """Return a part; a count of a loop that the request stands outside of is fixed.

    So is one in a message that stays in the history, one that tells agents apart which a loop
    makes, and what is only named like a count where no earlier turns are sent.
    """
    if part.origin is not Origin.COUNTER:
        return part
    stored = entry.position > Position.SYSTEM or makes_agent(draft)
    by_name = part.evidence is Evidence.NAME and not any(
        entry.position is Position.HISTORY for entry in draft.entries
    )
    if stored or by_name or (part.loop is not None and part.loop not in draft.loops):
        return replace(part, origin=Origin.UNKNOWN, volatility=Volatility.CONSTANT)
    return part


def _request(engine: Engine, draft: Draft) -> tuple[Source, Span] | None:
    """Return the call by which Anthropic's SDK sends a prompt."""
    if draft.call is None or not draft.call.dotted.endswith(_SENDS_AS_IT_IS):
        return None
    return engine.module.source, engine.module.span(draft.call.node.func)


def _hole_of_file(engine: Engine, part: Part) -> tuple[str, int] | None:
    """Return the hole of a template in another file that a part fills."""
    if part.evidence is Evidence.BINDING and part.source is not engine.module.source:
        return part.source.path, part.span.start
    return part.fills


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
        asked=part.asked,
    )


def _observation(hazard: Hazard, position: Position, segment: Segment) -> Observation:
    """Return what is wrong where it arises, and the place at which the prompt shows it."""
    shows = Step(source=segment.source, span=segment.span, label="stands in the prompt here")
    apart = (segment.source, segment.span) != (hazard.source, hazard.span)
    return Observation(
        kind=hazard.kind,
        source=hazard.source,
        span=hazard.span,
        detail=hazard.detail,
        position=position,
        trail=(shows,) if apart else (),
    )
