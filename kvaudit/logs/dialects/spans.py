"""Spans of a trace, however they were exported, with flat attributes.

OTLP JSON nests spans in scopes and resources and writes attributes as a list of typed values;
SDK exporters write one flat span a line; collectors wrap a trace's spans in one object;
Phoenix nests attributes or spreads them over columns. All become a `Span`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kvaudit.core.requests import Json, Status
from kvaudit.logs.api.envelope import first_time
from kvaudit.logs.values.lookup import child, label, opened

_WRAPPED = (("resourceSpans", "resource_spans"), ("scopeSpans", "scope_spans"), ("spans", "spans"))


@dataclass(frozen=True, slots=True)
class Span:
    """One span: what it says of itself, and its attributes under dotted names."""

    fields: Json
    attributes: Json

    @property
    def id(self) -> str | None:
        """Return the span's own id."""
        own = label(self.fields, "spanId", "span_id", "context.span_id")
        return own or label(child(self.fields, "context"), "span_id")

    @property
    def started_s(self) -> float | None:
        """Return when the span began."""
        return first_time(self.fields, "startTimeUnixNano", "start_time_unix_nano", "start_time")

    @property
    def ended_s(self) -> float | None:
        """Return when the span ended."""
        return first_time(self.fields, "endTimeUnixNano", "end_time_unix_nano", "end_time")

    @property
    def status(self) -> Status:
        """Return whether the span failed; one that never set its status did not."""
        status = opened(self.fields.get("status", self.fields.get("status_code")))
        if isinstance(status, dict):
            status = status.get("code", status.get("status_code"))
        failed = status in (2, "2", "ERROR", "STATUS_CODE_ERROR", "Error")
        return Status.ERROR if failed or label(self.attributes, "error.type") else Status.OK

    def events(self) -> Iterator[tuple[str, Json]]:
        """Yield the name and attributes of each event."""
        events = opened(self.fields.get("events"))
        for event in events if isinstance(events, list) else []:
            if isinstance(event, dict):
                yield label(event, "name") or "", attributes_of(event)


def spans_of(row: Json) -> list[Span]:
    """Return the spans in a record, in file order; a record without any is one itself."""
    return list(_spans(row, {}))


def _spans(node: Json, inherited: Json) -> Iterator[Span]:
    inherited = inherited | attributes_of(child(node, "resource"))
    inner = [v for names in _WRAPPED for n in names if isinstance(v := node.get(n), list)]
    if not inner:
        yield Span(node, inherited | attributes_of(node))
    for entry in inner[:1]:
        for item in entry:
            if isinstance(item, dict):
                yield from _spans(item, inherited)


def attributes_of(holder: Json) -> Json:
    """Return an object's attributes under flat, dotted names."""
    attributes = opened(holder.get("attributes"))
    if isinstance(attributes, list):
        pairs = [pair for pair in attributes if isinstance(pair, dict)]
        attributes = {
            name: _any_value(pair.get("value"))
            for pair in pairs
            if isinstance(name := pair.get("key"), str)
        }
    if not isinstance(attributes, dict):
        spread = "attributes."  # columns of a table
        attributes = {k[len(spread) :]: v for k, v in holder.items() if k.startswith(spread)}
    return dict(_flat(attributes, ""))


def _flat(node: Json, prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield leaves under dotted names; a list of objects is numbered, any other is a leaf."""
    for name, value in node.items():
        if name.startswith("gen_ai."):  # already flat, and its lists are messages
            yield name, value
            continue
        if isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
            value = {str(index): item for index, item in enumerate(value)}
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _any_value(value: object) -> Any:
    """Return the plain value of OTLP's AnyValue, in which 64-bit integers are text."""
    if not isinstance(value, dict):
        return value
    if "arrayValue" in value:
        return [_any_value(v) for v in _listed(value["arrayValue"])]
    if "kvlistValue" in value:
        pairs = [pair for pair in _listed(value["kvlistValue"]) if isinstance(pair, dict)]
        return {str(pair.get("key")): _any_value(pair.get("value")) for pair in pairs}
    return next(iter(value.values()), None)


def _listed(holder: object) -> list[Any]:
    values = holder.get("values") if isinstance(holder, dict) else None
    return values if isinstance(values, list) else []
