"""Calls: functions of the project, methods, and what only the name of a call says."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from kvaudit.analyzers.source.python import chat_templates, lookup
from kvaudit.analyzers.source.python.arisen_calls import TOOLS_OF_SERVERS, arisen_from, carried
from kvaudit.analyzers.source.python.builtins import BUILTINS
from kvaudit.analyzers.source.python.engine import Engine, Frame, Seen
from kvaudit.analyzers.source.python.evaluation import evaluate
from kvaudit.analyzers.source.python.fields import MAKES_FIELD, default_of
from kvaudit.analyzers.source.python.functions import apply
from kvaudit.analyzers.source.python.live import file_read
from kvaudit.analyzers.source.python.messages import has_roles, message
from kvaudit.analyzers.source.python.methods import method
from kvaudit.analyzers.source.python.origins import arising
from kvaudit.analyzers.source.python.placing import element_at, unknown
from kvaudit.analyzers.source.python.template_files import LOADS, loaded, read_from_path
from kvaudit.analyzers.source.python.values import NOTHING, Code, Shape, Value

_SAME_VALUE = {
    "str", "int", "float", "round", "abs", "dedent", "indent", "fill", "cleandoc", "escape",
    "quote", "list", "tuple", "reversed", "iter", "cast", "deepcopy", "copy", "filter", "format",
    "html.escape", "bytes", "OrderedDict", "to_thread", "min", "max", "gather", "unquote", "next",
    "partial", "awrap", "Template", "PromptTemplate", "RichPromptTemplate", "from_string",
    "ensure_text", "SystemPromptPart", "TextContent", "Text", "TextPart",
}  # fmt: skip

_REWRITES_MESSAGES = re.compile(
    r"_*(format|convert|transform|normali[sz]e|prepare|serialize|to|as|clean|fix|apply|messages_to"
    r"|convert_to)_?\w*(msgs?|messages?|history|openai|anthropic|dicts?)\w*"
)
"""Functions out of sight that give the messages which they are given, in another form."""

_VERB = re.compile(
    r"^_*((get|load|fetch|read|build|make|render|format|compute|compose|current|list|find|create"
    r"|generate|collect|retrieve|dump|to|as|a)_+)+"
)


def call(engine: Engine, frame: Frame, node: ast.Call) -> Value:
    """Return what a call gives, and note it where the file's own functions are followed."""
    args = [evaluate(engine, frame, arg) for arg in node.args]
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = evaluate(engine, frame, keyword.value)
        if keyword.arg is None:
            keywords.update(value.fields or {})
        else:
            keywords[keyword.arg] = element_at(frame, keyword.value, value)
    dotted = frame.module.dotted(node.func)
    receiver = (
        evaluate(engine, frame, node.func.value) if isinstance(node.func, ast.Attribute) else None
    )
    code = _resolved(engine, frame, node.func, receiver)
    if frame.unit is not None:
        engine.note(Seen(frame.unit, node, dotted, code, args, keywords, frame.loops))
    if isinstance(node.func, ast.Attribute) and receiver is not None:
        if node.func.attr == "read" and receiver.text is not None:
            return receiver  # a file that was opened
        whole = chat_templates.filled(engine, frame, node, receiver, args, keywords)
        if whole is not None:
            return whole
        done = method(engine, frame, node, receiver, args, keywords)
        if done is not None:
            return done
    made = chat_templates.made(dotted, args, keywords)
    if made is None:
        made = message(engine, frame, node, dotted, args, keywords)
    if made is None and LOADS.fullmatch(dotted.rsplit(".", 1)[-1]):
        made = loaded(engine, frame, args[0].text if args else None, keywords)
    if made is not None:
        return made
    if code is not None:
        result = apply(engine, code, args, keywords, frame.depth)
        if result is not NOTHING and (result.printed or result.code or result.fields is not None):
            return result
    return _by_name(engine, frame, node, dotted, args, receiver, resolved=code is not None)


def _resolved(engine: Engine, frame: Frame, func: ast.expr, receiver: Value | None) -> Code | None:
    if isinstance(func, ast.Name):
        found = lookup.name(engine, frame, func.id)
    elif isinstance(func, ast.Attribute) and receiver is not None:
        found = lookup.attribute(engine, frame, func, receiver)
    else:
        found = evaluate(engine, frame, func)
    return found.code if found is not None and found.shape is Shape.CODE else None


def _visits(frame: Frame, loop: ast.AST) -> bool:
    """Whether a loop goes from one thing to the next, and does not try the same thing again."""
    if not isinstance(loop, ast.For | ast.AsyncFor):
        return False
    return not isinstance(loop.iter, ast.Call) or frame.module.dotted(loop.iter) != "range"


def _by_name(
    engine: Engine,
    frame: Frame,
    node: ast.Call,
    dotted: str,
    args: list[Value],
    receiver: Value | None,
    *,
    resolved: bool,
) -> Value:
    if isinstance(node.func, ast.Subscript) and isinstance(node.func.slice, ast.Constant):
        dotted = str(node.func.slice.value).lstrip("_")
    last = dotted.rsplit(".", 1)[-1]
    builtin = BUILTINS.get(last)
    if builtin is not None:
        return builtin(engine, frame, node, args)
    if last in _SAME_VALUE and args:
        value = args[0] if last != "filter" and last != "cast" else args[-1]
        return replace(value, spread=False)
    if last == "from_template" and args and args[0].shape is Shape.TEXT:
        return args[0]
    if last in MAKES_FIELD:
        return default_of(engine, frame, node)
    if _REWRITES_MESSAGES.fullmatch(last):
        messages = next((value for value in args if has_roles(value)), None)
        if messages is not None:
            return messages
    read = file_read(frame, node, dotted, receiver)
    if read is not None:
        written = read_from_path(engine, frame, node)
        return written if written is not None else read
    row = None if resolved else arising("call", dotted)
    if last == "list_tools" and frame.loops and _visits(frame, frame.loops[-1]):
        row = TOOLS_OF_SERVERS
    if row is not None:
        return arisen_from(engine, frame, node, dotted, row, args)
    formatted = carried(frame, node, last, args, receiver)
    if formatted is not None:
        return formatted
    return unknown(engine, frame, node, _VERB.sub("", last) or last)
