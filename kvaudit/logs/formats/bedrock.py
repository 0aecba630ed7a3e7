"""AWS Bedrock model invocation logs, from S3 or CloudWatch.

Bodies are Converse or the model's own API; beyond 100 KB they stand in another file and the
record has counts only. Total prompt tokens are input + cache read + cache write; where the
record and the body both count, it is the same number under two names.
"""

from kvaudit.core.requests import Request, Status
from kvaudit.logs.api.answers import response_fields
from kvaudit.logs.api.bodies import SESSION_KEYS, make_request, request_fields
from kvaudit.logs.api.envelope import first_time
from kvaudit.logs.api.usage import disjoint
from kvaudit.logs.format import Fields, LogFormat, Row, Sureness
from kvaudit.logs.parsers.model_calls import ModelCalls, itself
from kvaudit.logs.values.lookup import child, count, label


def recognise(row: Row) -> Sureness:
    """Tell it by its schema's name."""
    known = row.get("schemaType") == "ModelInvocationLog"
    return Sureness.UNMISTAKABLE if known else Sureness.NO


def why_not(row: Row) -> str | None:
    """Return why a record is no call of a language model."""
    body = child(row, "input", "inputBodyJson")
    if "embed" in (label(row, "modelId") or "") or "texts" in body:
        return "embedding, not a language model's call"
    return None


def to_request(row: Row) -> Request:
    """Return the record's request."""
    failed = row.get("errorCode")
    answer = row.get("output")
    own: Fields = {
        "id": label(row, "requestId"),
        "arrived_s": first_time(row, "timestamp"),
        "status": Status.ERROR if failed else Status.OK,
        "model": label(row, "modelId"),
        "tenant": label(row, "accountId"),
        "user": label(child(row, "identity"), "arn"),
        "session": label(child(row, "requestMetadata"), *SESSION_KEYS, "sessionId"),
    }
    body = request_fields(child(row, "input", "inputBodyJson"), prompt_required=False)
    said = answer.get("outputBodyJson") if isinstance(answer, dict) else None
    return make_request(own, _counts(row), body, response_fields(said))


def _counts(row: Row) -> Fields:
    given, answered = child(row, "input"), child(row, "output")
    return disjoint(
        rest=count(given, "inputTokenCount"),
        read=count(given, "cacheReadInputTokenCount", "cacheReadInputTokens"),
        written=count(given, "cacheWriteInputTokenCount", "cacheWriteInputTokens"),
        output=count(answered, "outputTokenCount"),
    )


FORMAT = LogFormat(
    name="bedrock",
    title="AWS Bedrock model invocation logs",
    recognise=recognise,
    parser=lambda: ModelCalls(to_request, why_not=why_not, entries=itself),
)
