"""LangChain's messages as chat messages: its own classes, serialised, or plain ones.

LangChain names roles after who speaks (human, ai) and serialises a message as the constructor
call that makes it.
"""

import json

from kvaudit.core.requests import Json
from kvaudit.logs.values.lookup import child, label

_ROLES = {"human": "user", "ai": "assistant", "aimessagechunk": "assistant", "chat": "user"}


def to_message(entry: Json) -> Json:
    """Return the chat message for one message of LangChain; any other one as it is."""
    message = entry
    if entry.get("type") == "constructor" or "kwargs" in entry:
        path = entry.get("id")
        name = path[-1] if isinstance(path, list) and path and isinstance(path[-1], str) else ""
        message = {"type": name.removesuffix("Chunk").removesuffix("Message").lower()}
        message |= child(entry, "kwargs")
    elif "data" in entry and "content" in child(entry, "data"):
        message = {"type": entry.get("type")} | child(entry, "data")
    if "role" in message or "content" not in message:
        return message
    speaker = (label(message, "role", "type") or "user").lower()
    found: Json = {"role": _ROLES.get(speaker, speaker), "content": message["content"]}
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        found["tool_calls"] = [_call(call) for call in calls if isinstance(call, dict)]
    if label(message, "tool_call_id"):
        found["tool_call_id"] = message["tool_call_id"]
    return found


def _call(call: Json) -> Json:
    if "function" in call:
        return call
    arguments = json.dumps(call.get("args"), ensure_ascii=False)
    function = {"name": call.get("name"), "arguments": arguments}
    return {"id": call.get("id"), "type": "function", "function": function}
