"""Switches and marks of provider caches, as requests set them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.ecmascript.bodies import frame_at
from kvaudit.analyzers.source.ecmascript.code import last_name, observe, pair_value, requests, short
from kvaudit.analyzers.source.ecmascript.engine import Engine
from kvaudit.analyzers.source.ecmascript.evaluate import evaluate
from kvaudit.analyzers.source.ecmascript.fanout import fanned_out
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS, LOOPS
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.core.document import Evidence, Observation, Origin

_ROUTING = ("prompt_cache_key", "promptCacheKey")
_OFF = re.compile(
    r"cache_prompt|prompt_caching|enable_prompt_cach(e|ing)|use_prompt_cache|enable_prefix_caching"
)
_VARYING = (
    "model", "tool_choice", "toolChoice", "thinking", "reasoning_effort", "reasoningEffort",
    "effort", "parallel_tool_calls", "service_tier",
)  # fmt: skip
_PER_TURN = re.compile(
    r"\b(question|query|lastMessage|userMessage|input|prompt|text|step|turn|attempt|iteration|retry|retries|stepNumber|stepIndex|\w*[cC]ount)\b"
)
_MARKED_LIST = re.compile(
    r"(\w+_)?(messages|blocks|parts|content|contents|tools|system|history|items|sections)"
)
_OPENAI_FORM = re.compile(
    r"""\bfunction["']?\s*:\s*\{|\brole["']?\s*:\s*["'](?:system|developer)["']"""
)
"""A definition of a tool inside another, and a system text among the messages."""
_COUNTS = re.compile(r"\.length\s*[<>]|\.slice\(")
_MARKS = ("cache_control", "cacheControl", "cachePoint")


def directive_observations(engine: Engine) -> Iterator[Observation]:
    """Yield what the file sets that keeps a provider from caching."""
    yield from _routing_keys(engine)
    yield from _switched_off(engine)
    yield from _varying(engine)
    yield from _marked_each(engine)
    yield from _cache_objects(engine)
    yield from fanned_out(engine)


def _routing_keys(engine: Engine) -> Iterator[Observation]:
    for node in engine.module.objects:
        value = pair_value(engine, node, *_ROUTING)
        if value is None or value.kind == "shorthand_property_identifier":
            continue
        parts = evaluate(engine, value, frame_at(engine, value)).printed
        for part in parts:
            new = (
                part.origin in (Origin.RANDOM, Origin.CLOCK) and part.evidence is not Evidence.NAME
            )
            holds_text = part.origin is Origin.USER_INPUT
            if new or holds_text:
                what = "is new for every request" if new else "holds the text of the request"
                detail = f"{short(engine, value)} {what}"
                yield observe(engine, value, "bad-routing-key", detail, evidence=part.evidence)
                break


def _switched_off(engine: Engine) -> Iterator[Observation]:
    for node in engine.module.objects:
        for kid in node.kids:
            key, value = kid.get("key"), kid.get("value")
            if kid.kind != "pair" or key is None or value is None or _explained(engine, kid):
                continue
            name = snake_case(engine.module.text(key).strip("\"'"))
            if value.kind == "false" and _OFF.fullmatch(name) and _is_request(engine, node):
                yield observe(engine, kid, "caching-disabled", f"{short(engine, kid)} turns it off")
            if name == "prompt_cache_options" and _is_explicit(engine, value):
                detail = f"{short(engine, kid)}, and no breakpoint is set"
                yield observe(engine, kid, "caching-disabled", detail)


def _is_explicit(engine: Engine, value: Node) -> bool:
    """Whether only marked prefixes are cached, in a file that marks none."""
    explicit = re.search(r"mode[\"']?\s*:\s*[\"']explicit", engine.module.text(value))
    return explicit is not None and "prompt_cache_breakpoint" not in engine.module.source.text


def _is_request(engine: Engine, node: Node) -> bool:
    return (
        pair_value(
            engine, node, "model", "messages", "prompt", "temperature", "n_predict", "stream"
        )
        is not None
    )


def _explained(engine: Engine, node: Node) -> bool:
    line = engine.module.source.line(engine.module.source.place(node.start).line)
    return "//" in line or "/*" in line


def _varying(engine: Engine) -> Iterator[Observation]:
    """Yield parameters that drop the cache and are chosen anew for each turn."""
    for body in requests(engine):
        for key in _VARYING:
            value = pair_value(engine, body, key)
            if value is None or value.kind != "ternary_expression":
                continue
            if key == "tool_choice" and _is_of_openai(engine, body):
                continue
            condition = value.get("condition")
            if condition is None or not _PER_TURN.search(engine.module.text(condition)):
                continue
            detail = f"{key} depends on {short(engine, condition, 40)}"
            yield observe(engine, value, "invalidating-parameter-varies", detail)


def _is_of_openai(engine: Engine, body: Node) -> bool:
    """Whether a body has OpenAI's form, whose cache does not depend on the choice of a tool.

    Its list of what a change invalidates (`cost/providers/data`) does not name it.
    """
    for held in (pair_value(engine, body, "tools"), pair_value(engine, body, "messages")):
        if held is not None and _OPENAI_FORM.search(engine.module.text(held)):
            return True
    return False


def _marked_each(engine: Engine) -> Iterator[Observation]:
    """Yield markers that a loop sets on every block; providers take four."""
    for node in engine.module.assignments:
        left = node.get("left")
        if left is None or last_name(engine, left) not in _MARKS:
            continue
        loop = next(
            (
                a
                for a in node.ancestors()
                if a.kind in LOOPS or a.kind in FUNCTIONS or a.kind == "if_statement"
            ),
            None,
        )
        if loop is None or loop.kind == "if_statement":
            continue
        each = loop.kind == "for_in_statement" and _is_whole_list(engine, loop.get("right"))
        if each or (loop.kind in FUNCTIONS and _is_each(engine, loop)):
            yield observe(engine, node, "too-many-markers", "it is set on every block of a loop")
    for function in engine.module.functions:
        if function.kind != "arrow_function" or not _is_each(engine, function):
            continue
        for given in engine.module.returned(function):
            inner = (
                given.kids[0] if given.kind == "parenthesized_expression" and given.kids else given
            )
            marker = pair_value(engine, inner, *_MARKS) if inner.kind == "object" else None
            guarded = any(
                a.kind in ("if_statement", "switch_case") for a in _up_to(given, function)
            )
            if marker is not None and marker.kind == "object" and not guarded:
                yield observe(
                    engine, marker, "too-many-markers", "it is set on every block of a loop"
                )


def _up_to(node: Node, end: Node) -> Iterator[Node]:
    for around in node.ancestors():
        if around is end:
            return
        yield around


def _is_each(engine: Engine, function: Node) -> bool:
    """Whether a function is called with every element of a list of blocks."""
    around = function.parent
    call = around.parent if around is not None and around.kind == "arguments" else None
    callee = call.get("function") if call is not None else None
    if callee is None or last_name(engine, callee) not in ("map", "forEach"):
        return False
    return _is_whole_list(engine, callee.get("object"))


def _is_whole_list(engine: Engine, node: Node | None) -> bool:
    if node is None or node.kind not in ("identifier", "member_expression"):
        return False
    named = _MARKED_LIST.fullmatch(snake_case(last_name(engine, node))) is not None
    return named and not _is_capped(engine, node)


def _is_capped(engine: Engine, node: Node) -> bool:
    """Whether a list comes from a function of the file that looks at how many there are."""
    value = engine.module.declared_as(node)
    if value is None or value.kind != "call_expression":
        return False
    maker = engine.module.resolve(value, engine.module.dotted(value.get("function")))
    return maker is not None and _COUNTS.search(engine.module.text(maker.node)) is not None


def _cache_objects(engine: Engine) -> Iterator[Observation]:
    for node in engine.module.calls:
        if not re.search(
            r"(^|\.)(caches|cacheManager|cachedContents)\.create$",
            engine.module.dotted(node.get("function")),
        ):
            continue
        given = node.get("arguments")
        text = engine.module.text(given) if given is not None else ""
        if "model" in text and not re.search(r"\b(ttl\w*|expireTime|expire_time)\b|\.\.\.", text):
            yield observe(engine, node, "cache-object-misused", "it has no lifetime")
