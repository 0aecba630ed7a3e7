"""Prompts written as markup: the elements of libraries that render a prompt from components.

Only elements of such a library are read: a page says ``<SystemMessage>`` too, and shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.source.ecmascript import pieces
from kvaudit.analyzers.source.ecmascript.bodies import frame_at
from kvaudit.analyzers.source.ecmascript.drafts import Draft, Entry, earlier_turns
from kvaudit.analyzers.source.ecmascript.engine import MAX_DEPTH, Engine, Frame
from kvaudit.analyzers.source.ecmascript.evaluate import arguments, evaluate
from kvaudit.analyzers.source.ecmascript.members import class_member
from kvaudit.analyzers.source.ecmascript.syntax import CLASSES, FUNCTIONS, WRAPPERS, unwrapped
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import Shape, Value, text_of
from kvaudit.analyzers.source.parts import Part
from kvaudit.core.document import Position
from kvaudit.core.sources import Span

_LIBRARIES = re.compile(r"\bprompt-tsx\b|\bai-jsx\b|\bpriompt\b|\bcore/(conversation|completion)\b")
_ELEMENTS = ("jsx_element", "jsx_self_closing_element")
_TURNS = re.compile(r"History|Conversation|Turns|ChatMessages")


def rendered_prompts(engine: Engine) -> Iterator[Draft]:
    """Yield the system messages that components of the file render, and what stands behind."""
    for node in engine.module.elements:
        if not _is_system(engine, node):
            continue
        parts = tuple(_children(engine, frame_at(engine, node), node))
        entries = [Entry(Position.SYSTEM, text_of(parts))]
        for turns in _behind(engine, node):
            made = Value(node=turns, source=engine.module.source)
            entries.append(Entry(Position.HISTORY, earlier_turns(made)))
        if parts:
            yield Draft("SystemMessage", node, entries, sent=True)


def _is_system(engine: Engine, node: Node) -> bool:
    name = _name(node)
    binding = engine.module.resolve(name, engine.module.text(name)) if name is not None else None
    link = engine.module.imports.get(binding) if binding is not None else None
    return (
        link is not None
        and link.name == "SystemMessage"
        and _LIBRARIES.search(link.path) is not None
    )


def _name(node: Node) -> Node | None:
    tag = node.get("open_tag") or node
    return tag.get("name")


def _behind(engine: Engine, node: Node) -> Iterator[Node]:
    """Yield the elements beside a system message, behind it, that stand for the turns so far."""
    for kid in node.parent.kids if node.parent is not None else ():
        name = _name(kid) if kid.kind in _ELEMENTS else None
        if name is not None and kid.start >= node.end and _TURNS.search(engine.module.text(name)):
            yield kid


def _children(engine: Engine, frame: Frame, node: Node) -> Iterator[Part]:
    """Yield what an element prints between its tags; white space alone is none."""
    first, last = node.get("open_tag"), node.get("close_tag")
    if first is None or last is None:
        return
    at = first.end
    for kid in (*(k for k in node.kids if first.end <= k.start and k.end <= last.start), last):
        text = frame.module.source.text[at : kid.start]
        if text.strip():
            yield pieces.literal(frame, Span(at, kid.start), text)
        if kid is not last:
            yield from _printed(engine, frame, kid)
        at = kid.end


def _printed(engine: Engine, frame: Frame, node: Node) -> Iterator[Part]:
    """Yield what an expression between tags prints."""
    if node.kind == "jsx_expression" or node.kind in WRAPPERS:
        for kid in (k for k in node.kids if k.kind != "comment"):
            yield from _printed(engine, frame, kid)
    elif node.kind in _ELEMENTS:
        made = _component(engine, frame, node)
        yield from made if made is not None else _children(engine, frame, node)
    elif node.kind in ("binary_expression", "ternary_expression"):
        for branch in (node.get("right", "consequence"), node.get("alternative")):
            yield from _printed(engine, frame, branch) if branch is not None else ()
    else:
        held = _held(engine, frame, node)
        if held is not None:
            yield from _printed(engine, frame, held)
        else:
            yield from pieces.placed(frame, node, evaluate(engine, node, frame))


def _held(engine: Engine, frame: Frame, node: Node) -> Node | None:
    """Return the element that a variable holds; None for what is none."""
    binding = frame.module.resolve(node, frame.module.text(node))
    value = unwrapped(binding.node.get("value")) if binding is not None else None
    return value if value is not None and value.kind in _ELEMENTS else None


def _component(engine: Engine, frame: Frame, node: Node) -> list[Part] | None:
    """Return what a component of the project renders; None for other elements."""
    name = _name(node)
    if name is None or name.kind != "identifier" or frame.depth >= MAX_DEPTH:
        return None
    code = evaluate(engine, name, frame).code
    if code is not None and code.node.kind in CLASSES:
        method = class_member(engine, code, "render", frame.depth)
        code = method.code if method is not None else None
    if code is None or code.node.kind not in FUNCTIONS or code.node in engine.calling:
        return None
    given = arguments(code, [_given(engine, frame, node)])
    inside = Frame(code.module, code.node, given, code.frame, frame.depth + 1)
    engine.calling.append(code.node)
    returned = code.module.returned(code.node)
    made = [part for each in returned for part in _printed(engine, inside, each)]
    engine.calling.pop()
    return made


def _given(engine: Engine, frame: Frame, node: Node) -> Value:
    """Return the attributes of an element as the object that its component is given."""
    fields: dict[str, Value] = {}
    for each in (node.get("open_tag") or node).kids:
        if each.kind == "jsx_attribute" and len(each.kids) == 2:
            value = each.kids[1]
            inner = value.kids[0] if value.kind == "jsx_expression" and value.kids else value
            fields[frame.module.text(each.kids[0])] = evaluate(engine, inner, frame)
    return Value(fields=fields, shape=Shape.FIELDS)
