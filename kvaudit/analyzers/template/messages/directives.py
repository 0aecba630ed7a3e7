"""What a request says about caching outside of its text: keys, switches, cache objects."""

from __future__ import annotations

import re

from kvaudit.analyzers.template.messages.builder import PromptBuilder
from kvaudit.analyzers.template.messages.shapes import Body
from kvaudit.analyzers.template.structure.holes import pieces, value_of
from kvaudit.analyzers.template.structure.node import Kind, Node
from kvaudit.core.document import Evidence, Origin, Position, Volatility
from kvaudit.core.sources import Span

_ON_PURPOSE = re.compile(r"(?:^|[^a-z])(?:bench\w*|tests?|evals?|evaluations?)(?:[^a-z]|$)")
_COMMENT = re.compile(r"(?://|#|/\*)[ \t]*\w")
_INVALIDATING = (
    "model",
    "tool_choice",
    "toolChoice",
    "parallel_tool_calls",
    "reasoning_effort",
    "effort",
    "thinking",
    "service_tier",
)
_LONG_KEY = 64
"""Characters OpenAI takes; a longer key holds a prompt."""


def observe_directives(body: Body, builder: PromptBuilder) -> None:
    """Note what the body's fields do to the cache."""
    if body.node is body.messages:
        return
    _routing_key(body.node, builder)
    _switches(body, builder)
    _cache_object(body.node, builder)
    _dropped_marks(body, builder)
    _invalidating(body.node, builder)


def _routing_key(node: Node, builder: PromptBuilder) -> None:
    key, span = node.get("prompt_cache_key"), node.entry("prompt_cache_key")
    if key is None or span is None:
        return
    for written in _holes(key):
        value = value_of(written, builder.said)
        if value.volatility >= Volatility.TURN:
            builder.observe(
                "bad-routing-key",
                span,
                f"{written} differs from request to request",
                evidence=value.evidence,
            )
            return
    if len(key.text or "") > _LONG_KEY and " " in (key.text or ""):
        builder.observe("bad-routing-key", span, "the key holds text of the prompt")


def _holes(node: Node) -> list[str]:
    if node.kind is Kind.HOLE:
        return [str(node.value)]
    return [p.expression for p in pieces(node.text or "") if p.expression is not None]


def _switches(body: Body, builder: PromptBuilder) -> None:
    node = body.node
    seen: list[tuple[Span | None, str]] = []
    for name in ("cache_prompt", "enable_prompt_caching", "prompt_caching", "enable_caching"):
        switch = node.get(name)
        if switch is not None and switch.value is False:
            seen.append((node.entry(name), f"{name} is false"))
    options = node.get("prompt_cache_options")
    if options is not None and options.word("mode") == "explicit" and not builder.markers:
        seen.append(
            (node.entry("prompt_cache_options"), "mode is explicit, and no breakpoint is set")
        )
    for span, detail in seen:
        if span is not None and not _on_purpose(builder, span):
            builder.observe("caching-disabled", span, detail)


def _on_purpose(builder: PromptBuilder, span: Span) -> bool:
    """A benchmark switches caching off, and so does a line that says why."""
    text = builder.source.text
    end = text.find("\n", span.end)
    rest = text[span.end : len(text) if end < 0 else end]
    return bool(_ON_PURPOSE.search(builder.source.path.lower()) or _COMMENT.search(rest))


def _cache_object(node: Node, builder: PromptBuilder) -> None:
    """Gemini's cached content: made with a lifetime, and used without what it already holds."""
    used, span = node.get("cachedContent", "cached_content"), None
    if used is not None and used.kind in (Kind.TEXT, Kind.HOLE):
        for name in ("systemInstruction", "system_instruction", "tools", "toolConfig"):
            span = node.entry(name)
            if span is not None:
                builder.observe(
                    "cache-object-misused", span, f"{name} is given beside the cache that holds it"
                )
        return
    made = node.entry("displayName") or node.entry("display_name")
    if made is None or not (node.word("model") or "").startswith("models/"):
        return
    if node.get("ttl", "expireTime", "expire_time") is None and node.get("contents") is not None:
        builder.observe("cache-object-misused", made, "the cache is made without a ttl")


def _dropped_marks(body: Body, builder: PromptBuilder) -> None:
    messages = body.messages.items if body.messages is not None else []
    for message in messages:
        span = message.entry("cache_control")
        if body.provider == "anthropic" and span is not None:
            builder.observe(
                "marker-dropped",
                span,
                "it stands on the message, and the API reads it on content blocks only",
                position=Position.HISTORY,
            )
        content = message.get("content")
        for block in content.items if content is not None else []:
            span = block.entry("cache_control")
            if span is not None and block.word("type") in ("thinking", "redacted_thinking"):
                builder.observe(
                    "marker-dropped",
                    span,
                    "a thinking block takes no marker",
                    position=Position.HISTORY,
                )


def _invalidating(node: Node, builder: PromptBuilder) -> None:
    places = [(node, name) for name in _INVALIDATING]
    for outer, inner in (
        ("reasoning", "effort"),
        ("output_config", "effort"),
        ("thinking", "budget_tokens"),
    ):
        below = node.get(outer)
        if below is not None and below.kind is Kind.MAP:
            places.append((below, inner))
    for owner, name in places:
        given, span = owner.get(name), owner.entry(name)
        if given is None or span is None:
            continue
        for written in _holes(given):
            value = value_of(written, builder.said)
            if value.volatility >= Volatility.TURN and value.origin is not Origin.USER_INPUT:
                builder.observe(
                    "invalidating-parameter-varies",
                    span,
                    f"{name} is {written}",
                    evidence=Evidence.NAME,
                )
