"""Texts that are prompts by the name of what makes or holds them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.source.ecmascript.drafts import Draft, message_entries, role_of, text_draft
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import Shape, Value
from kvaudit.analyzers.source.prompt_names import Called
from kvaudit.core.document import Evidence, Origin, Position, Volatility

MIN_LITERAL_CHARS = 200
"""A text with fewer fixed characters is a prompt only if its name says so clearly."""
MIN_NAMED_CHARS = 12

_LOOKS_LIKE = re.compile(
    r"^#{1,4} \w|^</?\w[\w-]*>\s*$|\b[yY]ou (are|may|must|can|should|will|have)\b|<env>",
    re.MULTILINE,
)
"""Marks of a text that is written for a model."""


def draft_of(name: str, node: Node, value: Value, what: Called) -> Iterator[Draft]:
    """Yield the prompt that a name promises, if the value is one."""
    if value.items is not None and any(role_of(item) for item in value.items):
        entries, turns = message_entries(value)
        yield Draft(name, node, entries, multi_turn=turns, sent=True)
        return
    if value.fields is not None or value.code is not None or not _is_prompt_text(value, what):
        return
    position = Position.NEWEST if what is Called.USER else Position.SYSTEM
    draft = text_draft(name, node, value, position, turns=what in (Called.SYSTEM, Called.CONTEXT))
    draft.by_name = what is Called.CONTEXT
    yield draft


def _is_prompt_text(value: Value, what: Called) -> bool:
    """Whether a value is a text of the kind that its name promises."""
    if value.shape not in (Shape.TEXT, Shape.LIST):
        return False
    parts = value.printed
    fixed = sum(len(part.text) for part in parts if part.text is not None)
    guessed = any(part.tokens and part.tokens > 100 for part in parts if part.text is None)
    if fixed >= MIN_LITERAL_CHARS and what is not Called.CONTEXT:
        return True
    if what is Called.CONTEXT:
        text = "".join(part.text or "" for part in parts)
        return bool(_LOOKS_LIKE.search(text)) and any(_tells(value))
    least = 0 if what is Called.SYSTEM and any(_tells(value)) else MIN_NAMED_CHARS
    return (fixed >= least or guessed) and len(parts) > 1


def _tells(value: Value) -> Iterator[bool]:
    for part in value.printed:
        if part.hazards:
            yield True
        if part.text is None and part.volatility >= Volatility.DAY:
            yield part.evidence is not Evidence.NAME or part.origin is not Origin.UNKNOWN
