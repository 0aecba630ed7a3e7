"""Response bodies of the model APIs, read into the fields of a `Request`.

What was answered, what was counted, and whether it failed; whole bodies as well as the list
of events, or the text of them, that a gateway logs for a streamed answer. A tool call is no
text: an answer that is one has no ``response``.
"""

from collections.abc import Iterable, Iterator

from kvaudit.core.requests import Json, Status
from kvaudit.logs.api.usage import read_usage
from kvaudit.logs.format import BadRecord, Fields
from kvaudit.logs.values import fields
from kvaudit.logs.values.columns import Columns
from kvaudit.logs.values.lookup import as_label, child, opened
from kvaudit.logs.values.times import epoch_seconds

_RESPONSES_STATUS = {"failed": Status.ERROR, "cancelled": Status.CANCELLED}


def _time(value: object) -> float | None:
    try:
        return epoch_seconds(value)
    except BadRecord:
        return None


def _object(value: object) -> Json | None:
    value = opened(value)
    return value if isinstance(value, dict) else None


_COLUMNS = Columns(
    id=(as_label, "id", "responseId"),
    model=(as_label, "model", "modelVersion"),
    arrived_s=(_time, "created", "created_at"),
    parent=(as_label, "previous_response_id"),
    usage=(_object, "usage", "usageMetadata", "amazon-bedrock-invocationMetrics"),
)


def response_fields(response: object) -> Fields:
    """Return what a response body says, whichever API it comes from."""
    response = whole_body(response)
    if not response:
        return {}
    found = _COLUMNS.read(response)
    usage = found.pop("usage", None)
    if usage:
        found |= {name: n for name, n in read_usage(usage).items() if n is not None}
    text, status = answer_text(response), _status(response)
    if text is not None:
        found["response"] = text
    if status is not None:
        found["status"] = status
    return found


def whole_body(response: object) -> Json:
    """Return a response body as one object, joined where it was logged as a stream."""
    response = opened(response)
    if isinstance(response, str):
        response = list(_server_sent(response))
    if isinstance(response, list):
        return _joined([event for event in response if isinstance(event, dict)])
    return response if isinstance(response, dict) else {}


def http_status(code: object) -> Status | None:
    """Return how a request ended by its HTTP status; 499 is a client that went away."""
    try:
        number = fields.integer(code, "status")
    except BadRecord:
        return None
    if number is None or not 100 <= number <= 599:
        return None
    if number == 499:
        return Status.CANCELLED
    return Status.ERROR if number >= 400 else Status.OK


def answer_text(response: object, depth: int = 8) -> str | None:
    """Return the text of an answer: of a body, a message, or its content.

    Looks ``depth`` levels deep, which is more than any API nests.
    """
    response = opened(response)
    if isinstance(response, str):
        return response
    if isinstance(response, list):
        texts = [t for part in response if (t := _part_text(part, depth)) is not None]
        return "".join(texts) if texts else None
    if not isinstance(response, dict) or not depth:
        return None
    for key in ("choices", "candidates", "generations"):
        choices = response.get(key)
        if isinstance(choices, list):
            return answer_text(choices[0], depth - 1) if choices else None
    for key in ("message", "output", "content", "parts", "text"):
        if response.get(key) is not None:
            return answer_text(response[key], depth - 1)
    return None


def _part_text(part: object, depth: int) -> str | None:
    """Return the text of one part or output item; reasoning and calls have none."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return None
    if part.get("type") in (None, "text", "output_text") and isinstance(part.get("text"), str):
        return str(part["text"])
    if part.get("type") == "text" and isinstance(part.get("content"), str):
        return str(part["content"])  # OpenTelemetry
    return answer_text(part.get("content"), depth - 1) if part.get("type") == "message" else None


def _status(response: Json) -> Status | None:
    if response.get("error") or response.get("type") == "error":
        return Status.ERROR
    stated = response.get("status")
    if isinstance(stated, str) and stated in _RESPONSES_STATUS:
        return _RESPONSES_STATUS[stated]
    answered = ("choices", "content", "output", "usage", "candidates", "usageMetadata")
    return Status.OK if any(response.get(key) is not None for key in answered) else None


def _server_sent(stream: str) -> Iterator[object]:
    for line in stream.splitlines():
        if line.startswith("data:") and line[5:].strip() != "[DONE]":
            yield opened(line[5:].strip())


def _joined(events: Iterable[Json]) -> Json:
    """Join the events of an OpenAI chat, Responses or Anthropic stream into one body."""
    whole: Json = {}
    texts: list[str] = []
    for event in events:
        if isinstance(event.get("response"), dict):
            whole |= event["response"]  # Responses; the last one is complete
            continue
        if isinstance(event.get("message"), dict):
            whole |= event["message"]  # Anthropic's message_start
        usage = child(event, "usage")
        if usage:
            whole["usage"] = child(whole, "usage") | usage
        whole |= {k: event[k] for k in ("id", "model", "created", "error") if event.get(k)}
        texts.extend(_delta_texts(event))
    if texts:
        whole["content"] = "".join(texts)
    return whole


def _delta_texts(event: Json) -> Iterator[str]:
    choices = event.get("choices")
    parts = choices if isinstance(choices, list) else [event]
    for part in parts[:1]:
        delta = part.get("delta") if isinstance(part, dict) else None
        if isinstance(delta, dict):
            yield from (d for k in ("content", "text") if isinstance(d := delta.get(k), str))
