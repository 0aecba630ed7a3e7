"""Messages and content blocks, in the many ways in which libraries write them."""

from __future__ import annotations

import ast
import re

from kvaudit.analyzers.source.python.engine import Engine, Frame
from kvaudit.analyzers.source.python.placing import literal, unknown
from kvaudit.analyzers.source.python.values import NOTHING, Shape, Value, text_of

_ROLE_OF_CLASS = re.compile(
    r"(?P<system>System|Developer)(?:Chat)?(?:Message\w*|PromptPart)"
    r"|(?P<user>Human|User)(?:Chat)?(?:Message\w*|PromptPart)"
    r"|(?P<assistant>AI|Assistant)(?:Chat)?Message\w*|(?P<tool>Tool|Function)Message\w*"
    r"|(?P<placeholder>MessagesPlaceholder)"
)
_ROLE_OF_METHOD = re.compile(
    r"(\w*\.)*(Chat)?Message\.(from_)?(?P<role>system|user|assistant|tool)(_message)?"
)
_GENERIC = re.compile(r"\w*Message(Param|Input|Simple|Dict)?|Content|ChatCompletion\w*Param")
_ROLES_BY_KEYWORD = ("role", "message_type")
_OF_A_ROW = re.compile(r"(conversation|chat|thread|session|topic|room|channel|dialog(ue)?)_id")
"""Keywords of a message that is kept in a store: what it says was made once, when it was added."""
_MAKES_MESSAGE = re.compile(r"_*(format|make|create|build|new|to)_(\w+_)?(message|msg)")
"""Functions that give a message of the role and the content that they are given."""
_ADDS = re.compile(r"add_(?P<role>system|user|assistant|developer)(_message)?")
_BLOCK = re.compile(r"\w*Text(Block|Content|Part)\w*|ContentBlock\w*")
_BLOCK_MARKS = {"cache_control", "cache_prompt", "cache_point"}
_TEXT = ("content", "template", "text", "parts", "blocks", "message", "prompt")


def message(
    engine: Engine,
    frame: Frame,
    node: ast.Call,
    dotted: str,
    args: list[Value],
    keywords: dict[str, Value],
) -> Value | None:
    """Return a message as a dict of role and content; None where a call makes none."""
    role = _role(dotted, keywords)
    if role is None:
        return _text_block(frame, node, dotted, keywords)
    if role == "placeholder":
        named_by = keywords.get("variable_name", args[0] if args else NOTHING)
        return _placeholder(engine, frame, node, named_by.text)
    content = next((keywords[name] for name in _TEXT if name in keywords), None)
    if content is None:
        plain = [value for value in args if value.text not in ("system", "user", "assistant")]
        content = plain[-1] if plain else None
    if content is None:
        return None
    fields = {"role": role if isinstance(role, Value) else _word(frame, node, role)}
    fields |= {"content": content}
    own = (*_TEXT, *_ROLES_BY_KEYWORD)
    fields |= {key: value for key, value in keywords.items() if key not in own}
    return Value(
        fields=fields, shape=Shape.FIELDS, at=(frame.module.source, frame.module.span(node))
    )


def _placeholder(engine: Engine, frame: Frame, node: ast.Call, variable: str | None) -> Value:
    """Return where a template's messages are put in, known by the name of their variable."""
    inside = unknown(engine, frame, node, variable)
    role = _word(frame, node, "placeholder")
    return Value(fields={"role": role, "content": inside}, shape=Shape.FIELDS, at=inside.at)


def _text_block(
    frame: Frame, node: ast.Call, dotted: str, keywords: dict[str, Value]
) -> Value | None:
    """Return a content block; None where a call makes none."""
    named = _BLOCK.fullmatch(dotted.rsplit(".", 1)[-1]) is not None
    if "text" not in keywords or not (named or _BLOCK_MARKS & keywords.keys()):
        return None
    return Value(
        fields=keywords, shape=Shape.FIELDS, at=(frame.module.source, frame.module.span(node))
    )


def _role(dotted: str, keywords: dict[str, Value]) -> str | Value | None:
    last = dotted.rsplit(".", 1)[-1]
    if last in ("from_template", "from_messages") and "." in dotted:
        last = dotted.rsplit(".", 2)[-2]
        if last == "ChatPromptTemplate":
            return None
    by_class = _ROLE_OF_CLASS.fullmatch(last)
    if by_class is not None:
        return by_class.lastgroup
    by_method = _ROLE_OF_METHOD.fullmatch(dotted)
    if by_method is not None:
        return by_method["role"]
    if _GENERIC.fullmatch(last) or _MAKES_MESSAGE.fullmatch(last):
        role = next((keywords[name] for name in _ROLES_BY_KEYWORD if name in keywords), None)
        is_row = any(map(_OF_A_ROW.fullmatch, keywords))
        return None if is_row and role is not None and role.text != "system" else role
    return None


def _word(frame: Frame, node: ast.Call, text: str) -> Value:
    return text_of((literal(frame, node, text),))


def added_role(dotted: str) -> str | None:
    """Return the role of a message that a method such as ``add_system_message`` adds."""
    found = _ADDS.fullmatch(dotted.rsplit(".", 1)[-1])
    return found["role"] if found is not None else None


def role_of(value: Value) -> str | None:
    """Return a message's role in one of four words; None where a value is no message."""
    fields = value.fields
    if fields is None:
        pair = value.items
        if pair is not None and len(pair) == 2 and pair[0].text in _ROLES:
            return _ROLES[pair[0].text or ""]
        return None
    if "role" not in fields or not ({"content", "parts", "text", "tool_calls"} & fields.keys()):
        return None
    written = fields["role"].text
    if written is None and fields["role"].parts:
        written = (fields["role"].parts[0].expression or "").rsplit(".", 1)[-1].lower()
    return _ROLES.get(written or "", "unknown")


def has_roles(value: Value) -> bool:
    """Whether a value is a list that messages stand in."""
    return value.items is not None and any(role_of(item) is not None for item in value.items)


_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
    "placeholder": "placeholder",
}


def content_of(value: Value) -> Value:
    """Return a message's content."""
    if value.fields is None:
        pair = value.items or ()
        return pair[1] if len(pair) == 2 else value
    for name in ("content", "parts", "text"):
        if name in value.fields:
            return value.fields[name]
    return NOTHING


def text_of_block(value: Value) -> Value:
    """Return a content block's text; the value itself where it is no block."""
    if value.fields is None:
        return value
    for name in ("text", "content", "input"):
        if name in value.fields:
            return value.fields[name]
    return value
