"""What the observations about code have in common: names of histories, calls of models."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.ecmascript.engine import Engine
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.core.document import Evidence, Observation, Position

_HISTORY = re.compile(
    r"(\w+_)?(messages|history|conversation|turns|transcript|contents|chat_messages|msgs)"
)
ONE_SHOT = re.compile(
    r"title|summar|classif|suggest|extract|name_?gen|detect|rewrite|rephrase|follow_?up|condense"
    r"|preview|display|render|export|log|search|embed|rout(e|ing)|judge|moderat|intent|guard|count",
    re.IGNORECASE,
)
"""Names of functions that ask once about a conversation and do not go on with it."""

_OF_HTTP = re.compile(r"^routes?\.")
"""Files that answer requests of the web; their name says nothing of what is asked."""
PREPARES_STEP = ("prepareStep", "experimental_prepareStep")
"""Of the AI SDK (7.0.77, generate-text.ts): what it gives is sent in place of what was."""


def observe(
    engine: Engine,
    node: Node,
    kind: str,
    detail: str,
    *,
    position: Position = Position.HISTORY,
    evidence: Evidence = Evidence.DATAFLOW,
) -> Observation:
    """Return an observation at a node."""
    return Observation(
        kind=kind,
        source=engine.module.source,
        span=node.span,
        detail=detail,
        position=position,
        evidence=evidence,
    )


def short(engine: Engine, node: Node, limit: int = 60) -> str:
    """Return a node as it is written, on one line."""
    flat = " ".join(engine.module.text(node).split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


def last_name(engine: Engine, node: Node | None) -> str:
    """Return the last part of a dotted name."""
    return engine.module.dotted(node).rsplit(".", 1)[-1] if node is not None else ""


def is_history(engine: Engine, node: Node | None) -> bool:
    """Whether a name is that of a conversation's messages."""
    return node is not None and _HISTORY.fullmatch(snake_case(last_name(engine, node))) is not None


def pair_value(engine: Engine, node: Node, *keys: str) -> Node | None:
    """Return the value that an object literal writes under one of the keys."""
    for kid in node.kids:
        if kid.kind == "pair":
            key = kid.get("key")
            if key is not None and engine.module.text(key).strip("\"'") in keys:
                return kid.get("value")
        elif kid.kind == "shorthand_property_identifier" and engine.module.text(kid) in keys:
            return kid
    return None


_BESIDE_MESSAGES = (
    "model", "tools", "system", "max_tokens", "max_completion_tokens", "maxTokens", "temperature",
    "generationConfig", "systemInstruction", "system_instruction",
)  # fmt: skip
"""What only a request says beside its messages; on some services the address names the model."""


def requests(engine: Engine) -> Iterator[Node]:
    """Yield the object literals that are bodies of requests with messages."""
    for node in engine.module.objects:
        if pair_value(engine, node, "messages", "contents") is None:
            continue
        if _is_sent(engine, node) or pair_value(engine, node, *_BESIDE_MESSAGES) is not None:
            yield node


_SENDS = re.compile(
    r"create|generate\w*|stream\w*|invoke|complete\w*|chat\w*|send\w*|call\w*|converse\w*|ask\w*|query"
)


def _is_sent(engine: Engine, node: Node) -> bool:
    around = node.parent
    if around is None or around.kind != "arguments" or around.parent is None:
        return False
    return (
        _SENDS.fullmatch(last_name(engine, around.parent.get("function", "constructor")))
        is not None
    )


_AROUND_A_NAMED_ONE = ("parenthesized_expression", "call_expression", "arguments")


def name_of(engine: Engine, function: Node) -> str:
    """Return a function's name: its own, or that of what it is assigned to."""
    name = function.get("name")
    around = function.parent
    while around is not None and around.kind in _AROUND_A_NAMED_ONE:
        around = around.parent
    if name is None and around is not None:
        name = around.get("name", "key", "property", "left")
    if name is None:
        return ""
    return engine.module.dotted(name).rsplit(".", 1)[-1] or engine.module.text(name)


def owner_name(engine: Engine, node: Node) -> str:
    """Return the name of the nearest function around a node that has one."""
    for around in node.ancestors():
        if around.kind in FUNCTIONS:
            name = name_of(engine, around)
            if name:
                return name
    return ""


def asks_once(engine: Engine, node: Node) -> bool:
    """Whether a place asks a question about a conversation and does not go on with it."""
    file = _OF_HTTP.sub("", engine.module.source.path.rsplit("/", 1)[-1])
    return bool(
        ONE_SHOT.search(owner_name(engine, node)) or ONE_SHOT.search(file) or _in_tool(engine, node)
    )


def _in_tool(engine: Engine, node: Node) -> bool:
    """Whether a place is what a tool does when it is called: no turn of the conversation."""
    return any(
        around.kind in FUNCTIONS
        and around.parent is not None
        and around.parent.kind == "pair"
        and around.parent.parent is not None
        and pair_value(engine, around.parent.parent, "execute") is around
        and pair_value(engine, around.parent.parent, "inputSchema", "parameters") is not None
        for around in node.ancestors()
    )
