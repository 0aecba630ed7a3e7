"""OpenTelemetry GenAI spans: OTLP JSON, flat spans, or a trace's spans in one object.

Only model calls are requests; spans of agents, tools and everything else are not. Content is
opt-in, so many traces have counts only. Old attribute names are read where the new ones are
absent.
"""

from kvaudit.core.requests import Request
from kvaudit.logs.api.answers import answer_text
from kvaudit.logs.api.bodies import make_request, message_fields
from kvaudit.logs.dialects.genai_messages import input_messages
from kvaudit.logs.dialects.spans import Span, spans_of
from kvaudit.logs.format import Fields, LogFormat, Row, Sureness
from kvaudit.logs.parsers.model_calls import ModelCalls
from kvaudit.logs.values import fields
from kvaudit.logs.values.lookup import count, label, number, opened

_MODEL_CALLS = frozenset({"chat", "text_completion", "generate_content", "completion"})
_REQUEST = "gen_ai.request."
_USAGE = "gen_ai.usage."


def recognise(row: Row) -> Sureness:
    """Tell it by attributes of the GenAI conventions; OpenInference names its spans itself."""
    spans = spans_of(row)
    if any("openinference.span.kind" in span.attributes for span in spans):
        return Sureness.NO
    if any(name.startswith("gen_ai.") for span in spans for name in span.attributes):
        return Sureness.UNMISTAKABLE
    return Sureness.GENERIC if any(span.id for span in spans) else Sureness.NO


def why_not(span: Span) -> str | None:
    """Return why a span is no model call."""
    operation = label(span.attributes, "gen_ai.operation.name", "llm.request.type")
    if operation in _MODEL_CALLS:
        return None
    if operation is not None:
        return "span of an agent, tool or embedding, not a model call"
    asks = any(name.startswith((_REQUEST, _USAGE)) for name in span.attributes)
    return None if asks else "span without GenAI attributes, not a model call"


def to_request(span: Span) -> Request:
    """Return the span's request."""
    attributes = span.attributes
    session = next((n for n in attributes if n.endswith(".session.id")), "session.id")
    messages = input_messages(attributes, span.events())
    own: Fields = {
        "id": span.id,
        "arrived_s": span.started_s,
        "finished_s": span.ended_s,
        "status": span.status,
        "model": label(attributes, _REQUEST + "model", "gen_ai.response.model"),
        "user": label(attributes, "user.id", "enduser.id"),
        "session": label(attributes, "gen_ai.conversation.id", "session.id", session),
        "tools": fields.json_objects(attributes.get("gen_ai.tool.definitions"), "tools"),
        "response": _answer(attributes),
    }
    sent = message_fields(messages) if messages else {}
    return make_request(own, _counts(attributes), _sampling(attributes), sent)


def _answer(attributes: Row) -> str | None:
    names = ("gen_ai.output.messages", "gen_ai.output.text", "gen_ai.completion")
    answer = next((attributes[n] for n in names if attributes.get(n) is not None), None)
    answer = opened(answer)
    if isinstance(answer, list) and answer and isinstance(answer[0], dict):
        answer = answer[0]
    return answer_text(answer) or label(attributes, "gen_ai.completion.0.content")


def _counts(attributes: Row) -> Fields:
    read = ("cache_read.input_tokens", "cache_read_input_tokens", "input_cached_tokens")
    written = ("cache_creation.input_tokens", "cache_creation_input_tokens")
    return {
        "prompt_tokens": count(attributes, _USAGE + "input_tokens", _USAGE + "prompt_tokens"),
        "output_tokens": count(attributes, _USAGE + "output_tokens", _USAGE + "completion_tokens"),
        "cached_tokens": count(attributes, *(_USAGE + name for name in read)),
        "cache_write_5m_tokens": count(attributes, *(_USAGE + name for name in written)),
        "ttft_s": number(
            attributes,
            "gen_ai.response.time_to_first_chunk",
            "gen_ai.latency.time_to_first_token",  # vLLM
        ),
    }


def _sampling(attributes: Row) -> Fields:
    return {
        "temperature": number(attributes, _REQUEST + "temperature"),
        "top_p": number(attributes, _REQUEST + "top_p"),
        "seed": count(attributes, _REQUEST + "seed"),
        "max_tokens": count(attributes, _REQUEST + "max_tokens"),
    }


FORMAT = LogFormat(
    name="otel-genai",
    title="OpenTelemetry GenAI spans (OTLP JSON or one span a line)",
    recognise=recognise,
    parser=lambda: ModelCalls(to_request, why_not=why_not, entries=spans_of),
)
