"""OpenAI Batch files: ``custom_id`` with a request body, a response body, or both.

Input and output are two files; the output alone has counts and answers but no prompts. Rows
that embed or moderate are left out.
"""

from kvaudit.core.requests import Request, Status
from kvaudit.logs.api.answers import http_status, response_fields
from kvaudit.logs.api.bodies import make_request, request_fields
from kvaudit.logs.api.envelope import envelope_fields
from kvaudit.logs.format import LogFormat, Row, Sureness
from kvaudit.logs.parsers.model_calls import ModelCalls, itself
from kvaudit.logs.values.lookup import child, label

_OTHER_ENDPOINTS = ("/embeddings", "/moderations", "/images", "/audio")


def recognise(row: Row) -> Sureness:
    """Tell it by ``custom_id`` with a body to send, or with a response that has a status."""
    if "custom_id" not in row:
        return Sureness.NO
    sent = isinstance(row.get("body"), dict)
    answered = "status_code" in child(row, "response")
    failed = "response" in row and "error" in row
    return Sureness.UNMISTAKABLE if sent or answered or failed else Sureness.NO


def why_not(row: Row) -> str | None:
    """Return why a line is no request to a language model."""
    url = label(row, "url") or ""
    answer = child(row, "response", "body").get("object")
    if url.endswith(_OTHER_ENDPOINTS) or answer == "list":
        return "batch line of another endpoint, not a model call"
    return None


def to_request(row: Row) -> Request:
    """Return the line's request."""
    body, response = child(row, "body"), child(row, "response")
    outcome = Status.ERROR if row.get("error") else http_status(response.get("status_code"))
    return make_request(
        {"id": label(row, "custom_id"), "status": outcome},
        envelope_fields(row),
        request_fields(body, prompt_required=not response and not row.get("error")),
        response_fields(child(response, "body")),
    )


FORMAT = LogFormat(
    name="openai-batch",
    title="OpenAI Batch input and output files",
    recognise=recognise,
    parser=lambda: ModelCalls(to_request, why_not=why_not, entries=itself),
)
