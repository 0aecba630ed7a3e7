"""Where in a record of some application's own log the request and response bodies are.

Applications log the body itself, or wrap it under a name of their choice; request and
response share a record or only one is logged. Several formats meet here, so this is also the
one place that says which provider's bodies they are: no record can belong to two.
"""

from enum import Enum, auto
from typing import NamedTuple

from kvaudit.core.requests import Json, Request
from kvaudit.logs.api.answers import response_fields, whole_body
from kvaudit.logs.api.bodies import Api, api_of, make_request, request_fields
from kvaudit.logs.api.envelope import envelope_fields
from kvaudit.logs.format import BadRecord, Row, Sureness
from kvaudit.logs.values.lookup import child

_REQUEST_NAMES = ("request", "body", "params", "input", "kwargs")
_RESPONSE_NAMES = ("response", "result", "output")
_OF_A_RESPONSE = frozenset({"usage", "usageMetadata", "choices", "object", "content", "type"})


class Family(Enum):
    """Whose bodies they are."""

    OPENAI_CHAT = auto()
    OPENAI_RESPONSES = auto()
    ANTHROPIC = auto()
    GEMINI = auto()


class Exchange(NamedTuple):
    """The bodies of one request; either may be empty."""

    family: Family
    request: Json
    response: Json


_FAMILIES = {
    Api.CHAT: Family.OPENAI_CHAT,
    Api.COMPLETION: Family.OPENAI_CHAT,
    Api.RESPONSES: Family.OPENAI_RESPONSES,
    Api.ANTHROPIC: Family.ANTHROPIC,
    Api.GEMINI: Family.GEMINI,
}


def find_exchange(row: Row) -> Exchange | None:
    """Return the bodies in a record, None where there are none of these providers."""
    request, api = _find_request(row)
    response = _find_response(row)
    answered = _answered_by(response)
    if api is Api.CHAT and answered is Family.ANTHROPIC:
        return Exchange(answered, request, response)
    family = answered if api is None else _FAMILIES.get(api)
    return Exchange(family, request, response) if family else None


def recogniser(row: Row, family: Family) -> Sureness:
    """Tell whether a record's bodies are of this family."""
    found = find_exchange(row)
    return Sureness.GENERIC if found and found.family is family else Sureness.NO


def exchange_request(row: Row) -> Request:
    """Return the request that a record's bodies and what stands around them tell of."""
    found = find_exchange(row)
    if found is None:
        raise BadRecord("it holds neither a request body nor a response body")
    sent = request_fields(found.request) if found.request else {}
    return make_request(envelope_fields(row), sent, response_fields(found.response))


def _find_request(row: Row) -> tuple[Json, Api | None]:
    api = api_of(row)
    if api is not None:
        return row, api
    for name in _REQUEST_NAMES:
        wrapped = row.get(name)
        if isinstance(wrapped, dict):
            body = child(wrapped, "body") or wrapped
            api = api_of(body)
            if api is not None:
                return body, api
    return {}, None


def _find_response(row: Row) -> Json:
    for name in _RESPONSE_NAMES:
        given = row.get(name)
        wrapped = whole_body(given) if given else None
        if wrapped:
            return child(wrapped, "body") or child(wrapped, "message") or wrapped
    return row if not _OF_A_RESPONSE.isdisjoint(row) else {}


def _answered_by(response: Json) -> Family | None:
    """Return whose response a body is, by its own kind or by how it counts tokens."""
    usage = child(response, "usage")
    if "promptTokenCount" in child(response, "usageMetadata"):
        return Family.GEMINI
    if response.get("object") == "response" or "input_tokens_details" in usage:
        return Family.OPENAI_RESPONSES
    if response.get("type") == "message" or "cache_read_input_tokens" in usage:
        return Family.OPENAI_CHAT if "prompt_tokens" in usage else Family.ANTHROPIC
    if "prompt_tokens" in usage or isinstance(response.get("choices"), list):
        return Family.OPENAI_CHAT
    return Family.ANTHROPIC if "input_tokens" in usage else None
