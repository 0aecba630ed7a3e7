"""From a draft to a document: segments with positions, hazards as observations."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.profile import MIN_STABLE_TOKENS
from kvaudit.analyzers.sizes import estimate_tokens
from kvaudit.analyzers.source.ecmascript.drafts import Draft, Entry, weakened
from kvaudit.analyzers.source.parts import Hazard, Part
from kvaudit.core.document import (
    Document,
    Evidence,
    Marker,
    Observation,
    Position,
    Segment,
    Volatility,
)
from kvaudit.core.sources import Source, Span

_SHARED = (Position.TOOLS, Position.SYSTEM, Position.FEWSHOT, Position.HISTORY)
_BY_MODEL = (
    ("anthropic", re.compile(r"claude")),
    ("openai", re.compile(r"(^|/)(gpt-|o\d|chatgpt)")),
    ("gemini", re.compile(r"gemini")),
    ("deepseek", re.compile(r"deepseek")),
)
_BY_IMPORT = (
    ("anthropic", re.compile(r"""["'](@anthropic-ai/[\w-]*sdk|@ai-sdk/anthropic)["']""")),
    ("openai", re.compile(r"""["'](openai|@ai-sdk/openai)["']""")),
    ("gemini", re.compile(r"""["'](@google/gen\w+ai|@ai-sdk/google)["']""")),
    (
        "bedrock",
        re.compile(r"""["'](@aws-sdk/client-bedrock-runtime|@ai-sdk/amazon-bedrock)["']"""),
    ),
)


def document(source: Source, kind: str, draft: Draft) -> Document:
    """Return the document of a draft."""
    segments: list[Segment] = []
    hazards: dict[tuple[str, int], tuple[Hazard, Position]] = {}
    markers: list[Marker] = []
    observed: list[Observation] = []
    lost = False
    """Whether something stands before that differs on each turn, so that an order costs nothing."""
    entries = weakened(draft.entries) if draft.by_name else draft.entries
    for block, entry in enumerate(entries):
        parts = [part for part in entry.value.printed if part.text != ""]
        for part in parts:
            for hazard in () if lost else part.hazards:
                hazards.setdefault((hazard.kind, hazard.span.start), (hazard, entry.position))
            segments.append(_segment(part, entry.position, block))
            lost = lost or (part.volatility >= Volatility.TURN and _changes(part))
        lost = lost or _is_asked_once(draft, entry, parts)
        if entry.marked:
            markers.append(_marker(source, entry, parts, block))
            observed += _mixed(entry, parts)
        if entry.position is Position.TOOLS:
            observed += [_volatile_tool(part) for part in parts if _changes(part)]
    observed += [_observation(*found, draft) for found in hazards.values() if found[1] in _SHARED]
    return Document(
        source=source,
        kind=kind,
        name=draft.name,
        segments=segments,
        observations=observed,
        markers=markers,
        provider=None if draft.described else _provider(source, draft),
        model=draft.model,
        multi_turn=draft.multi_turn,
        low_stakes=draft.low_stakes,
        sent=draft.sent,
    )


def _mixed(entry: Entry, parts: list[Part]) -> Iterator[Observation]:
    """Yield where the changing part of a marked block begins, behind enough fixed text."""
    if entry.position not in (Position.TOOLS, Position.SYSTEM):
        return
    fixed = 0
    for part in parts:
        if part.text is None and part.volatility >= Volatility.IDENTITY:
            if fixed >= MIN_STABLE_TOKENS and part.evidence is not Evidence.NAME:
                yield Observation(
                    kind="static-and-dynamic-in-one-block",
                    source=part.source,
                    span=part.span,
                    detail=f"{part.expression} ends the fixed text of a marked block",
                    trail=part.trail,
                )
            return
        fixed += part.tokens or estimate_tokens(part.text or "")


def _marker(source: Source, entry: Entry, parts: list[Part], block: int) -> Marker:
    span = parts[-1].span if parts else Span(0, 0)
    return Marker(source=parts[-1].source if parts else source, span=span, block=block)


def _changes(part: Part) -> bool:
    return part.volatility >= Volatility.DAY and part.evidence is not Evidence.NAME


def _is_asked_once(draft: Draft, entry: Entry, parts: list[Part]) -> bool:
    """Whether a message holds what one request is about, in a list that no turns are added to."""
    one_of_them = entry.position is Position.FEWSHOT and not draft.multi_turn
    return one_of_them and any(part.text is None for part in parts)


def _volatile_tool(part: Part) -> Observation:
    return Observation(
        kind="volatile-tool-text",
        source=part.source,
        span=part.span,
        detail=part.expression or "a value that changes",
        position=Position.TOOLS,
        trail=part.trail,
    )


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


def _observation(hazard: Hazard, position: Position, draft: Draft) -> Observation:
    return Observation(
        kind=hazard.kind,
        source=hazard.source,
        span=hazard.span,
        detail=hazard.detail,
        position=position,
        evidence=Evidence.NAME if draft.by_name else Evidence.DATAFLOW,
    )


def _provider(source: Source, draft: Draft) -> str | None:
    for provider, names in _BY_MODEL:
        if names.search(draft.model or ""):
            return provider
    known = [provider for provider, names in _BY_IMPORT if names.search(source.text)]
    return known[0] if len(known) == 1 else None
