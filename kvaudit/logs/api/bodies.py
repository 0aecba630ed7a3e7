"""Request bodies of the model APIs, read into the fields of a `Request`.

One reader for all of them, because gateways log whatever passes: OpenAI chat, completions and
Responses, Anthropic Messages, Bedrock Converse, Gemini. Messages and tools stay the JSON that
was sent, in its key order; only what an API keeps outside its messages (Anthropic's and
Converse's ``system``, Responses' ``instructions``, Gemini's ``systemInstruction``) is put in
front as a system message, where the model reads it.
"""

from enum import Enum, auto

from kvaudit.core.requests import Json, Mark, Request
from kvaudit.logs.api.items import items_to_messages, refers_to_items
from kvaudit.logs.api.media import find_media
from kvaudit.logs.format import BadRecord, Fields
from kvaudit.logs.values import fields
from kvaudit.logs.values.columns import Columns, Reader
from kvaudit.logs.values.lookup import as_label, as_number, as_whole, child, label, opened

# Where an application tells the provider which conversation a request belongs to.
SESSION_KEYS = ("session_id", "conversation_id", "thread_id", "chat_id")


def _object_or_text(value: object) -> Json | str | None:
    return value if isinstance(value, dict | str) and value else None


def _tools(value: object) -> list[Json] | None:
    return fields.json_objects(value, "tools") or None


_SAMPLING_NAMES: dict[str, tuple[Reader, *tuple[str, ...]]] = {
    "temperature": (as_number, "temperature"),
    "top_p": (as_number, "top_p", "topP"),
    "seed": (as_whole, "seed"),
    "max_tokens": (
        as_whole,
        *("max_tokens", "max_completion_tokens", "max_output_tokens"),
        *("maxTokens", "maxOutputTokens", "max_new_tokens"),
    ),
    "response_format": (_object_or_text, "response_format", "output_format"),
}
_SAMPLING = Columns(**_SAMPLING_NAMES)
_COLUMNS = Columns(
    **_SAMPLING_NAMES,
    model=(as_label, "model", "modelId", "model_id"),
    user=(as_label, "user", "safety_identifier"),
    salt=(as_label, "cache_salt"),
    lora=(as_label, "lora_path"),
    priority=(as_whole, "priority"),
    prompt_cache_key=(as_label, "prompt_cache_key"),
    tools=(_tools, "tools"),
)
# What a provider's cache obeys beside the text, by the names in request bodies.
CACHE_OPTIONS = (
    *("cache_control", "prompt_cache_retention", "prompt_cache_options"),
    *("cachedContent", "cached_content", "tool_choice", "toolChoice", "thinking", "effort"),
    *("reasoning", "reasoning_effort", "output_config", "parallel_tool_calls"),
)
_METADATA = Columns(user=(as_label, "user_id"), session=(as_label, *SESSION_KEYS))


class Api(Enum):
    """Which API a request body is for."""

    CHAT = auto()
    RESPONSES = auto()
    ANTHROPIC = auto()
    COMPLETION = auto()
    CONVERSE = auto()
    GEMINI = auto()


def api_of(body: Json) -> Api | None:
    """Return the API a body is for, None if it is no request to a language model."""
    if body.get("messages") is not None:
        if "inferenceConfig" in body or "toolConfig" in body or _bare_text(body.get("system")):
            return Api.CONVERSE
        if "system" in body or "anthropic_version" in body or _has_input_schema(body):
            return Api.ANTHROPIC
        return Api.CHAT
    if isinstance(body.get("contents"), list):
        return Api.GEMINI
    if body.get("prompt") is not None:
        return Api.COMPLETION
    return Api.RESPONSES if _is_responses(body) else None


def is_request(body: object) -> bool:
    """Tell whether this is a request body of one of the APIs."""
    return isinstance(body, dict) and api_of(body) is not None


def request_fields(body: Json, *, prompt_required: bool = True) -> Fields:
    """Return what a request body says; raises `BadRecord` where it cannot be understood."""
    api = api_of(body)
    if api is None and prompt_required:
        raise BadRecord("the request body has no messages, input or prompt of a known API")
    found = _COLUMNS.read(body)
    options = {name: body[name] for name in CACHE_OPTIONS if body.get(name) is not None}
    if options:
        found["cache_options"] = options
    if "tools" not in found and ("toolConfig" in body or "functions" in body):
        found["tools"] = _older_tools(body)
    if "metadata" in body:
        found = joined(found, _METADATA.read(child(body, "metadata")))
    if api is Api.RESPONSES:
        return joined(found, _responses_input(body))
    if api is Api.COMPLETION:
        return joined(found, _completion_prompt(body["prompt"]))
    if api is Api.GEMINI:
        return joined(sampling_fields(child(body, "generationConfig")), found, _gemini(body))
    if api is None:
        return found
    messages = fields.json_objects(body["messages"], "messages") or []
    system = body.get("system")
    if system:
        messages = system_message(opened(system)) + messages
    found |= message_fields(messages)
    if api is Api.CONVERSE:
        found = joined(found, sampling_fields(child(body, "inferenceConfig")))
    return found


def message_fields(messages: list[Json]) -> Fields:
    """Return the messages and what media are in them."""
    return {"messages": messages, **find_media(messages)}


def sampling_fields(record: Json) -> Fields:
    """Return the sampling parameters among a record's fields, without those it omits."""
    return _SAMPLING.read(record)


def system_message(content: object) -> list[Json]:
    """Return ``content`` as a leading system message, nothing if there is none."""
    if content is None or content == "" or content == []:
        return []
    return [{"role": "system", "content": content}]


def joined(*sources: Fields) -> Fields:
    """Join what several parts of a record say; the first that says something wins.

    Marks add up. What none of them says is left out.
    """
    whole: Fields = {}
    for source in sources:
        for name, value in source.items():
            if name == "marks":
                whole[name] = whole.get(name, frozenset()) | value
            elif value is not None:
                whole.setdefault(name, value)
    return whole


def make_request(*sources: Fields) -> Request:
    """Return the request that several parts of a record tell of, joined as by `joined`.

    One without an id gets an empty one, for which the reader puts the record's number.
    """
    return Request(**{"id": "", **joined(*sources)})


def _bare_text(system: object) -> bool:
    """Tell Converse's ``[{"text": ...}]`` from Anthropic's blocks, which have a type."""
    return isinstance(system, list) and any(
        isinstance(block, dict) and "type" not in block and "text" in block for block in system
    )


def _has_input_schema(body: Json) -> bool:
    tools = body.get("tools")
    return isinstance(tools, list) and any(
        isinstance(tool, dict) and "input_schema" in tool for tool in tools
    )


# Text as ``input`` may also be an embedding request's.
_RESPONSES_ONLY = frozenset(
    {"instructions", "previous_response_id", "max_output_tokens", "reasoning", "conversation"}
)


def _is_responses(body: Json) -> bool:
    given = body.get("input")
    if body.get("object") == "response":
        return True
    if isinstance(given, str | list) and not _RESPONSES_ONLY.isdisjoint(body):
        return True
    if isinstance(given, str):
        return "embed" not in (label(body, "model") or "embed") and "encoding_format" not in body
    return isinstance(given, list) and any(
        isinstance(item, dict) and ("role" in item or "call_id" in item) for item in given
    )


def _responses_input(body: Json) -> Fields:
    given = body.get("input")
    if isinstance(given, str):
        items: list[Json] = [{"role": "user", "content": given}]
    else:
        items = fields.json_objects(given, "input") or []
    conversation = label(body, "conversation") or label(child(body, "conversation"), "id")
    previous = label(body, "previous_response_id")
    found: Fields = {"session": conversation, "parent": previous}
    found["response_format"] = child(body, "text").get("format")
    if given is not None:  # a response object need not repeat what it answered
        instructions = opened(body.get("instructions"))
        found |= message_fields(system_message(instructions) + items_to_messages(items))
    if previous or conversation or refers_to_items(items):
        found["marks"] = found.get("marks", frozenset()) | {Mark.HISTORY_NOT_LOGGED}
    return found


def _completion_prompt(prompt: object) -> Fields:
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0] if isinstance(prompt[0], str | list) else prompt
    if isinstance(prompt, str):
        return {"prompt": prompt}
    if isinstance(prompt, list) and all(type(token) is int for token in prompt):
        return {"token_ids": fields.token_ids(prompt, "prompt")}
    if isinstance(prompt, list) and all(isinstance(text, str) for text in prompt):
        raise BadRecord(f"prompt is a batch of {len(prompt)} texts")
    raise BadRecord("prompt is neither one text nor one list of token ids")


def _gemini(body: Json) -> Fields:
    system = opened(body.get("systemInstruction") or body.get("system_instruction"))
    if isinstance(system, dict):
        system = system.get("parts")
    contents = fields.json_objects(body["contents"], "contents") or []
    messages = [
        {"role": _GEMINI_ROLES.get(label(content, "role"), "user"), "content": content.get("parts")}
        for content in contents
    ]
    return message_fields(system_message(system) + messages)


_GEMINI_ROLES: dict[str | None, str] = {"model": "assistant", "function": "tool"}


def _older_tools(body: Json) -> list[Json] | None:
    functions = fields.json_objects(body.get("functions"), "functions")
    if functions:  # OpenAI's spelling before tools
        return [{"type": "function", "function": function} for function in functions]
    return _tools(child(body, "toolConfig").get("tools"))
