"""The parts of a request body as plain values: tools, system text, messages, without markers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kvaudit.analyzers.template.request_log.request import Message, Path, Record, Text
from kvaudit.core.requests import SYSTEM_ROLES

MARKS = ("cache_control", "cachePoint", "prompt_cache_breakpoint")
_IDS = frozenset(("id", "call_id", "tool_call_id", "tool_use_id", "toolUseId", "type", "index"))
_OF_CALLS = ("arguments", "input", "output", "result", "duration_ms", "timestamp", "start_time")
_THINKING = ("thinking", "reasoning", "redacted_thinking")


def fill(record: Record) -> None:
    """Set a record's tools, system texts and messages from its body."""
    body = record.body
    record.tools = list(_tools(body, record.path))
    for name in ("system", "instructions", "systemInstruction", "system_instruction"):
        if isinstance(body.get(name), (str, list, dict)):
            record.system += _texts(body[name], (*record.path, name))
    if isinstance(body.get("prompt"), str) and "model" in body and "messages" not in body:
        record.system += _texts(body["prompt"], (*record.path, "prompt"))
    for path, raw in _raw_messages(body, record.path):
        message = _message(raw, path)
        if message.role in SYSTEM_ROLES and not record.messages:
            record.system += message.texts
        else:
            record.messages.append(message)
    if not (record.system or record.messages):
        # A list of bare names in a row that says nothing to a model is a field of a data set.
        record.tools = [(path, tool) for path, tool in record.tools if not isinstance(tool, str)]


def _tools(body: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the tools with the ways to them; Gemini lists several in one."""
    inner = body.get("toolConfig")
    owners: list[tuple[Path, Any]] = [((*path, n), body.get(n)) for n in ("tools", "functions")]
    if isinstance(inner, dict):
        owners.append(((*path, "toolConfig", "tools"), inner.get("tools")))
    for here, given in owners:
        for at, tool in enumerate(given if isinstance(given, list) else []):
            declared = tool.get("functionDeclarations") if isinstance(tool, dict) else None
            if isinstance(declared, list):
                yield from (
                    ((*here, at, "functionDeclarations", i), d) for i, d in enumerate(declared)
                )
            elif isinstance(tool, str) or (isinstance(tool, dict) and _is_definition(tool)):
                yield (*here, at), tool


def _is_definition(tool: Mapping[str, Any]) -> bool:
    """Whether a value defines a tool, and is no record of a call."""
    if any(isinstance(tool.get(name), dict) for name in ("function", "toolSpec", "custom")):
        return True
    if isinstance(tool.get("name"), str):
        return not any(name in tool for name in _OF_CALLS)
    return isinstance(tool.get("type"), str) and not any(name in tool for name in _OF_CALLS)


def _raw_messages(body: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for name in ("messages", "contents", "input"):
        given = body.get(name)
        if isinstance(given, list):
            yield from (((*path, name, i), m) for i, m in enumerate(given) if isinstance(m, dict))
            return
        if name == "input" and isinstance(given, str) and "instructions" in body:
            yield path, {"role": "user", "content": given}


def _message(raw: Mapping[str, Any], path: Path) -> Message:
    message = Message(role=str(raw.get("role") or raw.get("type") or "").lower(), path=path)
    message.marked = any(raw.get(mark) for mark in MARKS)
    for name in ("content", "parts", "text", "output"):
        if raw.get(name) is not None:
            _content(message, raw[name], (*path, name))
    for name in ("reasoning_content", "reasoning", "thinking"):
        if isinstance(raw.get(name), str) and raw[name]:
            message.thoughts.append(Text(text=raw[name], path=(*path, name)))
    calls = raw.get("tool_calls")
    for at, call in enumerate(calls if isinstance(calls, list) else []):
        if isinstance(call, dict):
            inner = call.get("function")
            if isinstance(inner, dict):
                _call(message, inner, (*path, "tool_calls", at, "function"))
            else:
                _call(message, call, (*path, "tool_calls", at))
    if "arguments" in raw:
        _call(message, raw, path)
    message.said = "\x00".join(part.text for part in message.parts)
    return message


def _content(message: Message, content: Any, path: Path) -> None:
    if isinstance(content, str):
        _say(message, content, path)
        return
    message.one_string = False
    blocks = content if isinstance(content, list) else [content]
    kinds = set()
    for at, block in enumerate(blocks):
        here = (*path, at) if isinstance(content, list) else path
        if isinstance(block, str):
            _say(message, block, here)
        elif isinstance(block, dict):
            message.marked = message.marked or any(block.get(mark) for mark in MARKS)
            if set(block) != {"cachePoint"}:
                kinds.add(str(block.get("type")) if "toolResult" not in block else "tool_result")
                _block(message, block, here)
    message.results = kinds == {"tool_result"}


def _block(message: Message, block: Mapping[str, Any], path: Path) -> None:
    kind = str(block.get("type", ""))
    for name in _THINKING:
        if kind in _THINKING and isinstance(block.get(name), str):
            message.thoughts.append(Text(text=block[name], path=(*path, name)))
            return
    if isinstance(block.get("text"), str):
        _say(message, block["text"], (*path, "text"))
    elif kind == "tool_use" or "toolUse" in block or "functionCall" in block:
        inner = next((k for k in ("toolUse", "functionCall") if k in block), None)
        _call(message, block[inner] if inner else block, (*path, inner) if inner else path)
    elif kind == "tool_result" and "content" in block:
        message.texts += _texts(block["content"], (*path, "content"))
    else:
        message.others.append(_media(block, path) or Text(text=_flat(block), path=path))


def _media(block: Mapping[str, Any], path: Path) -> Text | None:
    """Return the link or the bytes of an image or a file."""
    for name in ("image_url", "source", "file", "input_audio", "inlineData"):
        inner = block.get(name)
        if isinstance(inner, str):
            return Text(text=inner, path=(*path, name))
        for key in ("url", "data", "file_url", "file_data"):
            if isinstance(inner, dict) and isinstance(inner.get(key), str):
                return Text(text=inner[key], path=(*path, name, key))
    return None


def _say(message: Message, text: str, path: Path) -> None:
    """Add a text; what open models think stands in it between tags."""
    if message.role == "assistant" and "</think>" in text:
        start, end = text.find("<think>"), text.find("</think>")
        thought = text[max(start, 0) : end]
        message.thoughts.append(Text(text=thought, path=path))
        text = text[: max(start, 0)] + text[end + len("</think>") :].lstrip("\n")
    message.texts.append(Text(text=text, path=path))


def _call(message: Message, call: Mapping[str, Any], path: Path) -> None:
    if not isinstance(call, dict):
        return
    message.others.append(Text(text=str(call.get("name", "")), path=(*path, "name")))
    for name in ("arguments", "input", "args"):
        given = call.get(name)
        if given is not None:
            text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
            message.calls.append(Text(text=text, path=(*path, name)))


def _texts(value: Any, path: Path) -> list[Text]:
    """Return the strings of a content: a string, a block, a list of either."""
    if isinstance(value, str):
        return [Text(text=value, path=path)]
    if isinstance(value, dict):
        for name in ("text", "content", "parts"):
            if isinstance(value.get(name), (str, list)):
                return _texts(value[name], (*path, name))
        return [] if set(value) <= set(MARKS) else [Text(text=_flat(value), path=path)]
    if isinstance(value, list):
        return [t for at, item in enumerate(value) for t in _texts(item, (*path, at))]
    return []


def _flat(value: Mapping[str, Any]) -> str:
    """Return a block as text, without markers and the ids of calls."""
    kept = {k: v for k, v in value.items() if k not in MARKS and k not in _IDS}
    return json.dumps(kept, ensure_ascii=False, default=str)
