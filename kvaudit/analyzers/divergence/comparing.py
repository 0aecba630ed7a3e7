"""Two requests that part, as the record that a log is linted by: one way to see messages."""

from __future__ import annotations

from typing import Any

from kvaudit.analyzers.template.request_log.parts import fill
from kvaudit.analyzers.template.request_log.request import Record, Usage
from kvaudit.core.requests import Request
from kvaudit.core.sources import Source

_NOWHERE = Source("", "")


def record_of(request: Request) -> Record:
    """Return a request's tools, system texts and messages apart."""
    body: dict[str, Any] = {}
    if request.tools:
        body["tools"] = list(request.tools)
    if request.messages is not None:
        body["messages"] = list(request.messages)
    if request.prompt is not None:
        body |= {"prompt": request.prompt, "model": request.model or ""}
    record = Record(
        source=_NOWHERE,
        start=0,
        end=0,
        number=0,
        body=body,
        path=(),
        session=request.session,
        time=request.arrived_s,
        usage=Usage(),
    )
    fill(record)
    return record
