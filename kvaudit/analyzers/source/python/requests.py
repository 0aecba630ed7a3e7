"""What is no text: how requests are put together, marked and sent, seen in the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kvaudit.analyzers.source.python import (
    directives,
    history,
    library_windows,
    markers,
    tool_lists,
)
from kvaudit.analyzers.source.python.builders import named_builder
from kvaudit.analyzers.source.python.code import last_name, parents
from kvaudit.analyzers.source.python.drafts import Draft
from kvaudit.analyzers.source.python.engine import Engine, Unit
from kvaudit.analyzers.source.python.trimming import is_sent, sent_expressions
from kvaudit.core.document import Document, Observation, Position

_FOR_MODELS = re.compile(
    r"(LLM|Llm|Base|Any|Model)Message|(\w+)?MessageParam|ChatCompletion\w*Message|MessageLike\w*"
)
"""Types of libraries whose values are sent to a model and nowhere else."""

_DIRECTIVES = (markers.observed, directives.observed, library_windows.observed)


def observations(engine: Engine, drafts: Sequence[Draft]) -> list[Document]:
    """Return a document for each function in which something was observed."""
    made = []
    of_unit: dict[int, list[Draft]] = {}
    for draft in drafts:
        of_unit.setdefault(id(draft.unit), []).append(draft)
    for unit in engine.units:
        mine = of_unit.get(id(unit), [])
        for looks in ((tool_lists.observed, history.observed), _DIRECTIVES):
            found = [seen for look in looks for seen in look(engine, unit, mine)]
            if found:
                # Directives are words of an API; lists and messages may be those of anything.
                sent = looks is _DIRECTIVES or any(d.sent for d in mine) or _gives_messages(unit)
                sent = sent or _is_called_to_send(engine, unit, of_unit)
                sent = sent or _is_of_tool(unit, found)
                whole = _document(engine, unit, found, sent=sent)
                made.append(replace(whole, builder=named_builder(unit, mine)))
    return made


def _gives_messages(unit: Unit) -> bool:
    """Whether a function says by its type that what it returns are messages for a model."""
    node = unit.node
    return (
        node is not None
        and node.returns is not None
        and any(
            isinstance(inner, ast.Name | ast.Attribute) and _FOR_MODELS.fullmatch(last_name(inner))
            for inner in ast.walk(node.returns)
        )
    )


def _is_of_tool(unit: Unit, found: Sequence[Observation]) -> bool:
    """Whether all that was seen is about a tool, whose definition its framework sends."""
    about_it = all(seen.position is Position.TOOLS for seen in found)
    return about_it and unit.owner is not None and tool_lists.is_offered(unit.owner)


def _is_called_to_send(engine: Engine, unit: Unit, of_unit: Mapping[int, list[Draft]]) -> bool:
    """Whether a function that sends gets its messages from this one, or has it change them."""
    for seen in engine.seen:
        if seen.code is None or unit.node is None or seen.code.node is not unit.node:
            continue
        if not any(draft.sent for draft in of_unit.get(id(seen.unit), ())):
            continue
        above = parents(engine, seen.unit)
        around = above.get(seen.node)
        if isinstance(around, ast.Await):
            around = above.get(around)
        if isinstance(around, ast.Expr) or is_sent(seen.node, sent_expressions(seen.unit), above):
            return True
    return False


def _document(engine: Engine, unit: Unit, found: list[Observation], *, sent: bool) -> Document:
    return Document(
        source=engine.module.source,
        kind="python",
        name=unit.name or engine.module.source.path,
        observations=found,
        low_stakes=unit.main,
        sent=sent,
    )
