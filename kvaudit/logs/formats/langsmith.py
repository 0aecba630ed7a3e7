"""LangSmith runs: API and bulk export.

Only runs of type ``llm`` are model calls; chains, tools and retrievers repeat their prompts.
LangSmith calls a project a session (``session_id``); a conversation is named in the metadata,
else the runs of one trace are taken for one.
"""

from kvaudit.core.requests import Json, Request, Status
from kvaudit.logs.api.answers import answer_text
from kvaudit.logs.api.bodies import (
    SESSION_KEYS,
    make_request,
    message_fields,
    request_fields,
    sampling_fields,
)
from kvaudit.logs.api.envelope import first_time
from kvaudit.logs.dialects.langchain import to_message
from kvaudit.logs.format import BadRecord, Fields, LogFormat, Row, Sureness
from kvaudit.logs.parsers.model_calls import ModelCalls, itself
from kvaudit.logs.values.lookup import child, count, label, opened


def recognise(row: Row) -> Sureness:
    """Tell it by how LangSmith orders a trace."""
    return Sureness.UNMISTAKABLE if "dotted_order" in row else Sureness.NO


def why_not(row: Row) -> str | None:
    """Return why a run is no model call."""
    return None if row.get("run_type") == "llm" else "chain, tool or other run, not a model call"


def to_request(row: Row) -> Request:
    """Return the run's request."""
    started, first = first_time(row, "start_time"), first_time(row, "first_token_time")
    metadata, details = child(row, "extra", "metadata"), child(row, "prompt_token_details")
    parameters = child(row, "extra", "invocation_params")
    own: Fields = {
        "id": label(row, "id", "run_id"),
        "arrived_s": started,
        "finished_s": first_time(row, "end_time"),
        "ttft_s": first - started if first is not None and started is not None else None,
        "status": Status.ERROR if row.get("error") else Status.OK,
        "model": label(metadata, "ls_model_name") or label(parameters, "model", "model_name"),
        "tenant": label(row, "tenant_id"),
        "user": label(metadata, "user_id"),
        "session": label(metadata, *SESSION_KEYS) or label(row, "trace_id"),
        "response": _answer(opened(row.get("outputs"))),
        "prompt_tokens": count(row, "prompt_tokens"),
        "output_tokens": count(row, "completion_tokens"),
        "cached_tokens": count(details, "cache_read"),
        "cache_write_5m_tokens": count(details, "cache_creation"),
    }
    sent = request_fields(parameters, prompt_required=False)
    return make_request(own, _sent(child(row, "inputs")), sent, _metadata_sampling(metadata))


def _sent(inputs: Json) -> Fields:
    """Return the prompt; LangChain sends a list of one list of messages, or of one text."""
    messages, prompts = opened(inputs.get("messages")), opened(inputs.get("prompts"))
    if isinstance(messages, list):
        if len(messages) == 1 and isinstance(messages[0], list):
            messages = messages[0]
        if not all(isinstance(message, dict) for message in messages):
            raise BadRecord("inputs.messages has an entry that is not a message")
        found = message_fields([to_message(message) for message in messages])
        body = {name: value for name, value in inputs.items() if name != "messages"}
        return found | request_fields(body, prompt_required=False)
    if isinstance(prompts, list) and len(prompts) == 1 and isinstance(prompts[0], str):
        return {"prompt": prompts[0]}
    return request_fields(inputs, prompt_required=False)


def _answer(outputs: object) -> str | None:
    generations = outputs.get("generations") if isinstance(outputs, dict) else None
    while isinstance(generations, list) and generations:
        generations = generations[0]
    if isinstance(generations, dict):
        return label(generations, "text")
    return answer_text(outputs)


def _metadata_sampling(metadata: Json) -> Fields:
    return sampling_fields(
        {"temperature": metadata.get("ls_temperature"), "max_tokens": metadata.get("ls_max_tokens")}
    )


FORMAT = LogFormat(
    name="langsmith",
    title="LangSmith runs (API, bulk export)",
    recognise=recognise,
    parser=lambda: ModelCalls(to_request, why_not=why_not, entries=itself),
)
