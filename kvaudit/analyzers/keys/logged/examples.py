"""The two requests of each collision, read again from the log, with the values that differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from kvaudit.analyzers.keys.logged.audit import FoundCollision
from kvaudit.analyzers.keys.logged.fields import PARTS_OF_CONTENT, value_of
from kvaudit.core.keys import Collision, KeyExample
from kvaudit.core.redact import mask_secrets, one_line, shown
from kvaudit.core.requests import Request

PRIVATE = frozenset({*PARTS_OF_CONTENT, "tools", "response_format"})
"""Fields whose values are text of prompts, which is shown only when asked for."""
BEFORE, SHOWN = 20, 80
"""Characters of a long value that are quoted: before the first difference, and in all."""


def picked(requests: Iterable[Request], numbers: Iterable[int]) -> dict[int, Request]:
    """Return the requests of those numbers; the log is read no further than the last of them."""
    wanted = set(numbers)
    found: dict[int, Request] = {}
    if wanted:
        for number, request in enumerate(requests):
            if number in wanted:
                found[number] = request
                if len(found) == len(wanted):
                    break
    return found


def collision(found: FoundCollision, requests: dict[int, Request], *, show_text: bool) -> Collision:
    """Return a collision with its example."""
    request, stored = requests[found.request], requests[found.stored]
    a, b = (_text(value_of(each, found.field)) for each in (request, stored))
    if found.field in PRIVATE and not show_text:
        a, b = (shown(text, show_text=False) for text in (a, b))
    else:
        a, b = map(one_line, _excerpts(a, b))
    return Collision(
        field=found.field,
        requests=found.requests,
        example=KeyExample(
            request=request.id,
            stored=stored.id,
            a=a,
            b=b,
            cross_tenant=found.cross_tenant,
        ),
    )


def _excerpts(a: str, b: str) -> tuple[str, str]:
    """Return two texts without their credentials, cut to where they differ."""
    texts = [mask_secrets(text) for text in (a, b)]
    if texts[0] == texts[1]:  # they differ in a credential alone
        return "a credential", "another credential"
    start = max(0, _shared(texts[0], texts[1]) - BEFORE)
    if max(map(len, texts)) <= SHOWN:
        start = 0
    first, second = (_cut(text, start) for text in texts)
    return first, second


def _shared(a: str, b: str) -> int:
    ends = (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    return next(ends, min(len(a), len(b)))


def _cut(text: str, start: int) -> str:
    end = start + SHOWN
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Sequence):
        value = list(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
