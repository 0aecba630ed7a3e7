"""Which API a request body is written for, and where its parts are."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kvaudit.analyzers.template.structure.node import Kind, Node
from kvaudit.core.requests import SYSTEM_ROLES
from kvaudit.cost.providers.facts import provider_of_model

ROLES = frozenset(
    ("system", "developer", "user", "human", "assistant", "ai", "model", "tool", "function")
)
_SAYS = ("content", "text", "parts", "contents", "tool_calls", "value")
_ITEM_TYPES = frozenset(("function_call", "function_call_output", "reasoning", "message"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The parts of a request body; every one may be missing."""

    node: Node
    tools: Node | None
    system: Node | None
    messages: Node | None
    model: str | None
    provider: str | None
    """Only where the shape itself says so: another API may serve the same model."""


def is_message(node: Node) -> bool:
    """Whether a value is one message of a conversation."""
    role = node.word("role")
    if role is not None:
        known = role.lower() in ROLES or role.lstrip().startswith("{{")
        return known and node.get(*_SAYS) is not None
    return (
        node.word("type") in _ITEM_TYPES and node.get("arguments", "output", "content") is not None
    )


def is_conversation(node: Node | None) -> bool:
    """Whether a value is a list of messages, or of messages and holes."""
    if node is None or node.kind is not Kind.LIST or not node.items:
        return False
    spoken = [item for item in node.items if item.kind is not Kind.HOLE]
    return bool(spoken) and all(is_message(item) for item in spoken[:50])


def body_of(node: Node) -> Body | None:
    """Return the request that a map or a list of messages is; None where it is none."""
    if is_conversation(node):
        return Body(node=node, tools=None, system=None, messages=node, model=None, provider=None)
    if node.kind is not Kind.MAP or _messages(node) is None:
        return None
    return parts_of(node)


def parts_of(node: Node) -> Body:
    """Return the parts of what is known to be a request."""
    messages = _messages(node)
    model = node.word("model", "modelId", "model_id", "deployment")
    inner = node.get("toolConfig", "tool_config")
    return Body(
        node=node,
        tools=node.get("tools", "functions") or (inner and inner.get("tools")) or None,
        system=node.get("system", "instructions", "systemInstruction", "system_instruction"),
        messages=messages,
        model=model,
        provider=_provider(node, model, messages),
    )


def _messages(node: Node) -> Node | None:
    for name in ("messages", "contents"):
        found = node.get(name)
        if found is None:
            continue
        if is_conversation(found):
            return found
        if found.kind is Kind.HOLE and node.get("system", "tools", "systemInstruction"):
            return found
        if name == "contents" and found.kind is Kind.LIST and _all_parts(found):
            return found
    given = node.get("input")
    if given is not None and node.word("model", "instructions") is not None:
        if is_conversation(given):
            return given
        if given.kind in (Kind.TEXT, Kind.HOLE) and node.word("instructions"):
            return given
    return None


def _all_parts(node: Node) -> bool:
    return bool(node.items) and all(item.get("parts") is not None for item in node.items[:20])


def _provider(node: Node, model: str | None, messages: Node | None) -> str | None:
    known = provider_of_model(model) if model else None
    tools = node.get("tools")
    first = (
        tools.items[0] if tools is not None and tools.kind is Kind.LIST and tools.items else None
    )
    if node.get("inferenceConfig", "toolConfig", "modelId") is not None:
        return "bedrock"
    if node.get("contents") is not None:
        return "gemini"
    if node.get("anthropic_version") is not None:
        return "bedrock" if "bedrock" in (node.word("anthropic_version") or "") else "anthropic"
    if known == "anthropic" and not _openai_shape(messages, first):
        if node.get("system") is not None or (first is not None and first.get("input_schema")):
            return "anthropic"
        return (
            "anthropic"
            if re.match(r"claude[-.\w]*$", model or "") and node.get("max_tokens")
            else None
        )
    if known in ("openai", "deepseek", "mistral"):
        return known
    return "openai" if node.get("prompt_cache_key", "prompt_cache_options") is not None else None


def _openai_shape(messages: Node | None, tool: Node | None) -> bool:
    if tool is not None and tool.get("function") is not None:
        return True
    return messages is not None and any(m.word("role") in SYSTEM_ROLES for m in messages.items[:1])
