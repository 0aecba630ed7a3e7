"""Marks that are filled by a table: ``text.replace(/{(\\w+)}/g, (_, name) => TABLE[name])``.

The text is a prompt where a constant of the file has such marks, or where names speak of
prompts; else the finding rests on names alone, since tables fill mails and file names too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import replace

from kvaudit.analyzers.source.ecmascript.bodies import frame_at
from kvaudit.analyzers.source.ecmascript.code import name_of
from kvaudit.analyzers.source.ecmascript.drafts import Draft, Entry
from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.evaluate import evaluate, result
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS, function_around, own_nodes
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import Value, text_of
from kvaudit.analyzers.source.parts import Part
from kvaudit.core.document import Evidence, Position, Volatility
from kvaudit.core.sources import Span

_PROMPT_WORDS = re.compile(
    r"prompt|system|instruction|persona|llm|agent|assistant|model", re.IGNORECASE
)
_OTHER_WORDS = re.compile(
    r"file_?name|filename|\bmail|email|subject|\bpath\b|url|title|\bcss\b|html|report|slug|log",
    re.IGNORECASE,
)
_NAMED_PROMPT = re.compile(r"prompt|system|instruction|template", re.IGNORECASE)
_NAMED_TEXT = re.compile(r"prompt|instruction|system_?(message|text)", re.IGNORECASE)
_PROMPT_TEXT = re.compile(r"SYSTEM_?(PROMPT|TEMPLATE)|PROMPT_?TEMPLATE")
"""Constants of another file whose marks a table may fill."""
_ONE_MESSAGE = re.compile(r"\bPromptTemplate\.fromTemplate\(|\bnew PromptTemplate\(")
"""What makes a prompt of one message, which no further turn follows."""
_OPEN_MARK = re.compile(r"\{|%\w|\$\w|<\w|\[\[")
_HOLE = re.compile(r"\{\{?\s*\$?(\w+)\s*\}?\}")
_FILLS = frozenset((
    "invoke", "stream", "format", "formatMessages", "formatPromptValue", "partial", "batch",
))  # fmt: skip
_FILLED_KEYS = ("key", "name", "variable", "placeholder", "token")


def filled(engine: Engine, told: Set[Node]) -> Iterator[Draft]:
    """Yield a draft for each table of the file that fills marks with values that change.

    ``told`` are functions whose text is known as a whole.
    """
    for node in engine.module.calls:
        function, given = node.get("function"), node.get("arguments")
        if function is None or function.kind != "member_expression" or given is None:
            continue
        if engine.module.text(function.fields["property"]) not in ("replace", "replaceAll"):
            continue
        args = [kid for kid in given.kids if kid.kind != "comment"]
        if len(args) != 2 or function_around(node) in told:
            continue
        named = args[0].kind == "identifier" and _speaks(engine, node)
        if named or _OPEN_MARK.search(engine.module.text(args[0])):
            yield from _of_call(engine, node, args[1])
    yield from _of_templates(engine)
    yield from _of_entries(engine)
    yield from _of_lists(engine)


def _of_call(engine: Engine, node: Node, stand_in: Node) -> Iterator[Draft]:
    frame = frame_at(engine, node)
    if stand_in.kind not in FUNCTIONS:
        value = evaluate(engine, stand_in, frame)
        sole = value.sole
        if sole is not None and _changes(sole):
            yield from _draft(
                engine,
                node,
                [(None, replace(sole, span=stand_in.span, source=engine.module.source))],
            )
        return
    for inner in own_nodes(stand_in):
        if inner.kind == "subscript_expression" and inner.get("object") is not None:
            inside = Frame(engine.module, stand_in, outer=frame)
            table = evaluate(engine, inner.fields["object"], inside)
            yield from _draft(engine, node, list(_rows(engine, inside, table)))
            return


def _of_templates(engine: Engine) -> Iterator[Draft]:
    """Yield values given to a template whose holes are named in this file."""
    holes = dict(_holes(engine))
    if not holes:
        return
    alone = _ONE_MESSAGE.search(engine.module.source.text) is not None
    for node in engine.module.calls:
        function, given = node.get("function"), node.get("arguments")
        if function is None or given is None or not given.kids or given.kids[0].kind != "object":
            continue
        if engine.module.dotted(function).rsplit(".", 1)[-1] not in _FILLS:
            continue
        table = evaluate(engine, given.kids[0], frame_at(engine, node))
        rows = _rows(engine, frame_at(engine, node), table)
        for draft in _draft(engine, node, [row for row in rows if row[0] in holes]):
            draft.multi_turn = not alone
            yield draft


def _of_entries(engine: Engine) -> Iterator[Draft]:
    """Yield tables whose every entry is put in: ``Object.entries(t).forEach(([k, v]) => ...)``."""
    for node in engine.module.calls:
        given = node.get("arguments")
        text = engine.module.text(given) if given is not None else ""
        if engine.module.dotted(node.get("function")) != "Object.entries.forEach":
            continue
        if ".replace" not in text or not _OPEN_MARK.search(text):
            continue
        entries = node.fields["function"].get("object")
        table = entries.get("arguments") if entries is not None else None
        if table is None or not table.kids:
            continue
        frame = frame_at(engine, node)
        rows = _rows(engine, frame, evaluate(engine, table.kids[0], frame))
        yield from _draft(engine, node, list(rows))


def _of_lists(engine: Engine) -> Iterator[Draft]:
    """Yield tables that are lists of a name and a function which gives its value."""
    if not _HOLE.search(engine.module.source.text) and ".replace" not in engine.module.source.text:
        return
    for node in engine.module.arrays:
        rows: list[tuple[str | None, Part]] = []
        for kid in node.kids:
            if kid.kind != "object":
                continue
            fields = evaluate(engine, kid, frame_at(engine, kid)).fields or {}
            key = next(
                (fields[k].text for k in _FILLED_KEYS if k in fields and fields[k].text), None
            )
            value = fields.get("value") or fields.get("resolve") or fields.get("getValue")
            if key is not None and value is not None:
                rows += [(key, part) for part in _given(engine, frame_at(engine, kid), value)]
        if rows and ".replace" in engine.module.source.text:
            yield from _draft(engine, node, rows)


def _rows(engine: Engine, frame: Frame, table: Value) -> Iterator[tuple[str | None, Part]]:
    for key, value in (table.fields or {}).items():
        for part in _given(engine, frame, value):
            yield key, part


def _given(engine: Engine, frame: Frame, value: Value) -> Iterator[Part]:
    if value.code is not None:
        value = result(engine, frame, value.code, [])
    for part in value.printed:
        if _changes(part):
            yield part


def _changes(part: Part) -> bool:
    return (
        part.text is None
        and part.volatility >= Volatility.DAY
        and part.evidence is not Evidence.NAME
    )


def _draft(engine: Engine, node: Node, rows: list[tuple[str | None, Part]]) -> Iterator[Draft]:
    if not rows:
        return
    names = _names_around(engine, node)
    holes = dict(_holes(engine))
    parts = [_at_hole(engine, holes, key, part) for key, part in rows]
    spoken = any(_PROMPT_WORDS.search(name) for name in names) or any(
        key in holes for key, _ in rows
    )
    spoken = spoken or any(_PROMPT_TEXT.search(held.name) for held in engine.module.imports)
    if not spoken and any(_OTHER_WORDS.search(name) for name in names):
        return
    if not spoken:
        parts = [replace(part, evidence=Evidence.NAME) for part in parts]
    name = names[1] or "filled marks"
    draft = Draft(name, node, [Entry(Position.SYSTEM, text_of(parts))])
    draft.low_stakes = not spoken
    yield draft


def _names_around(engine: Engine, node: Node) -> list[str]:
    """Return what says whether a text is a prompt: the file, the function, the call itself."""
    around = function_around(node)
    name = name_of(engine, around) if around is not None else ""
    # The folder that a project happens to lie in says nothing of its texts.
    place = "/".join(engine.module.source.path.split("/")[-2:])
    return [place, name, engine.module.text(node)[:80]]


def _speaks(engine: Engine, node: Node) -> bool:
    """Whether a call whose mark is no literal fills a prompt, by the names around it."""
    return any(_NAMED_TEXT.search(name) for name in _names_around(engine, node)[1:])


def _holes(engine: Engine) -> Iterator[tuple[str, Span]]:
    """Yield the marks in constants that are named like prompts, and in prompt templates."""
    for node in engine.module.declarators:
        name, value = node.get("name"), node.get("value")
        if name is None or value is None or value.kind not in ("string", "template_string"):
            continue
        if _NAMED_PROMPT.search(engine.module.text(name)):
            yield from _holes_in(engine, value)
    for node in engine.module.calls:
        callee = engine.module.dotted(node.get("function", "constructor")).rsplit(".", 1)[-1]
        if callee in ("fromMessages", "fromTemplate", "PromptTemplate"):
            for inner in node.walk():
                if inner.kind in ("string", "template_string") and not _is_users(engine, inner):
                    yield from _holes_in(engine, inner)


def _holes_in(engine: Engine, node: Node) -> Iterator[tuple[str, Span]]:
    for found in _HOLE.finditer(engine.module.source.text, node.start, node.end):
        yield found[1], Span(found.start(), found.end())


def _is_users(engine: Engine, node: Node) -> bool:
    """Whether a text is that of the newest turn: ``["human", "..."]``."""
    around = node.parent
    if around is None or around.kind != "array" or not around.kids:
        return False
    return engine.module.text(around.kids[0]).strip("\"'") in ("human", "user")


def _at_hole(engine: Engine, holes: dict[str, Span], key: str | None, part: Part) -> Part:
    """Return a value where its mark stands, if that is in this file."""
    if key is None or key not in holes:
        return part
    span = holes[key]
    shown = engine.module.source.text[span.start : span.end]
    return replace(
        part, source=engine.module.source, span=span, expression=shown, evidence=Evidence.BINDING
    )
