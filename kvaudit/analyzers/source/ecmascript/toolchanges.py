"""Tool lists: whether they change between the turns of a session, and in which order they come."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.ecmascript.bodies import keys_of
from kvaudit.analyzers.source.ecmascript.code import (
    PREPARES_STEP,
    last_name,
    observe,
    owner_name,
    pair_value,
    requests,
    short,
)
from kvaudit.analyzers.source.ecmascript.engine import Engine
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS, LOOPS, WRAPPERS, function_around
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.core.document import Observation, Position

_TOOLS = re.compile(
    r"_*(?!used|called|executed|invoked)(\w+_)?(tools|tool_(list|specs|defs|schemas|definitions|set)|functions)"
)
_ACTIVE = ("activeTools", "experimental_activeTools")
_CHOOSES = re.compile(r"\b(experimental_)?activeTools\b")
_LISTS_TOOLS = re.compile(
    r"\b(listTools|list_tools|getTools|fetchTools|loadTools|discoverTools|tools)\s*\("
)
_ONCE = re.compile(
    r"init|connect|start|setup|bootstrap|constructor|boot|register|mount|test", re.IGNORECASE
)
_PASSED_ON = re.compile(r"\bthrow\s+\w+\.reason\b|\bPromise\.reject\(\w+\.reason\)")
_GATHERED = re.compile(
    r"\b\w*[tT]ools\w*\s*(:[^=\n]+)?=[^=>]|\b\w*[tT]ools\.push\(|\btools\b\s*[,:}]"
)
_INTERFACE = re.compile(r"(^|/)(hooks|components|webview|ui|gui|pages|views)/|/use[A-Z]\w*\.tsx?$")
"""Places of code that shows tools to people and sends none."""
_NAMED_LATE = re.compile(
    r"defer|lazy|on_?demand|unlock|discover|activated|loaded|needed|late", re.IGNORECASE
)


def tool_observations(engine: Engine) -> Iterator[Observation]:
    """Yield what the file does to tool lists."""
    yield from _active_tools(engine)
    yield from _grown(engine)
    yield from _settled(engine)
    yield from _pushed_when_done(engine)


def _active_tools(engine: Engine) -> Iterator[Observation]:
    """Yield steps that choose among the tools: those left out are not sent."""
    for node in engine.module.objects:
        for kid in node.kids:
            key = kid.get("key", "name")
            if key is None or last_name(engine, key) not in PREPARES_STEP:
                continue
            step = kid if kid.kind == "method_definition" else kid.get("value")
            if step is not None:
                yield from _chosen_in(engine, step)
    for function in engine.module.functions:
        name = function.get("name") or (function.parent.get("name") if function.parent else None)
        if name is not None and snake_case(last_name(engine, name)) == "prepare_step":
            yield from _chosen_in(engine, function)


def _chosen_in(engine: Engine, step: Node) -> Iterator[Observation]:
    written = []
    for node in step.walk():
        if node.kind == "object":
            value = pair_value(engine, node, *_ACTIVE)
            if value is not None and value.kind in ("as_expression", "satisfies_expression"):
                value = value.kids[0]
            if value is not None and value.kind != "undefined":
                written.append((node, value))
    forms = {engine.module.text(value) for _, value in written}
    told = []
    for node, value in written:
        always = (
            len(forms) == 1
            and value.kind in ("array", "identifier")
            and not _is_conditional(engine, node, step)
        )
        if not (always and value.kind == "array") and not _names_all(engine, step, value):
            told.append(value)
    if told:
        # The one that says most about what is left out: an empty list, then a short one.
        value = min(told, key=lambda node: (node.kind != "array", node.end - node.start))
        detail = f"activeTools: {short(engine, value, 40)} leaves tools out of the request"
        yield observe(engine, value, "tools-change-in-session", detail, position=Position.TOOLS)


def _names_all(engine: Engine, step: Node, value: Node) -> bool:
    """Whether a step keeps every tool that the request around it has."""
    for around in step.ancestors():
        tools = pair_value(engine, around, "tools") if around.kind == "object" else None
        if tools is not None and tools.kind in WRAPPERS:
            tools = tools.kids[0]
        if tools is None or tools.kind != "object" or value.kind != "array":
            continue
        named = {engine.module.text(kid).strip("\"'`") for kid in value.kids}
        spread = any(kid.kind == "spread_element" for kid in tools.kids)
        return not spread and keys_of(engine.module, tools) <= named
    return False


def _is_conditional(engine: Engine, node: Node, step: Node) -> bool:
    """Whether a choice is made in some steps only; one that both branches make is made in all."""
    for around in node.ancestors():
        if around is step or around.kind in FUNCTIONS:
            return False
        if around.kind == "ternary_expression":
            branches = (around.get("consequence"), around.get("alternative"))
            if all(kid and _CHOOSES.search(engine.module.text(kid)) for kid in branches):
                continue
        if around.kind in ("if_statement", "ternary_expression", "switch_statement", "switch_case"):
            return True
    return False


def _grown(engine: Engine) -> Iterator[Observation]:
    """Yield places where a list that is sent with every turn grows between turns."""
    sent: dict[str, list[Node]] = {}
    for body in requests(engine):
        value = pair_value(engine, body, "tools")
        if value is not None:
            sent.setdefault(engine.module.dotted(value) or engine.module.text(value), []).append(
                body
            )
    for node in (*engine.module.calls, *engine.module.assignments):
        name = _changed_list(engine, node)
        if name is None or name not in sent or not _TOOLS.fullmatch(snake_case(name)):
            continue
        for body in sent[name]:
            if _between_turns(engine, node, body, name):
                detail = f"{short(engine, node)} changes the list that every turn sends first"
                yield observe(
                    engine, node, "tools-change-in-session", detail, position=Position.TOOLS
                )
                break


def _changed_list(engine: Engine, node: Node) -> str | None:
    """Return the name of a list that a call or an assignment changes."""
    if node.kind == "call_expression":
        function = node.get("function")
        if function is None or function.kind != "member_expression":
            return None
        if last_name(engine, function) not in ("push", "unshift", "splice"):
            return None
        return engine.module.dotted(function.get("object"))
    left, right = node.get("left"), node.get("right")
    if left is None or right is None or left.kind not in ("identifier", "member_expression"):
        return None
    name = engine.module.dotted(left)
    again = re.search(
        rf"\.\.\.{re.escape(name)}\b|\b{re.escape(name)}\.(filter|concat)\(",
        engine.module.text(right),
    )
    return name if again else None


def _between_turns(engine: Engine, node: Node, body: Node, name: str) -> bool:
    """Whether a change stands between two requests that send the list."""
    inside = list(body.ancestors())
    for around in node.ancestors():
        if around.kind in FUNCTIONS:
            break
        if around.kind in LOOPS and around in inside:
            return not _is_made_in(engine, around, name)
    owner = function_around(node)
    if owner is not function_around(body) and owner not in inside:
        return False
    if not _is_guarded(node, owner) or _is_made_in(engine, owner or engine.module.root, name):
        return False
    guard = next((a for a in node.ancestors() if a.kind == "if_statement"), None)
    condition = guard.get("condition") if guard is not None else None
    return condition is not None and bool(_NAMED_LATE.search(engine.module.text(condition)))


def _is_guarded(node: Node, owner: Node | None) -> bool:
    for around in node.ancestors():
        if around is owner:
            return False
        if around.kind == "if_statement":
            return True
    return False


def _is_made_in(engine: Engine, where: Node, name: str) -> bool:
    """Whether a list is made anew inside a function or loop."""
    if where.kind == "program" and not any(n.kind == "variable_declarator" for n in where.walk()):
        return False
    for node in where.walk():
        named = node.get("name") if node.kind == "variable_declarator" else None
        if named is not None and engine.module.text(named) == name:
            return True
        left, right = node.get("left"), node.get("right")
        if left is None or right is None or engine.module.text(left) != name:
            continue
        again = re.search(rf"\.\.\.{re.escape(name)}\b", engine.module.text(node))
        if right.kind == "array" and again is None:
            return True
    return False


def _settled(engine: Engine) -> Iterator[Observation]:
    """Yield tool lists of several servers from which those that failed are left out."""
    for node in engine.module.calls:
        if engine.module.dotted(node.get("function")) != "Promise.allSettled":
            continue
        if not _LISTS_TOOLS.search(engine.module.text(node)):
            continue
        owner = function_around(node)
        where = owner if owner is not None else engine.module.root
        if "fulfilled" not in engine.module.text(where) or _ONCE.search(owner_name(engine, node)):
            continue
        if not _GATHERED.search(engine.module.text(where)) or _INTERFACE.search(
            engine.module.source.path
        ):
            continue
        if _PASSED_ON.search(engine.module.text(where)):
            continue  # a failure ends the request, unless its owner says otherwise
        detail = f"{short(engine, node)} leaves out the tools of a server that does not answer"
        yield observe(engine, node, "tools-change-in-session", detail, position=Position.TOOLS)


def _pushed_when_done(engine: Engine) -> Iterator[Observation]:
    """Yield lists of tools that parallel work adds to as it finishes."""
    for node in engine.module.calls:
        function = node.get("function")
        if function is None or last_name(engine, function) not in ("push", "set"):
            continue
        target = function.get("object")
        if target is None or not _TOOLS.fullmatch(snake_case(last_name(engine, target))):
            continue
        callback = function_around(node)
        if callback is None or not _is_parallel(engine, callback):
            continue
        body_start = callback.start
        waits = any(n.kind == "await_expression" and n.start < node.end for n in callback.walk())
        declared = engine.module.resolve(target, engine.module.dotted(target))
        outside = (
            declared is None
            or declared.node.start < body_start
            or declared.node.start > callback.end
        )
        owner = function_around(callback)
        later = engine.module.text(owner)[node.end - owner.start :] if owner is not None else ""
        if waits and outside and not re.search(r"\.(toSorted|sort)\(", later):
            detail = f"{short(engine, node)} adds tools in the order in which servers answer"
            yield observe(engine, node, "discovery-order", detail, position=Position.TOOLS)


def _is_parallel(engine: Engine, callback: Node) -> bool:
    if not engine.module.text(callback).startswith("async"):
        return False
    around = callback.parent
    outer = around.parent if around is not None and around.kind == "arguments" else None
    if outer is None or last_name(engine, outer.get("function")) not in ("map", "forEach"):
        return False
    if last_name(engine, outer.get("function")) == "forEach":
        return True
    holder = next((a for a in outer.ancestors() if a.kind == "call_expression"), None)
    return holder is not None and engine.module.dotted(holder.get("function")).startswith(
        "Promise.all"
    )
