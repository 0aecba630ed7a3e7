"""A request body in the order in which it is rendered: tools, system text, messages.

Every API's blocks are read here: strings, text blocks, calls and their results, images, the
marks of Anthropic (``cache_control``), Bedrock (``cachePoint``) and OpenAI
(``prompt_cache_breakpoint``).
"""

from __future__ import annotations

from collections.abc import Sequence

from kvaudit.analyzers.template.messages.builder import PromptBuilder
from kvaudit.analyzers.template.messages.shapes import Body
from kvaudit.analyzers.template.structure.holes import has_holes
from kvaudit.analyzers.template.structure.node import Kind, Node
from kvaudit.core.document import Position, Volatility
from kvaudit.core.requests import SYSTEM_ROLES, USER_ROLES

MAX_MESSAGES = 5_000
_TEXT_KEYS = ("text", "content", "thinking", "output", "value")
_MEDIA = frozenset(
    ("image", "image_url", "input_image", "input_audio", "document", "file", "video")
)
_MARKS = ("cache_control", "cachePoint", "cache_point", "prompt_cache_breakpoint")


def render(body: Body, builder: PromptBuilder) -> bool:
    """Add a body's parts to ``builder``; tell whether the conversation goes on in it."""
    for tool in _items(body.tools):
        _tool(tool, builder)
    if body.system is not None:
        _content(body.system, builder, Position.SYSTEM, Volatility.CONSTANT)
    items = _items(body.messages) if body.messages is not None else []
    items = items[:MAX_MESSAGES]
    places = positions(items)
    recorded = not any(_templated(item, builder) for item in items[:200])
    for item, position in zip(items, places, strict=True):
        _message(item, builder, position, _how_often(position, recorded=recorded))
    automatic = body.node.entry("cache_control") if body.node is not body.messages else None
    if automatic is not None and builder.segments:
        builder.mark(automatic, body.node.get("cache_control").word("ttl"))  # type: ignore[union-attr]
    return Position.HISTORY in places or any(item.kind is Kind.HOLE for item in items)


def positions(messages: Sequence[Node]) -> list[Position]:
    """Return where each message stands: what will be sent again, and the newest turn."""
    users = [i for i, m in enumerate(messages) if _role(m) in USER_ROLES and not _only_results(m)]
    newest = users[-1] if users else len(messages)
    found: list[Position] = []
    for index, message in enumerate(messages):
        leads = all(position is Position.SYSTEM for position in found)
        if message.kind is Kind.HOLE or "{{" in _role(message):
            found.append(Position.HISTORY)
        elif _role(message) in SYSTEM_ROLES and leads:
            found.append(Position.SYSTEM)
        elif index >= newest:
            found.append(Position.NEWEST if index == newest else Position.TAIL)
        else:
            found.append(Position.HISTORY)
    return found


def _how_often(position: Position, *, recorded: bool) -> Volatility:
    """Fixed text of a template is the same everywhere; a recorded history is a session's own."""
    if not recorded or position <= Position.FEWSHOT:
        return Volatility.CONSTANT
    return Volatility.SESSION if position is Position.HISTORY else Volatility.REQUEST


def _templated(message: Node, builder: PromptBuilder) -> bool:
    if message.kind is Kind.HOLE:
        return True
    raw = builder.source.text[message.span.start : message.span.end]
    return has_holes(raw, builder.syntax)


def _role(message: Node) -> str:
    return (message.word("role") or "").lower()


def _only_results(message: Node) -> bool:
    """Anthropic sends results of calls as a user's message, and they are not a new turn."""
    blocks = message.get("content")
    if blocks is None or blocks.kind is not Kind.LIST or not blocks.items:
        return False
    return all(
        block.word("type") == "tool_result" or block.get("toolResult") is not None
        for block in blocks.items
    )


def _items(node: Node | None) -> list[Node]:
    if node is None:
        return []
    return node.items if node.kind is Kind.LIST else [node]


def _tool(tool: Node, builder: PromptBuilder) -> None:
    if tool.get("cachePoint") is not None:
        _mark(tool, builder)
        return
    builder.next_block()
    builder.add_raw(tool, Position.TOOLS)
    _mark(tool, builder)
    inner = tool.get("function")
    if inner is not None:
        _mark(inner, builder)


def _message(
    message: Node, builder: PromptBuilder, position: Position, changes: Volatility
) -> None:
    if message.kind is Kind.HOLE:
        builder.next_block()
        builder.add(message, position)
        return
    before = builder.block
    content = message.get("content", "parts", "text", "contents", "value", "output")
    if content is not None:
        _content(content, builder, position, changes)
    for name in ("reasoning_content", "tool_calls", "function_call", "arguments"):
        extra = message.get(name)
        if extra is not None and extra.kind is not Kind.NULL:
            if builder.block == before:
                builder.next_block()
            builder.add_raw(extra, position, changes=changes)
    if builder.block > before:
        _mark(message, builder)


def _content(
    content: Node, builder: PromptBuilder, position: Position, changes: Volatility
) -> None:
    """Add the text of a message: a string, a block, a list of blocks, or Gemini's parts."""
    parts = content.get("parts")
    if parts is not None:
        content = parts
    if content.kind in (Kind.TEXT, Kind.HOLE):
        builder.next_block()
        builder.add(content, position, changes=changes)
        return
    for block in _items(content):
        _block(block, builder, position, changes)


def _block(block: Node, builder: PromptBuilder, position: Position, changes: Volatility) -> None:
    point = block.get("cachePoint", "cache_point")
    if point is not None:
        _mark(block, builder)
        return
    builder.next_block()
    if block.kind in (Kind.TEXT, Kind.HOLE):
        builder.add(block, position, changes=changes)
    elif block.word("type") in _MEDIA or block.get("image", "inlineData") is not None:
        link = _link(block)
        # The bytes of an image say nothing; a link may be signed, and both may have changed.
        if link is not None and (_is_url(link) or link.span.start in builder.changed):
            builder.add(link, position, changes=changes)
    else:
        text = block.get(*_TEXT_KEYS)
        if text is not None and text.kind in (Kind.TEXT, Kind.HOLE):
            builder.add(text, position, changes=changes)
        else:
            builder.add_raw(block, position, changes=changes)
    _mark(block, builder)


def _link(block: Node) -> Node | None:
    """Return the link or the bytes of a medium."""
    for name in ("image_url", "source", "file", "input_audio", "inlineData"):
        inner = block.get(name)
        if inner is not None and inner.kind is Kind.TEXT:
            return inner
        found = None if inner is None else inner.get("url", "data", "file_url", "file_data")
        if found is not None and found.kind is Kind.TEXT:
            return found
    return None


def _is_url(node: Node) -> bool:
    return (node.text or "").startswith(("http://", "https://"))


def _mark(node: Node, builder: PromptBuilder) -> None:
    for name in _MARKS:
        found = node.get(name)
        span = node.entry(name)
        if found is None or span is None or found.kind is Kind.NULL or found.value is False:
            continue
        builder.mark(span, found.word("ttl"))
