"""Items of OpenAI's Responses API, as chat messages; Codex transcripts hold the same items.

A chat template knows messages with a role, the Responses API also has items that are not:
calls, their results, reasoning. Calls and results become what the chat API writes for them;
any other item becomes a content part of an assistant message, whole, so that no two prompts
that differed look alike.
"""

import json
from collections.abc import Iterable

from kvaudit.core.requests import Json
from kvaudit.logs.values.lookup import label

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}


def item_to_message(item: Json) -> Json:
    """Return the chat message for one item; a message with a role is returned as it is."""
    if "role" in item:
        return item
    kind = label(item, "type")
    if kind in _CALLS:
        arguments = item.get(_CALLS[kind], "")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        function = {"name": label(item, "name") or "", "arguments": arguments}
        call = {"id": label(item, "call_id", "id"), "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    if "output" in item and "call_id" in item:
        return {"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]}
    return {"role": "assistant", "content": [item]}


def items_to_messages(items: Iterable[Json]) -> list[Json]:
    """Return the chat messages for the items of a Responses input."""
    return [item_to_message(item) for item in items]


def refers_to_items(items: Iterable[Json]) -> bool:
    """Tell whether some item only names one that the provider keeps."""
    return any(item.get("type") == "item_reference" for item in items)
