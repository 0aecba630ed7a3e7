"""Calls that give what changes: clocks, random values, searches, orders that nobody fixed."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from kvaudit.analyzers.source.arising import Arising
from kvaudit.analyzers.source.parts import Hazard
from kvaudit.analyzers.source.python.binding import bind
from kvaudit.analyzers.source.python.engine import Engine, Frame
from kvaudit.analyzers.source.python.methods import SAME_TEXT
from kvaudit.analyzers.source.python.moments import at_precision, coarse
from kvaudit.analyzers.source.python.placing import arisen, placed, unknown
from kvaudit.analyzers.source.python.values import NOTHING, Shape, Value
from kvaudit.core.document import Evidence, Origin

_MOMENT_TEXT = re.compile(
    r"(\w+_)?(format|fmt|iso\w*|strftime|pretty|human\w*|local\w*|to_\w+|astimezone|as_\w+|replace"
    r"|in_timezone|in_tz|tz_convert|stringify|render|display|timestamp|ctime|naturaltime)(_\w+)?"
)

_DAY_NAMES = re.compile(r"(.*_)?(date|day|weekday|isoweekday|toordinal|year|month)s?(_\w+)?")

_CARRIED = (Origin.CLOCK, Origin.DATE, Origin.RANDOM, Origin.SESSION)

TOOLS_OF_SERVERS = Arising(
    origin=None,
    shape=Shape.UNKNOWN,
    hazard="discovery-order",
    label="asks a server for its tools",
    detail="{call} gives the tools of one server after another, in an order that each decides",
)

_SAID = re.compile(
    r"(?:^|[\W_])(question|query|utterance|(user|last|new(est)?)_(input|message|msg|text|request))"
    r"(?:\W|$)|^(message|msg|user_input)$|(messages|history|turns)\[-1\]",
    re.IGNORECASE,
)
_FOUND = (Origin.RETRIEVED, Origin.LIVE_STATE)


def _is_said(value: Value) -> bool:
    """Whether a value is what a user says in this turn; a task stays while an agent works at it."""
    parts = value.printed
    return bool(parts) and all(_SAID.search(part.expression or "") for part in parts)


def arisen_from(
    engine: Engine,
    frame: Frame,
    node: ast.Call,
    dotted: str,
    row: Arising[Shape],
    args: list[Value],
) -> Value:
    """Return what a call gives that the table of sources knows."""
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
        if row.origin in _FOUND and any(map(_is_said, args)):
            value = replace(value, parts=tuple(replace(p, asked=True) for p in value.parts))
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


def carried(
    frame: Frame, node: ast.Call, last: str, args: list[Value], receiver: Value | None
) -> Value | None:
    """Return a clock reading that a formatting function of unknown kind was given."""
    for value in (receiver, *args):
        if value is None or len(value.parts) != 1:
            continue
        part = value.parts[0]
        if part.origin in _CARRIED and (part.trail or part.evidence is not Evidence.NAME):
            if _MOMENT_TEXT.fullmatch(last) or (value is receiver and last in SAME_TEXT):
                value = coarse(value) if _DAY_NAMES.fullmatch(last) else value
                return replace(value, parts=placed(frame, node, value))
            if _DAY_NAMES.fullmatch(last):
                return replace(coarse(value), shape=Shape.MOMENT)
    return None
