"""Parameters of a request that decide about caching: keys, switches, what invalidates."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kvaudit.analyzers.source.python.code import is_history, last_name, nodes, observe, short
from kvaudit.analyzers.source.python.drafts import Draft
from kvaudit.analyzers.source.python.engine import Engine, Phase, Seen, Unit
from kvaudit.core.document import Evidence, Observation, Origin, Position
from kvaudit.core.doubt import Doubt

_INVALIDATES = {
    "tool_choice", "reasoning_effort", "effort", "thinking", "reasoning", "response_format",
    "parallel_tool_calls", "service_tier", "output_config",
}  # fmt: skip
_OPENAI = re.compile(r"(.*\.)?(chat\.completions|responses)\.(create|parse|stream)")
_NOT_OF_OPENAI = {"tool_choice", "parallel_tool_calls", "service_tier"}
"""What does not invalidate OpenAI's cache, by the data of providers."""
_PER_TURN = re.compile(
    r"\b(step|turn|iteration|attempt|round|retry|retries|first|last|hard|complex|difficult|simple"
    r"|query|question|i|n|iter|loop\w*|is_first\w*|is_last\w*|\w*_count|\w*_step|\w*_turn)\b|len\("
)
_HAS_TOOLS = re.compile(r"len\([\w.]*(?:tools|functions)\)", re.IGNORECASE)
_OFF = {
    "cache_prompt",
    "enable_prefix_caching",
    "enable_prompt_caching",
    "use_prompt_cache",
    "prompt_caching",
}
_MEASURES = re.compile(r"bench|test|eval|profil|ablat", re.IGNORECASE)


def observed(engine: Engine, unit: Unit, drafts: Sequence[Draft]) -> Iterator[Observation]:
    """Yield what is wrong with the parameters of a function's requests."""
    for seen in unit.seen:
        yield from _routing_key(seen)
        yield from _varies(engine, unit, seen)
        yield from _cache_object(engine, unit, seen)
        yield from _fanned_out(engine, seen)
    near = "/".join(engine.module.source.path.split("/")[-3:])
    if not _MEASURES.search(near) and not _MEASURES.search(unit.name):
        yield from _switched_off(engine, unit)


def _routing_key(seen: Seen) -> Iterator[Observation]:
    keys = [seen.named[n] for n in ("prompt_cache_key",) if n in seen.named]
    body = seen.named.get("extra_body")
    if body is not None and "prompt_cache_key" in (body.fields or {}):
        keys.append((body.fields or {})["prompt_cache_key"])
    for key in keys:
        for part in key.printed:
            fresh = part.origin in (Origin.RANDOM, Origin.CLOCK, Origin.COUNTER)
            whole = part.origin in (Origin.USER_INPUT, Origin.HISTORY) and len(key.printed) == 1
            if (fresh and part.evidence is not Evidence.NAME) or whole:
                yield Observation(
                    kind="bad-routing-key",
                    source=part.source,
                    span=part.span,
                    detail=f"{part.expression} sends every request its own way",
                    evidence=part.evidence,
                )


_SETTINGS = re.compile(r"\w*(settings|params|defaults)", re.IGNORECASE)
"""Calls that only set what somebody may set otherwise."""
_ASKED_ONCE = re.compile(r"(?<![a-z])(ocr|embed\w*|rerank\w*|reward)(?![a-z])", re.IGNORECASE)


def _varies(engine: Engine, unit: Unit, seen: Seen) -> Iterator[Observation]:
    given = {keyword.arg: keyword.value for keyword in seen.node.keywords}
    sent = given.get("messages", given.get("input"))
    if sent is None or not (seen.loops or any(is_history(n) for n in ast.walk(sent))):
        return
    invalidates = _INVALIDATES - _NOT_OF_OPENAI if _OPENAI.fullmatch(seen.dotted) else _INVALIDATES
    for name in sorted(invalidates & {key for key in given if key}):
        value = given[name]
        if isinstance(value, ast.Name):
            value = _only_value(engine, unit, value.id) or value
        for choice in _choices(engine, unit, value):
            detail = f"{name} is {short(engine, choice)}"
            yield observe(engine, choice, "invalidating-parameter-varies", detail)


def _choices(engine: Engine, unit: Unit, value: ast.expr) -> Iterator[ast.IfExp]:
    """Yield the branches in a parameter's value that a turn decides, also inside of a dict."""
    values = value.values if isinstance(value, ast.Dict) else [value]
    for inner in values:
        if isinstance(inner, ast.Name):
            inner = _only_value(engine, unit, inner.id) or inner
        if isinstance(inner, ast.IfExp):
            # Whether there are tools at all is the same on every turn.
            asked = _HAS_TOOLS.sub("", engine.module.written(inner.test))
            if _PER_TURN.search(asked):
                yield inner


def _only_value(engine: Engine, unit: Unit, name: str) -> ast.expr | None:
    found = [
        node.value
        for node in nodes(engine, unit)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == name
    ]
    return found[0] if len(found) == 1 else None


def _cache_object(engine: Engine, unit: Unit, seen: Seen) -> Iterator[Observation]:
    if not seen.dotted.endswith(("caches.create", "CachedContent.create")):
        return
    written = engine.module.written(seen.node)
    config = seen.named.get("config")
    known = config is None or config.fields is not None or "Config(" in written
    told = " ".join([written, *((config.fields if config is not None else None) or ())])
    if known and "ttl" not in told and "expire" not in told and "**" not in told:
        detail = f"{short(engine, seen.node.func)} sets no lifetime"
        yield observe(engine, seen.node.func, "cache-object-misused", detail)
    elif unit.phase is Phase.CALL and any(
        other.dotted.endswith(("generate_content", "generate_content_stream"))
        for other in unit.seen
    ):
        detail = f"{short(engine, seen.node.func)} makes one for every request"
        yield observe(engine, seen.node.func, "cache-object-misused", detail)


def _fanned_out(engine: Engine, seen: Seen) -> Iterator[Observation]:
    """Yield calls that start together though each would write the same prefix."""
    if not seen.dotted.endswith("gather") or not seen.node.args:
        return
    first = seen.node.args[0]
    rows = first.value if isinstance(first, ast.Starred) else first
    if not isinstance(rows, ast.ListComp | ast.GeneratorExp) or not isinstance(rows.elt, ast.Call):
        return
    asked = last_name(rows.elt.func)
    if _asked_before(engine, seen, asked):
        return
    for other in engine.seen:
        if other.unit.name == asked and "messages" in other.named:
            text = engine.module.written(other.unit.node or other.node)
            if "cache_control" in text or "cachePoint" in text:
                detail = f"{short(engine, seen.node)} starts before the prefix was written"
                yield observe(engine, seen.node, "fan-out-before-write", detail)
                return


def _asked_before(engine: Engine, seen: Seen, asked: str) -> bool:
    """Whether the same function is called alone first, which writes the prefix."""
    return any(
        isinstance(node, ast.Call)
        and node.lineno < seen.node.lineno
        and last_name(node.func) == asked
        for node in nodes(engine, seen.unit)
    )


def _switched_off(engine: Engine, unit: Unit) -> Iterator[Observation]:
    for node in nodes(engine, unit):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg in _OFF and _is_false(keyword.value):
                    yield from _off(engine, keyword, keyword.arg, node)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if not isinstance(key, ast.Constant):
                    continue
                if key.value in _OFF and _is_false(value):
                    yield from _off(engine, value, str(key.value), node)
                unbroken = "prompt_cache_breakpoint" not in engine.module.source.text
                if key.value == "prompt_cache_options" and _is_explicit(value) and unbroken:
                    yield from _off(engine, value, "explicit mode without a breakpoint", node)


def _unseen_of_switch(engine: Engine, within: ast.Call | ast.Dict) -> Iterator[Doubt]:
    """Yield what a switch does not show: that a request has it, and that requests share a start.

    Settings are what somebody may set otherwise. Pages and inputs that are turned into vectors or
    scores are asked once, and nothing fixed stands before them.
    """
    if isinstance(within, ast.Call) and _SETTINGS.fullmatch(last_name(within.func)):
        yield Doubt.NOT_SENT
    written = f"{engine.module.source.path} {engine.module.written(within)}"
    if _ASKED_ONCE.search(written):
        yield Doubt.SMALL


def _off(
    engine: Engine, node: ast.AST, name: str | None, within: ast.Call | ast.Dict
) -> Iterator[Observation]:
    line = engine.module.source.line(
        engine.module.source.place(engine.module.span(node).start).line
    )
    if "#" not in line:
        told = observe(engine, node, "caching-disabled", f"{name}", position=Position.SYSTEM)
        yield replace(told, unseen=tuple(_unseen_of_switch(engine, within)))


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _is_explicit(node: ast.expr) -> bool:
    return isinstance(node, ast.Dict) and any(
        isinstance(v, ast.Constant) and v.value == "explicit" for v in node.values
    )
