"""Calls: functions of the project, methods of text and lists, and where values arise."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace

from kvaudit.analyzers.source.arising import Arising
from kvaudit.analyzers.source.python import lookup, templates
from kvaudit.analyzers.source.python.engine import Engine, Frame, Seen
from kvaudit.analyzers.source.python.expressions import (
    arisen,
    as_items,
    at_precision,
    bind,
    coarse,
    element_at,
    evaluate,
    placed,
    printed_object,
    set_of,
    unknown,
)
from kvaudit.analyzers.source.python.functions import apply
from kvaudit.analyzers.source.python.live import file_read
from kvaudit.analyzers.source.python.messages import message
from kvaudit.analyzers.source.python.origins import arising
from kvaudit.analyzers.source.python.values import (
    NOTHING,
    Code,
    Hazard,
    Shape,
    Value,
    all_hazards,
    list_of,
    text_of,
)
from kvaudit.core.document import Evidence, Origin

_SAME_TEXT = {
    "strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize", "encode", "decode",
    "expandtabs", "removeprefix", "removesuffix", "swapcase", "casefold", "zfill", "copy",
    "splitlines", "center", "ljust", "rjust", "translate", "to_string", "getvalue", "as_posix",
    "absolute", "resolve", "expanduser", "hex", "model_copy", "total_seconds", "items", "values",
}  # fmt: skip
_SAME_VALUE = {
    "str", "int", "float", "round", "abs", "dedent", "indent", "fill", "cleandoc", "escape",
    "quote", "list", "tuple", "reversed", "iter", "cast", "deepcopy", "copy", "filter", "format",
    "html.escape", "bytes", "OrderedDict", "to_thread", "min", "max", "gather", "unquote", "next",
    "partial", "awrap", "ensure_text", "SystemPromptPart", "TextContent", "Text", "TextPart",
}  # fmt: skip
_SORTS = {"sorted", "natsorted", "sort"}
_MOMENT_TEXT = re.compile(
    r"(\w+_)?(format|fmt|iso\w*|strftime|pretty|human\w*|local\w*|to_\w+|astimezone|as_\w+|replace"
    r"|in_timezone|in_tz|tz_convert|stringify|render|display|timestamp|ctime|naturaltime)(_\w+)?"
)
_DAY_NAMES = re.compile(r"(.*_)?(date|day|weekday|isoweekday|toordinal|year|month)s?(_\w+)?")
_CARRIED = (Origin.CLOCK, Origin.DATE, Origin.RANDOM, Origin.SESSION)
_VERB = re.compile(
    r"^_*((get|load|fetch|read|build|make|render|format|compute|compose|current|list|find|create"
    r"|generate|collect|retrieve|dump|to|as|a)_+)+"
)


_TOOLS_OF_SERVERS = Arising(
    origin=None,
    shape=Shape.UNKNOWN,
    hazard="discovery-order",
    label="asks a server for its tools",
    detail="{call} gives the tools of one server after another, in the order they answer",
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
        engine.seen.append(Seen(frame.unit, node, dotted, code, args, keywords, frame.loops))
    if isinstance(node.func, ast.Attribute) and receiver is not None:
        done = _method(engine, frame, node, receiver, args, keywords)
        if done is not None:
            return done
    made = message(engine, frame, node, dotted, args, keywords)
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
    builtin = _BUILTINS.get(last)
    if builtin is not None:
        return builtin(engine, frame, node, args)
    if last in _SAME_VALUE and args:
        value = args[0] if last != "filter" and last != "cast" else args[-1]
        return replace(value, spread=False)
    read = file_read(frame, node, dotted, receiver)
    if read is not None:
        return read
    row = None if resolved else arising("call", dotted)
    if last == "list_tools" and frame.loops:
        row = _TOOLS_OF_SERVERS
    if row is not None:
        return _arisen(engine, frame, node, dotted, row, args)
    carried = _carried(frame, node, last, args, receiver)
    if carried is not None:
        return carried
    return unknown(engine, frame, node, _VERB.sub("", last) or last)


def _arisen(
    engine: Engine,
    frame: Frame,
    node: ast.Call,
    dotted: str,
    row: Arising[Shape],
    args: list[Value],
) -> Value:
    last = dotted.rsplit(".", 1)[-1]
    if row.hazard is None and row.origin is None:
        return replace(args[0] if args else unknown(engine, frame, node, last), shape=row.shape)
    if row.hazard == "shuffled-examples" and _is_seeded(frame):
        return args[0] if args else NOTHING
    if row.origin is None:
        value = args[0] if args and row.hazard == "shuffled-examples" else NOTHING
        value = value if value.items is not None else unknown(engine, frame, node, last)
    else:
        rooted = "." in dotted or dotted in frame.module.imports
        value = arisen(frame, node, row.origin, row.shape, row.label, sure=rooted)
    if last == "strftime" and args and args[0].text:
        value = at_precision(value, args[0].text)
    if row.hazard is None:
        return value
    hazard = Hazard(
        row.hazard,
        frame.module.source,
        frame.module.span(node),
        row.detail.format(call=frame.module.written(node.func)),
    )
    if last == "shuffle" and node.args:
        bind(engine, frame, node.args[0], replace(args[0], hazards=(*args[0].hazards, hazard)))
        return NOTHING
    return replace(value, hazards=(*value.hazards, hazard))


def _is_seeded(frame: Frame) -> bool:
    """Whether the function, or its file, seeds the generator with something."""
    return re.search(r"\b(seed|manual_seed|Random)\(\s*[\w.]", frame.module.source.text) is not None


def _carried(
    frame: Frame, node: ast.Call, last: str, args: list[Value], receiver: Value | None
) -> Value | None:
    """Return a clock reading that a formatting function of unknown kind was given."""
    for value in (receiver, *args):
        if value is None or len(value.parts) != 1:
            continue
        part = value.parts[0]
        if part.origin in _CARRIED and (part.trail or part.evidence is not Evidence.NAME):
            if _MOMENT_TEXT.fullmatch(last) or (value is receiver and last in _SAME_TEXT):
                value = coarse(value) if _DAY_NAMES.fullmatch(last) else value
                return replace(value, parts=placed(frame, node, value))
            if _DAY_NAMES.fullmatch(last):
                return replace(coarse(value), shape=Shape.MOMENT)
    return None


def _method(
    engine: Engine,
    frame: Frame,
    node: ast.Call,
    receiver: Value,
    args: list[Value],
    keywords: dict[str, Value],
) -> Value | None:
    """Return what a method of text, a list, a set or a clock reading gives; None for others."""
    assert isinstance(node.func, ast.Attribute)
    name = node.func.attr
    if name in _CHANGES and _changed_list(engine, frame, node, receiver, args):
        return NOTHING
    if name == "join" and args and receiver.shape is not Shape.INSTANCE:
        return templates.joined(frame, node, receiver, args[0])
    if name in ("format", "format_map", "safe_substitute", "substitute", "partial"):
        return templates.filled(engine, frame, node, receiver, args, keywords)
    if receiver.shape is Shape.MOMENT:
        return _of_moment(node, name, receiver, args)
    if name == "replace" and len(args) >= 2:
        return templates.replaced(frame, node, receiver, args[0], args[1])
    if name in ("split", "rsplit", "partition") and receiver.parts:
        pieces = coarse(receiver) if args and args[0].text in ("T", " ") else receiver
        return replace(pieces, shape=Shape.TEXT)
    if name in _SAME_TEXT and (
        receiver.shape in (Shape.TEXT, Shape.LIST, Shape.SET) or receiver.fields
    ):
        return receiver
    if name in ("keys", "difference", "union", "intersection", "symmetric_difference"):
        return set_of(frame, node, receiver) if receiver.shape is Shape.SET else None
    if name == "get" and args and args[0].text and receiver.shape is not Shape.INSTANCE:
        return _entry(engine, frame, node, receiver, args[0].text)
    return None


def _entry(engine: Engine, frame: Frame, node: ast.Call, receiver: Value, key: str) -> Value | None:
    """Return an entry of a dict; what stands in for a missing one says nothing of the others."""
    if receiver.fields is not None and key in receiver.fields:
        return receiver.fields[key]
    rows = arising("call", frame.module.dotted(node.func))
    return unknown(engine, frame, node, key) if rows is None else None


def _of_moment(node: ast.Call, name: str, receiver: Value, args: list[Value]) -> Value | None:
    if name in ("strftime", "format", "to_string", "format_datetime"):
        pattern = args[0].text if args else None
        if pattern is None and node.args and "date_format" in ast.dump(node.args[0]):
            pattern = "%Y-%m-%d"
        return (
            replace(receiver, shape=Shape.TEXT)
            if pattern is None
            else at_precision(receiver, pattern)
        )
    if name in ("date", "to_date_string", "toordinal", "weekday", "isoweekday", "day_name"):
        return coarse(receiver)
    if name.startswith(("tz", "utcoffset", "dst")):
        return NOTHING
    if name == "replace":
        zeroed = {keyword.arg for keyword in node.keywords}
        return coarse(receiver) if "hour" in zeroed else receiver
    if name in ("start_of", "floor", "normalize"):
        return coarse(receiver) if args and args[0].text in ("day", "D") else receiver
    if name == "isoformat" and any(k.arg == "timespec" for k in node.keywords):
        return replace(receiver, shape=Shape.TEXT)
    return receiver


_CHANGES = {
    "append",
    "extend",
    "insert",
    "add",
    "update",
    "sort",
    "setdefault",
    "appendleft",
    "write",
}


def _changed_list(
    engine: Engine, frame: Frame, node: ast.Call, receiver: Value, args: list[Value]
) -> bool:
    """Change the list that a method is called on; True where it was one."""
    assert isinstance(node.func, ast.Attribute)
    target = node.func.value
    if not isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
        return False
    name = node.func.attr
    if name == "sort":
        bind(engine, frame, target, _in_order(receiver))
        return True
    if not args:
        return False
    old = receiver.items
    if old is None:
        if name not in ("append", "extend", "insert") or receiver.code is not None:
            return False
        old = (replace(receiver, spread=True),)
    last = args[-1]
    at_call = element_at(frame, node.args[-1], last)
    if name in ("extend", "update"):
        new = (*old, *as_items(last))
    elif name == "insert":
        new = (at_call, *old)
    else:
        new = (*old, at_call)
    hazards = receiver.hazards + (last.hazards if name == "extend" else ())
    bind(
        engine,
        frame,
        target,
        replace(
            receiver, parts=(), items=new[-300:] if name == "append" else new[:300], hazards=hazards
        ),
    )
    return True


def _in_order(value: Value) -> Value:
    """Return a value once it was sorted: its elements stand in an order of their own."""
    orders = {"set-order", "discovery-order", "retrieval-order", "shuffled-examples"}
    keep = tuple(h for h in value.hazards if h.kind not in orders)
    parts = tuple(
        replace(p, hazards=tuple(h for h in p.hazards if h.kind not in orders)) for p in value.parts
    )
    items = value.items
    if items is not None:
        items = tuple(_in_order(item) for item in items)
    return replace(value, hazards=keep, parts=parts, items=items, shape=Shape.LIST)


def _sorted(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    return _in_order(args[0]) if args else NOTHING


def _a_set(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    return set_of(frame, node, args[0]) if args else list_of(())


def _number(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    return unknown(engine, frame, node, "length")


def _nothing(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    return NOTHING


def _a_dict(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    fields: dict[str, Value] = dict(args[0].fields or {}) if args else {}
    for keyword in node.keywords:
        value = evaluate(engine, frame, keyword.value)
        if keyword.arg is None:
            fields.update(value.fields or {})
        else:
            fields[keyword.arg] = element_at(frame, keyword.value, value)
    return Value(
        fields=fields, shape=Shape.FIELDS, at=(frame.module.source, frame.module.span(node))
    )


def _represented(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    if not args:
        return NOTHING
    return printed_object(frame, node.args[0], args[0])


def _identity(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    if not isinstance(node.func, ast.Name):
        return unknown(engine, frame, node)
    hazard = Hazard(
        "object-repr",
        frame.module.source,
        frame.module.span(node),
        f"{frame.module.written(node)} differs between processes",
    )
    made = arisen(frame, node, Origin.OBJECT_REPR, Shape.UNKNOWN, "an address in memory")
    return replace(made, parts=tuple(replace(p, hazards=(hazard,)) for p in made.parts))


def _mapped(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    if len(args) < 2:
        return NOTHING
    function, rows = args[0].code, args[1]
    if function is None:
        return rows
    results = [apply(engine, function, (item,), {}, frame.depth) for item in as_items(rows)[:60]]
    return list_of(
        (replace(r, spread=i.spread) for r, i in zip(results, as_items(rows), strict=False)),
        rows.hazards,
    )


def _counted(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    return args[0] if args else NOTHING


def _got(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    """Return the default of ``getattr``, which is how most objects are; else what the name says."""
    if len(args) > 2 and (args[2].parts or args[2].literal is not None):
        return args[2]
    name = args[1].text if len(args) > 1 else None
    return unknown(engine, frame, node, name or "getattr")


def _as_json(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    if not args:
        return NOTHING
    is_sorted = any(
        keyword.arg == "sort_keys"
        and isinstance(keyword.value, ast.Constant)
        and bool(keyword.value.value)
        for keyword in node.keywords
    )
    hazards = tuple(h for h in all_hazards(args[0]) if h.kind == "set-order")
    if not is_sorted and args[0].shape is Shape.WIRE:
        hazards += (
            Hazard(
                "unsorted-json",
                frame.module.source,
                frame.module.span(node),
                f"{frame.module.written(node)} keeps an order of keys that others decide",
            ),
        )
    parts = args[0].printed or unknown(engine, frame, node).parts
    return replace(text_of(parts), hazards=hazards)


_BUILTINS: dict[str, Callable[[Engine, Frame, ast.Call, list[Value]], Value]] = {
    "sorted": _sorted,
    "natsorted": _sorted,
    "set": _a_set,
    "frozenset": _a_set,
    "len": _number,
    "sum": _number,
    "print": _nothing,
    "isinstance": _nothing,
    "hasattr": _nothing,
    "dict": _a_dict,
    "repr": _represented,
    "str": _represented,
    "id": _identity,
    "hash": _identity,
    "map": _mapped,
    "enumerate": _counted,
    "zip": _counted,
    "getattr": _got,
    "dumps": _as_json,
    "dump_json": _as_json,
}
