"""Chat messages out of the attributes of OpenTelemetry's GenAI conventions, old and new.

Since 2025 messages have ``parts``, before that they were events or a JSON text, and
OpenLLMetry numbers them into the attribute names. What was sent on the wire is not recorded;
the messages made here say the same in the chat API's words, which is what a template reads.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from kvaudit.core.requests import Json
from kvaudit.logs.values.lookup import label, opened

_NUMBERED = re.compile(r"gen_ai\.prompt\.(\d+)\.(.+)")
_MESSAGE_EVENT = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message")


def input_messages(attributes: Json, events: Iterable[tuple[str, Json]]) -> list[Json] | None:
    """Return the messages that were sent, None where content was not recorded."""
    given = opened(attributes.get("gen_ai.input.messages"))
    if given is None:
        given = opened(attributes.get("gen_ai.prompt"))
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    if not isinstance(given, list):
        given = list(_numbered(attributes)) or list(_from_events(events))
    messages = [m for entry in given if isinstance(entry, dict) for m in to_messages(entry)]
    system = opened(attributes.get("gen_ai.system_instructions"))
    if system:
        content = parts_content(system) if isinstance(system, list) else system
        messages.insert(0, {"role": "system", "content": content})
    return messages or None


def to_messages(entry: Json) -> Iterator[Json]:
    """Yield the chat messages of one recorded message: one, or one for each tool result."""
    parts = opened(entry.get("parts"))
    if not isinstance(parts, list):
        yield entry
        return
    role = label(entry, "role") or "user"
    calls = [_call(part) for part in _of_type(parts, "tool_call")]
    content = parts_content([part for part in parts if not _is_tool_part(part)])
    if calls:
        yield {"role": role, "content": content or None, "tool_calls": calls}
    elif content:
        yield {"role": role, "content": content}
    for part in _of_type(parts, "tool_call_response"):
        result = part.get("response", part.get("result"))
        if isinstance(result, dict):
            result = json.dumps(result, ensure_ascii=False)
        yield {"role": "tool", "tool_call_id": part.get("id"), "content": result}


def parts_content(parts: list[Any]) -> str | list[Any]:
    """Return the content of message parts: one text as text, anything else as a list."""
    content = [
        {"type": "text", "text": part["content"]}
        if isinstance(part, dict) and part.get("type") == "text" and "content" in part
        else part
        for part in parts
    ]
    if len(content) == 1 and isinstance(content[0], dict) and content[0].get("type") == "text":
        text = content[0].get("text")
        return text if isinstance(text, str) else content
    return content


def _of_type(parts: list[Any], kind: str) -> list[Json]:
    return [part for part in parts if isinstance(part, dict) and part.get("type") == kind]


def _is_tool_part(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") in ("tool_call", "tool_call_response")


def _call(part: Json) -> Json:
    arguments = part.get("arguments", "")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    function = {"name": part.get("name"), "arguments": arguments}
    return {"id": part.get("id"), "type": "function", "function": function}


def _numbered(attributes: Json) -> Iterator[Json]:
    messages: dict[int, Json] = {}
    for name, value in attributes.items():
        match = _NUMBERED.fullmatch(name)
        if match:
            messages.setdefault(int(match[1]), {})[match[2]] = value
    for _, message in sorted(messages.items()):
        content = {"role": message.get("role"), "content": opened(message.get("content"))}
        yield content | {k: v for k, v in message.items() if k not in content}


def _from_events(events: Iterable[tuple[str, Json]]) -> Iterator[Json]:
    for name, attributes in events:
        match = _MESSAGE_EVENT.fullmatch(name)
        if match:
            body = opened(attributes.get("gen_ai.event.content")) or attributes
            yield {"role": match[1], **(body if isinstance(body, dict) else {"content": body})}
        elif name == "gen_ai.content.prompt":
            given = opened(attributes.get("gen_ai.prompt"))
            listed = given if isinstance(given, list) else [{"role": "user", "content": given}]
            yield from (entry for entry in listed if isinstance(entry, dict))
        elif name == "gen_ai.client.inference.operation.details":
            yield from input_messages(attributes, ()) or ()
