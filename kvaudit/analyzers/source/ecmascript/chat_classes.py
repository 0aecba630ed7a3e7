"""Messages that are made by a class of their role, as LangChain's are."""

from __future__ import annotations

import re

from kvaudit.analyzers.source.ecmascript import evaluate as values
from kvaudit.analyzers.source.ecmascript import pieces
from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import Shape, Value, text_of

_ROLE_OF_CLASS = re.compile(
    r"(?P<system>(System|Developer)(Chat)?Message\w*)|(?P<user>(Human|User)(Chat)?Message\w*)"
    r"|(?P<assistant>(AI|Assistant)(Chat)?Message\w*)|(?P<tool>(Tool|Function)Message\w*)"
)


def message_object(
    engine: Engine, frame: Frame, node: Node, name: str, args: list[Node]
) -> Value | None:
    """Return a message of LangChain's classes as role and content."""
    found = _ROLE_OF_CLASS.fullmatch(name.rsplit(".", 1)[-1])
    if found is None or not args:
        return None
    content = values.evaluate(engine, args[0], frame)
    if content.fields is not None and "content" in content.fields:
        content = content.fields["content"]
    engine.touched.add(node)
    role = text_of((pieces.literal(frame, node.span, found.lastgroup or "user"),))
    return Value(
        fields={"role": role, "content": content},
        shape=Shape.FIELDS,
        node=node,
        source=frame.module.source,
    )
