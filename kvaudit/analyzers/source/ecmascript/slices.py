"""Slices that leave the newest messages of a history, and so move its start on every turn."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.source.ecmascript.code import asks_once, last_name, observe, short
from kvaudit.analyzers.source.ecmascript.engine import Engine
from kvaudit.analyzers.source.ecmascript.sending import sent_lists
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.windows import MIN_KEPT, moves_the_start
from kvaudit.core.document import Observation

_OTHER_LISTS = re.compile(r"shots?|examples?|demos?|chunks?|docs|documents|results", re.IGNORECASE)
_NOT_BELOW_ZERO = re.compile(r"Math\.max\((?:0,\s*)?(.*?)(?:,\s*0)?\)", re.DOTALL)
_WHETHER_ANY = re.compile(r"[<>]=?\s*[01]\b|\b0\s*<")
_MEASURED = re.compile(r"[<>]|\w\(")
"""A test that can hold a history against a limit: not whether there is one."""


def newest_kept(engine: Engine) -> Iterator[Observation]:
    """Yield the slices of histories that are sent."""
    sent = sent_lists(engine)
    for node in engine.module.calls:
        function, given = node.get("function"), node.get("arguments")
        if function is None or given is None or last_name(engine, function) != "slice":
            continue
        cut = function.get("object")
        kept = _kept(engine, cut, given) if cut is not None else None
        if kept is None or cut is None or node not in sent or asks_once(engine, node):
            continue
        if _OTHER_LISTS.search(last_name(engine, cut)):
            continue
        if _has_hysteresis(engine, node, kept):
            continue
        detail = moves_the_start(short(engine, node))
        yield observe(engine, node, "history-trimmed-each-turn", detail)


def _kept(engine: Engine, cut: Node, given: Node) -> str | None:
    """Return how much of the end a slice keeps, as written; None where it is no window."""
    args = [kid for kid in given.kids if kid.kind != "comment"]
    if len(args) != 1:
        return None
    text = _start(engine, args[0])
    if text.startswith("-"):
        kept = text[1:].strip()
    else:
        kept = _behind_length(text, engine.module.text(cut))
    return None if not kept or (kept.isdigit() and int(kept) < MIN_KEPT) else kept


def _start(engine: Engine, node: Node) -> str:
    """Return where a slice starts, as written there or where its name is declared."""
    binding = engine.module.resolve(node, engine.module.text(node))
    if node.kind == "identifier" and binding is not None and binding.kind == "variable":
        value = binding.node.get("value")
        if value is not None and not binding.path and not binding.writes:
            return engine.module.text(value)
    return engine.module.text(node)


def _behind_length(start: str, cut: str) -> str:
    """Return N of a start ``rows.length - N`` of a slice of these rows; empty for others."""
    bare = _NOT_BELOW_ZERO.fullmatch(start)
    before, minus, kept = (bare[1] if bare is not None else start).partition("-")
    return kept.strip() if minus and before.strip() == f"{cut}.length" else ""


def _has_hysteresis(engine: Engine, node: Node, kept: str) -> bool:
    """Whether the cut is deep and rare: it starts well above what it leaves."""
    for around in node.ancestors():
        if around.kind in FUNCTIONS:
            return False
        if around.kind not in ("if_statement", "ternary_expression"):
            continue
        condition = around.get("condition")
        text = engine.module.text(condition) if condition is not None else ""
        if not _MEASURED.search(_WHETHER_ANY.sub("", text)):
            continue
        numbers = [int(n.replace("_", "")) for n in re.findall(r"\b\d[\d_]*\b", text)]
        if not kept.isdigit():
            if kept not in text:
                return True
        elif not numbers or any(n >= 1.5 * int(kept) for n in numbers):
            return True
    return False
