"""Templates of whole conversations, as LangChain has them: ``ChatPromptTemplate``.

``partial`` puts in values now, or a function that is called whenever the template is filled;
``invoke`` puts in the rest, also where a chain begins with the template.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kvaudit.analyzers.source.python.arisen_calls import arisen_from
from kvaudit.analyzers.source.python.drafts import Draft, Entry, message_entries
from kvaudit.analyzers.source.python.engine import Engine, Filled, Frame, Unit
from kvaudit.analyzers.source.python.functions import apply
from kvaudit.analyzers.source.python.messages import has_roles, role_of
from kvaudit.analyzers.source.python.origins import arising
from kvaudit.analyzers.source.python.template_files import bound_to
from kvaudit.analyzers.source.python.templates import open_template
from kvaudit.analyzers.source.python.values import Part, Shape, Value, changed
from kvaudit.core.document import Position, Volatility

_CLASS = "ChatPromptTemplate"
_GIVE_MESSAGES = ("format_messages", "format_prompt")
_FILL = ("partial", *_GIVE_MESSAGES, "invoke", "ainvoke", "stream", "astream")


def made(dotted: str, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value | None:
    """Return the template that a call makes of messages; None for other calls."""
    if _CLASS not in dotted.split(".")[-2:]:
        return None
    messages = next((v for v in (*args, *keywords.values()) if has_roles(v)), None)
    return None if messages is None else replace(messages, shape=Shape.PROMPT)


def filled(
    engine: Engine,
    frame: Frame,
    node: ast.Call,
    template: Value,
    args: Sequence[Value],
    keywords: Mapping[str, Value],
) -> Value | None:
    """Return a template with the values of a call put in; None where the call fills nothing."""
    by = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if by not in _FILL or template.shape is not Shape.PROMPT:
        return None
    given: dict[str, Value] = {}
    for value in args:
        given.update(value.fields or {})
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg in keywords:
            given[keyword.arg] = _called(engine, frame, keyword.value, keywords[keyword.arg])
    items = tuple(_message(item, given) for item in template.items or ())
    whole = replace(template, items=items)
    if frame.unit is not None and given:
        written = frame.module.written(node.func)
        frame.unit.texts.append(Filled(written, node, whole, loops=frame.loops))
    if by == "partial":
        return whole
    return replace(whole, shape=Shape.LIST) if by in _GIVE_MESSAGES else None


def drafts(engine: Engine, unit: Unit) -> Iterator[Draft]:
    """Yield the templates that a function fills, what is left open known by name."""
    for text in unit.texts:
        if text.value.shape is Shape.PROMPT:
            entries, turns = message_entries(text.value)
            opened = [
                e
                if e.position is Position.HISTORY
                else Entry(e.position, open_template(engine, e.value), e.marked)
                for e in entries
            ]
            yield Draft(text.name, unit, opened, multi_turn=turns, loops=text.loops, sent=True)


def _message(message: Value, given: Mapping[str, Value]) -> Value:
    if role_of(message) in (None, "placeholder"):
        return message
    if message.items is not None:
        return replace(message, items=(message.items[0], bound_to(message.items[1], given)))
    fields = dict(message.fields or {})
    fields["content"] = bound_to(fields.get("content", Value()), given)
    return replace(message, fields=fields)


def _called(engine: Engine, frame: Frame, node: ast.expr, value: Value) -> Value:
    """Return what a function gives, which is called anew whenever the template is filled."""
    row = arising("call", frame.module.dotted(node))
    if value.code is not None and isinstance(value.code.node, ast.FunctionDef | ast.Lambda):
        result = apply(engine, value.code, [], {}, frame.depth)
    elif row is not None and isinstance(node, ast.Attribute):
        call = ast.copy_location(ast.Call(func=node, args=[], keywords=[]), node)
        result = arisen_from(engine, frame, call, frame.module.dotted(node), row, [])
    else:
        return value

    def anew(part: Part) -> tuple[Part, ...]:
        return (replace(part, is_hole=part.volatility >= Volatility.DAY),)

    return changed(result, anew)
