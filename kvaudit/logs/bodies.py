"""Request and response bodies of the provider APIs, turned into fields of `Request`.

A body is the JSON that a client sent to, or got from, ``/v1/chat/completions``,
``/v1/completions``, ``/v1/responses`` or ``/v1/messages``. The functions return keyword
arguments for `Request`; a field that the body does not have is left out. Log formats that
wrap bodies (gateways, LiteLLM, Helicone, batches) merge the two dictionaries and add times
and ids of their own.
"""

from __future__ import annotations

from typing import Any

from kvaudit.core.requests import Json, Mark
from kvaudit.logs import fields
from kvaudit.logs.format import BadRecord
from kvaudit.logs.media import find_media

Fields = dict[str, Any]


def request_fields(body: Json) -> Fields:
    """Return the fields of any API's request body, told apart by its shape.

    Raises `BadRecord` where the body holds no prompt in a shape that is known.
    """
    if "messages" in body:
        return anthropic_request(body) if is_anthropic(body) else chat_request(body)
    if "input" in body or "previous_response_id" in body:
        return responses_request(body)
    if "prompt" in body:
        return completion_request(body)
    raise BadRecord("the request body has neither messages nor input nor prompt")


def is_request(body: object) -> bool:
    """Return whether this is a request body of one of the APIs."""
    return isinstance(body, dict) and (
        isinstance(body.get("messages"), list)
        or isinstance(body.get("input"), (str, list))
        or isinstance(body.get("prompt"), (str, list))
    )


def is_anthropic(body: Json) -> bool:
    """Return whether a body with ``messages`` is for Anthropic's API: the system text is apart."""
    return "system" in body or "anthropic_version" in body or "stop_sequences" in body


def chat_request(body: Json) -> Fields:
    """Return the fields of an OpenAI chat completion request."""
    messages = fields.json_objects(body.get("messages"), "messages")
    found = _sampling(body)
    found["messages"] = messages
    tools = body.get("tools")
    if tools is None and body.get("functions") is not None:  # the spelling before tools
        functions = fields.json_objects(body["functions"], "functions") or []
        tools = [{"type": "function", "function": function} for function in functions]
    if tools is not None:
        found["tools"] = fields.json_objects(tools, "tools")
    return found | find_media(messages or ())


def completion_request(body: Json) -> Fields:
    """Return the fields of a completion request: its prompt is a text or token ids."""
    found = _sampling(body)
    prompt = body.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1 and not isinstance(prompt[0], int):
        prompt = prompt[0]
    if isinstance(prompt, str):
        found["prompt"] = prompt
    elif isinstance(prompt, list) and all(isinstance(item, str) for item in prompt):
        raise BadRecord(f"prompt is a batch of {len(prompt)} texts")
    else:
        found["token_ids"] = fields.token_ids(prompt, "prompt")
    return found


def responses_request(body: Json) -> Fields:
    """Return the fields of an OpenAI Responses request.

    With ``previous_response_id`` the history is on the server and not in the log.
    """
    found = _sampling(body)
    messages: list[Json] = []
    if instructions := fields.text(body.get("instructions"), "instructions"):
        messages.append({"role": "system", "content": instructions})
    given = body.get("input")
    if isinstance(given, str):
        messages.append({"role": "user", "content": given})
    else:
        messages += fields.json_objects(given, "input") or ()
    found["messages"] = messages
    if body.get("tools") is not None:
        found["tools"] = fields.json_objects(body["tools"], "tools")
    found |= find_media(messages)
    if previous := fields.text(body.get("previous_response_id"), "previous_response_id"):
        found["parent"] = previous
        found["marks"] = found.get("marks", frozenset()) | {Mark.HISTORY_NOT_LOGGED}
    return found


def anthropic_request(body: Json) -> Fields:
    """Return the fields of an Anthropic Messages request; ``system`` becomes a first message."""
    found = _sampling(body)
    messages = fields.json_objects(body.get("messages"), "messages") or []
    system = body.get("system")
    if system is not None and not isinstance(system, str):
        fields.json_objects(system, "system")
    if system:
        messages = [{"role": "system", "content": system}, *messages]
    found["messages"] = messages
    if body.get("tools") is not None:
        found["tools"] = fields.json_objects(body["tools"], "tools")
    metadata = body.get("metadata")
    if isinstance(metadata, dict) and metadata.get("user_id") is not None:
        found["user"] = fields.text(metadata["user_id"], "metadata.user_id")
    return found | find_media(messages)


def _sampling(body: Json) -> Fields:
    found: Fields = {}
    for name, keys, read in _PARAMETERS:
        for key in keys:
            value = body.get(key)
            if value is not None:
                found[name] = read(value, key)
                break
    form = body.get("response_format")
    if isinstance(form, (dict, str)):
        found["response_format"] = form
    return found


_PARAMETERS = (
    ("model", ("model",), fields.text),
    ("user", ("user", "safety_identifier"), fields.text),
    ("temperature", ("temperature",), fields.number),
    ("top_p", ("top_p",), fields.number),
    ("seed", ("seed",), fields.signed),
    ("max_tokens", ("max_tokens", "max_completion_tokens", "max_output_tokens"), fields.integer),
    ("prompt_cache_key", ("prompt_cache_key",), fields.text),
    ("salt", ("cache_salt",), fields.text),
    ("priority", ("priority",), fields.signed),
)


def response_fields(body: Json) -> Fields:
    """Return the fields of any API's response body: its text, and what it counted."""
    found = usage_fields(body.get("usage") or body.get("usageMetadata"))
    text = _response_text(body)
    if text is not None:
        found["response"] = text
    return found


def usage_fields(usage: object) -> Fields:
    """Return the token counts of a usage object, as every API spells it.

    ``prompt_tokens`` is the whole prompt in all of them: where an API counts the cached part
    apart (Anthropic), it is added.
    """
    if not isinstance(usage, dict):
        return {}
    if "cache_read_input_tokens" in usage or "cache_creation_input_tokens" in usage:
        return _anthropic_usage(usage)
    prompt = _first(usage, "prompt_tokens", "input_tokens", "promptTokenCount")
    output = _first(usage, "completion_tokens", "output_tokens", "candidatesTokenCount")
    cached = _first(usage, "prompt_cache_hit_tokens", "cachedContentTokenCount")
    for key in ("prompt_tokens_details", "input_tokens_details"):
        details = usage.get(key)
        if cached is None and isinstance(details, dict):
            cached = fields.integer(details.get("cached_tokens"), f"{key}.cached_tokens")
    counts = {"prompt_tokens": prompt, "output_tokens": output, "cached_tokens": cached}
    return {name: count for name, count in counts.items() if count is not None}


def _anthropic_usage(usage: Json) -> Fields:
    read = _first(usage, "cache_read_input_tokens") or 0
    written = _first(usage, "cache_creation_input_tokens") or 0
    found: Fields = {"cached_tokens": read}
    fresh = _first(usage, "input_tokens")
    if fresh is not None:
        found["prompt_tokens"] = fresh + read + written
    output = _first(usage, "output_tokens")
    if output is not None:
        found["output_tokens"] = output
    split = usage.get("cache_creation")
    if isinstance(split, dict):
        found["cache_write_5m_tokens"] = _first(split, "ephemeral_5m_input_tokens")
        found["cache_write_1h_tokens"] = _first(split, "ephemeral_1h_input_tokens")
    elif written:
        found["cache_write_5m_tokens"] = written  # the lifetime that is written by default
    return found


def _first(counts: Json, *keys: str) -> int | None:
    for key in keys:
        if counts.get(key) is not None:
            return fields.integer(counts[key], key)
    return None


def _response_text(body: Json) -> str | None:
    choices = body.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        message = choices[0].get("message")
        content = message.get("content") if isinstance(message, dict) else choices[0].get("text")
        return content if isinstance(content, str) else None
    if isinstance(body.get("output"), list):  # Responses: items, of which some are messages
        items = [item for item in body["output"] if isinstance(item, dict)]
        return _texts([part for item in items for part in _parts(item.get("content"))])
    return _texts(_parts(body.get("content")))  # Anthropic


def _parts(content: object) -> list[Json]:
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _texts(parts: list[Json]) -> str | None:
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return "".join(texts) if texts else None
