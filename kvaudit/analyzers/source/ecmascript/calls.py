"""Calls: functions of the project, methods of text, lists and dates, and where values arise."""

from __future__ import annotations

import re
from dataclasses import replace

from kvaudit.analyzers.source.arising import Arising
from kvaudit.analyzers.source.ecmascript import dates, json_text, pieces, texts
from kvaudit.analyzers.source.ecmascript import evaluate as values
from kvaudit.analyzers.source.ecmascript.chat_classes import message_object
from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.files import file_read
from kvaudit.analyzers.source.ecmascript.filling import rendered
from kvaudit.analyzers.source.ecmascript.origins import arising
from kvaudit.analyzers.source.ecmascript.syntax import CLASSES
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import (
    NOTHING,
    Shape,
    Value,
    list_of,
    text_of,
)
from kvaudit.analyzers.source.parts import Hazard
from kvaudit.core.document import Evidence, Origin

_SAME_VALUE = frozenset((
    "String", "Array.from", "Array.of", "Object.freeze", "Object.values", "Object.entries",
    "Object.keys", "Promise.all", "Promise.resolve", "structuredClone", "dedent", "stripIndent",
    "stripIndents", "outdent", "tool", "dynamicTool", "createTool", "defineTool", "cached",
    "cache", "useMemo", "useCallback", "unstable_cache", "Object.fromEntries",
    "encodeURIComponent", "escapeHtml", "lodash.uniq", "uniq", "compact", "_.uniq",
    "String.raw", "parseInt", "Math.floor", "Math.round", "Math.trunc", "Math.ceil", "Number",
    "BigInt", "Object.assign", "asSchema", "trimIndent", "textBlock", "heredoc",
    "HumanMessagePromptTemplate.fromTemplate", "SystemMessagePromptTemplate.fromTemplate",
))  # fmt: skip
_RENDERS = frozenset((
    "render", "renderString", "renderTemplate", "interpolate", "fill", "fillTemplate", "format",
    "formatPrompt", "populate", "hydrate", "renderPrompt",
))  # fmt: skip
_SETTLED = ("Promise.allSettled",)
_VERB = re.compile(
    r"^_*(get|load|fetch|read|build|make|render|format|compute|compose|current|list|find|create"
    r"|generate|collect|retrieve|dump|to|as|resolve|prepare|gather)(?=[A-Z_])_?"
)
_MOMENT_NAMES = re.compile(
    r".*([dD]ate|[dD]ay|[tT]ime|[nN]ow|[tT]imestamp|[cC]lock|ISO|[fF]ormat).*"
)
_DAY_NAMES = re.compile(r"(?!.*([tT]ime|[nN]ow|stamp|clock)).*([dD]ate|[dD]ay).*")
_TIMER = re.compile(r"setTimeout|timeout|deadline|abort", re.IGNORECASE)
_OF_CHECKOUT = re.compile(r"\bgit\W+(remote|config|rev-parse|symbolic-ref|branch --show-current)\b")
"""Commands whose answer is that of a checkout, and stays for the session."""
_CLOCK_CALL = re.compile(
    r"(get|format|current|fetch|build)*_?([cC]urrent|[nN]ow|[lL]ocal|[uU]tc|UTC)_?([dD]ate_?)?([tT]ime|[tT]imestamp|[dD]ate[tT]ime)(String|Text|ISO|Utc|UTC|Str)?"
    r"|now(ISO|Iso|Utc|UTC|String|Ms|Seconds)?|get(Time[sS]tamp|DateTime|Now)(String)?"
)
_DATE_CALL = re.compile(
    r"(get|format|current|fetch|build)*_?([cC]urrent|[tT]oday'?s?|[lL]ocal)_?([dD]ate|[dD]ay)(String|Text|ISO|Str|InTimezone)?"
    r"|(get|format)?[tT]oday(Date|String|ISO|Iso|Str)?"
)


def call(engine: Engine, frame: Frame, node: Node) -> Value:
    """Return what a call gives."""
    function, given = node.get("function"), node.get("arguments")
    if function is None:
        return NOTHING
    if given is not None and given.kind == "template_string":
        return values.template(engine, frame, given)
    args = [kid for kid in given.kids if kid.kind != "comment"] if given is not None else []
    dotted = frame.module.dotted(function)
    if dotted in _SAME_VALUE or dotted.rsplit(".", 1)[-1] in ("freeze", "fromTemplate"):
        return _same(engine, frame, args, dotted)
    receiver = None
    if function.kind == "member_expression":
        target = function.get("object")
        receiver = values.evaluate(engine, target, frame) if target is not None else NOTHING
        done = _method(engine, frame, node, receiver, args)
        if done is not None:
            return done
    callee = values.evaluate(engine, function, frame)
    code = callee.code
    if function.kind == "identifier" and callee.shape is Shape.TEMPLATE:
        filled = rendered(engine, frame, callee, args)
        if filled is not None:
            return filled
    if code is not None:
        made = values.result(engine, frame, code, [values.element(engine, frame, a) for a in args])
        if made.printed or made.code or made.fields is not None or made.items is not None:
            return made
    return _by_name(engine, frame, node, dotted, args, receiver, resolved=code is not None)


def new(engine: Engine, frame: Frame, node: Node) -> Value:
    """Return what a constructor gives."""
    name = frame.module.dotted(node.get("constructor"))
    given = node.get("arguments")
    args = [kid for kid in given.kids if kid.kind != "comment"] if given is not None else []
    if name == "Date":
        if not args:
            return pieces.arisen(frame, node, Origin.CLOCK, "reads the clock", Shape.MOMENT)
        return replace(values.evaluate(engine, args[0], frame), shape=Shape.MOMENT)
    if name in ("Set", "Map", "Array", "String"):
        return values.element(engine, frame, args[0]) if args else NOTHING
    if name == "Intl.DateTimeFormat":
        return NOTHING
    message = message_object(engine, frame, node, name, args)
    if message is not None:
        return message
    made = values.evaluate(engine, node.fields["constructor"], frame)
    if made.code is not None and made.code.node.kind in CLASSES:
        return made
    return pieces.unknown(engine, frame, node, name)


def _same(engine: Engine, frame: Frame, args: list[Node], dotted: str) -> Value:
    found = [values.element(engine, frame, arg) for arg in args]
    if dotted == "Object.assign":
        fields = {k: v for value in found for k, v in (value.fields or {}).items()}
        return replace(found[-1], fields=fields) if found and fields else NOTHING
    if not found:
        return NOTHING
    value = replace(found[0], spread=False)
    if dotted == "Object.values" and value.fields is not None:
        return list_of(value.fields.values(), value.hazards)
    if dotted == "Object.entries" and value.fields is not None:
        named = ((pieces.literal(frame, args[0].span, k), v) for k, v in value.fields.items())
        return list_of((list_of((text_of((key,)), v)) for key, v in named), value.hazards)
    if value.sole is not None:
        return pieces.again(frame, args[0], value)
    return value


def _method(
    engine: Engine, frame: Frame, node: Node, receiver: Value, args: list[Node]
) -> Value | None:
    function = node.fields["function"]
    method = frame.module.text(function.fields["property"]) if "property" in function.fields else ""
    written = frame.module.source.text[args[0].start : args[-1].end] if args else ""
    target = function.get("object")
    if method in ("format", "formatToParts") and target is not None and args:
        options = frame.module.text(target)
        if "DateTimeFormat" in options or "ormatter" in options:
            value = values.evaluate(engine, args[0], frame)
            return dates.of_moment("toLocaleDateString", value, options, "", "")
    if receiver.shape is Shape.MOMENT:
        form = frame.module.dotted(target).rsplit(".", 1)[-1]
        done = dates.of_moment(method, receiver, written, form, _chosen(frame, node))
        if done is not None:
            return pieces.again(frame, node, done)
    if method == "get" and receiver.fields is not None and args:
        key = written.strip("\"'`")
        return receiver.fields.get(key)
    return texts.of_text(engine, frame, node, receiver, method, args)


def _chosen(frame: Frame, node: Node) -> str:
    """Return the index of the piece that is taken of what a call gives."""
    around = node.parent
    while around is not None and around.kind == "non_null_expression":
        around = around.parent
    index = (
        around.get("index")
        if around is not None and around.kind == "subscript_expression"
        else None
    )
    return frame.module.text(index) if index is not None else "0"


def _by_name(
    engine: Engine,
    frame: Frame,
    node: Node,
    dotted: str,
    args: list[Node],
    receiver: Value | None,
    *,
    resolved: bool,
) -> Value:
    last = dotted.rsplit(".", 1)[-1]
    if dotted == "JSON.stringify":
        return json_text.printed(engine, frame, node, args)
    if dotted == "JSON.parse":
        return json_text.parsed(engine, frame, args)
    if last == "compile" and args and not resolved:
        return replace(values.evaluate(engine, args[0], frame), shape=Shape.TEMPLATE)
    if dotted in _SETTLED and args:
        return values.evaluate(engine, args[0], frame)
    made = message_object(engine, frame, node, dotted, args)
    if made is not None:
        return made
    read = file_read(engine, frame, node, dotted, args)
    if read is not None:
        return read
    if last in _RENDERS and len(args) > 1 and not resolved:
        template = values.evaluate(engine, args[0], frame)
        filled = rendered(engine, frame, template, args[1:])
        if filled is not None:
            return filled
    row = None if resolved else arising("call", dotted)
    if row is not None:
        return _arisen(engine, frame, node, row, args)
    carried = _carried(engine, frame, node, last, args, receiver)
    if carried is not None:
        return carried
    if not resolved and receiver is None:
        timed = _timed(frame, node, last)
        if timed is not None:
            return timed
    return pieces.unknown(engine, frame, node, _VERB.sub("", last) or last)


def _timed(frame: Frame, node: Node, last: str) -> Value | None:
    """Return a reading of the clock by a function of which only the name is known."""
    origin = None
    if _DATE_CALL.fullmatch(last):
        origin = Origin.DATE
    elif _CLOCK_CALL.fullmatch(last):
        origin = Origin.CLOCK
    if origin is None:
        return None
    value = pieces.arisen(frame, node, origin, "reads the clock", Shape.MOMENT)
    return replace(value, parts=(replace(value.parts[0], evidence=Evidence.NAME),))


def _arisen(
    engine: Engine, frame: Frame, node: Node, row: Arising[Shape], args: list[Node]
) -> Value:
    if row.origin is None:
        value = values.evaluate(engine, args[0], frame) if args else NOTHING
        if row.hazard != "shuffled-examples" and value.items is None:
            value = pieces.constant(frame, node)
    else:
        asked = frame.module.text(args[0]) if args else ""
        once = row.origin is Origin.LIVE_STATE and _OF_CHECKOUT.search(asked) is not None
        origin = Origin.SESSION if once else row.origin
        value = pieces.arisen(frame, node, origin, row.label, row.shape)
    if row.hazard is None or _is_deadline(frame, args):
        return value
    function = node.fields["function"]
    detail = row.detail.format(call=frame.module.text(function))
    hazard = Hazard(row.hazard, frame.module.source, node.span, detail)
    return replace(value, hazards=(*value.hazards, hazard))


def _is_deadline(frame: Frame, args: list[Node]) -> bool:
    """Whether something only races against a timer, so that one of them has the result."""
    return any(_TIMER.search(frame.module.text(arg)) is not None for arg in args)


def _carried(
    engine: Engine, frame: Frame, node: Node, last: str, args: list[Node], receiver: Value | None
) -> Value | None:
    """Return a clock reading or an id that a function of unknown kind was given."""
    found = [values.evaluate(engine, arg, frame) for arg in args[:3]]
    for value in (*([receiver] if receiver is not None else []), *found):
        part = value.sole
        if part is None or part.evidence is Evidence.NAME:
            continue
        if part.origin in (Origin.CLOCK, Origin.DATE):
            return _through(frame, node, last, value, args)
        if part.origin in (Origin.RANDOM, Origin.HEADER, Origin.IDENTITY, Origin.SESSION) and (
            value is receiver
        ):
            return pieces.again(frame, node, value)
        if part.origin in (Origin.LIVE_STATE, Origin.HEADER) and value is receiver:
            return pieces.again(frame, node, value)
    return None


def _through(frame: Frame, node: Node, last: str, value: Value, args: list[Node]) -> Value | None:
    """Return a clock reading after a function that formats it."""
    if not _MOMENT_NAMES.fullmatch(last):
        return None
    written = frame.module.source.text[args[0].start : args[-1].end] if args else ""
    day = dates.format_is_day(written) if re.search(r"""["'`]""", written) else None
    if day or (day is None and _DAY_NAMES.fullmatch(last)):
        value = dates.coarse(value)
    return pieces.again(frame, node, replace(value, shape=Shape.MOMENT))
