"""Which fields of a request decide its answer, and what is compared of them.

A field matters when the answer to one request may not be given to another that differs in it:
what the model is, whose answer it is, what was asked, and how it is sampled. What only says when,
where and how a request was served does not: ids, times, session, instance, salt, priority.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import orjson

from kvaudit.core.requests import SYSTEM_ROLES, Request

CONTENT = ("messages", "prompt", "token_ids", "block_ids", "media_hashes")
"""What was asked. That it differs from request to request is traffic, and no fault of a key."""
OPTIONS = (
    *("tool_choice", "thinking", "reasoning", "reasoning_effort", "effort", "output_config"),
    "parallel_tool_calls",
)
"""Options of a request's body that change the answer; see `Request.cache_options`."""
MATTERS = (
    *("model", "lora", "tenant", "user", *CONTENT, "tools", "response_format"),
    *("temperature", "top_p", "seed", "max_tokens", *OPTIONS),
)
"""In the order in which a proposed key names them."""
_SYSTEM, _LAST = "system_prompt", "last_message"
DERIVED = (_SYSTEM, _LAST)
"""Parts of ``messages`` that keys are often made of."""
PARTS_OF_CONTENT = (*CONTENT, *DERIVED)
_SPELLINGS = {"tool_choice": "toolChoice"}
_RECORD = frozenset(Request.record_fields())


def known_fields() -> tuple[str, ...]:
    """Return the names that a key may have without a look at the log."""
    return (*Request.record_fields(), *OPTIONS, *DERIVED)


def value_of(request: Request, name: str) -> Any:
    """Return a request's value; None where it has none."""
    if name in DERIVED:
        return _part(request, name)
    if name == "block_ids" and request.block_ids is not None:
        # Hashes say nothing of a partial last block, but the length does.
        ids = [int(each) for each in request.block_ids]
        return [request.block_scope, request.prompt_tokens, ids]
    if name in _RECORD:
        value = getattr(request, name)
        # An empty list of tools is no tools, and prompts the same.
        return None if isinstance(value, tuple | list | frozenset) and not value else value
    for values in (request.cache_options, request.columns):
        for spelling in (name, _SPELLINGS.get(name)):
            if values is not None and spelling in values and values[spelling] is not None:
                return values[spelling]
    return None


def _part(request: Request, name: str) -> Any:
    messages = request.messages
    if not messages:
        return None
    if name == _LAST:
        return messages[-1].get("content")
    system = [m.get("content") for m in messages if m.get("role") in SYSTEM_ROLES]
    return system or None


def canonical(value: Any) -> bytes:
    """Return the same bytes for values that mean the same, whatever their key order or form."""
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bool):
        return b"b1" if value else b"b0"
    if isinstance(value, int | float):
        # A log's 1 and 1.0 are one temperature.
        whole = isinstance(value, float) and value.is_integer()
        return f"n{int(value) if whole else value!r}".encode()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, frozenset):
        value = sorted(value)
    if isinstance(value, Sequence) and not isinstance(value, list):
        value = list(value)
    try:
        return b"j" + orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # integers of more than 64 bits, half a surrogate pair
        return b"j" + json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
