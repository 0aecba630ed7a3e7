"""Histories that are cut to a budget on every turn: the oldest goes first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.source.ecmascript.code import (
    asks_once,
    is_history,
    last_name,
    observe,
    owner_name,
    short,
)
from kvaudit.analyzers.source.ecmascript.engine import Engine
from kvaudit.analyzers.source.ecmascript.sending import sent_lists
from kvaudit.analyzers.source.ecmascript.syntax import BRANCHES, FUNCTIONS
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.windows import MEASURES, MIN_KEPT, drops_the_oldest
from kvaudit.core.document import Evidence, Observation

_ORDERED = re.compile(r"[^=<>]([<>])=?[^=<>]")
_PLAIN_NUMBER = re.compile(r"[<>]=?\s*(\d+)\s*(?=$|[)&|])|(?:^|[(&|])\s*(\d+)\s*[<>]")
_TERM = re.compile(r"(?<![\w.])[A-Za-z_$][\w.$]*(?!\s*\(|[\w.$])|\b\d[\d_.]*\b")
_GIVES_MESSAGES = re.compile(
    r"(build|make|prepare|get|assemble|to|fit|trim|prune|truncate|limit)\w*(Messages|History|Prompt)"
)
"""Names of functions whose result is sent, wherever that is."""
_LAST_INDEX = re.compile(r"([\w.$]+)\.length\s*-\s*1\b")


def cut_to_budget(engine: Engine) -> Iterator[Observation]:
    """Yield loops that leave as much of the end of a sent history as a budget allows.

    Once a conversation has reached it, each turn takes from the front what it adds at the end.
    A loop that runs only where another, higher limit was passed cuts rarely, and is none.
    """
    cuts = [cut for node in engine.module.branches if (cut := _cut(engine, node)) is not None]
    sent = {engine.module.text(node) for node in sent_lists(engine)} if cuts else set()
    for node, test, kept in cuts:
        named = _GIVES_MESSAGES.fullmatch(owner_name(engine, node)) is not None
        if kept not in sent and not named:
            continue
        if asks_once(engine, node) or _is_rare(engine, node, test):
            continue
        detail = drops_the_oldest(short(engine, test))
        sure = Evidence.DATAFLOW if kept in sent else Evidence.NAME
        yield observe(engine, test, "history-trimmed-each-turn", detail, evidence=sure)


def _cut(engine: Engine, node: Node) -> tuple[Node, Node, str] | None:
    """Return a loop, the test that ends it, and the name of the list of what is left."""
    if node.kind in ("while_statement", "if_statement"):
        test, body = node.get("condition"), node.get("body", "consequence")
        kept = _dropped(engine, body) if body is not None else None
    else:
        test, kept = _ends(node), _gathered(engine, node)
        if not _is_newest_first(engine, node):
            return None
    if test is None or kept is None or not _limit(engine, test, node):
        return None
    return node, test, kept


def _dropped(engine: Engine, body: Node) -> str | None:
    """Return the history, or copy of one, whose oldest element a body takes away."""
    for statement in body.kids if body.kind == "statement_block" else [body]:
        if statement.kind in BRANCHES:
            continue
        for call in (n for n in statement.walk() if n.kind == "call_expression"):
            function, given = call.get("function"), call.get("arguments")
            cut = function.get("object") if function is not None else None
            if cut is None or given is None or not _is_of_history(engine, cut):
                continue
            first = bool(given.kids) and engine.module.text(given.kids[0]) in ("0", "1")
            name = last_name(engine, function)
            if name == "shift" or (name == "splice" and first and len(given.kids) == 2):
                return engine.module.text(cut)
    return None


def _is_of_history(engine: Engine, node: Node) -> bool:
    if is_history(engine, node):
        return True
    binding = engine.module.resolve(node, engine.module.text(node))
    value = binding.node.get("value") if binding is not None else None
    return value is not None and any(is_history(engine, inner) for inner in value.walk())


def _ends(loop: Node) -> Node | None:
    """Return the test under which a loop stops early."""
    for branch in (n for n in loop.walk() if n.kind == "if_statement"):
        if any(n.kind == "break_statement" for n in branch.walk()):
            return branch.get("condition")
    return None


def _gathered(engine: Engine, loop: Node) -> str | None:
    """Return the list that a loop puts messages into."""
    for call in (n for n in loop.walk() if n.kind == "call_expression"):
        function = call.get("function")
        into = function.get("object") if function is not None else None
        if into is not None and last_name(engine, function) in ("unshift", "push"):
            return engine.module.text(into)
    return None


def _is_newest_first(engine: Engine, loop: Node) -> bool:
    """Whether a loop runs over a history from its end."""
    if loop.kind == "for_statement":
        first, step = loop.get("initializer"), loop.get("increment")
        if first is None or step is None or "-" not in engine.module.text(step):
            return False
        counted = _LAST_INDEX.search(engine.module.text(first))
        return counted is not None and any(
            is_history(engine, n)
            for n in first.walk()
            if engine.module.text(n) == counted[1]
        )  # fmt: skip
    rows = loop.get("right")
    if rows is None or last_name(engine, rows) not in ("reverse", "toReversed"):
        return False
    return any(is_history(engine, n) for n in rows.walk() if n.kind != "call_expression")


def _limit(engine: Engine, test: Node, loop: Node) -> frozenset[str]:
    """Return what a loop's measure is compared with; empty where it measures nothing."""
    text = engine.module.text(test)
    if not _ORDERED.search(text) or not MEASURES.search(text):
        return frozenset()
    body = engine.module.text(loop)
    terms = {term for term in _TERM.findall(text) if not term.endswith(".length")}
    changed = {
        term for term in terms if re.search(rf"(?<![\w.]){re.escape(term)}\s*([-+]=|=[^=])", body)
    }
    few = [n for n in (a or b for a, b in _PLAIN_NUMBER.findall(text)) if int(n) < MIN_KEPT]
    return frozenset() if few else frozenset(terms - changed or terms or {text})


def _is_rare(engine: Engine, loop: Node, test: Node) -> bool:
    """Whether a cut is made after an error, or only where another limit is passed too."""
    limit = _limit(engine, test, loop)
    inside = loop
    for around in loop.ancestors():
        if around.kind == "catch_clause":
            return True
        if around.kind == "if_statement" and _is_other(engine, around, loop, limit):
            return True
        if around.kind in FUNCTIONS:
            inside = around
            break
    return any(
        _is_other(engine, early, loop, limit)
        for early in inside.walk()
        if early.kind == "if_statement" and _returns(early)
    )


def _is_other(engine: Engine, branch: Node, loop: Node, limit: frozenset[str]) -> bool:
    condition = branch.get("condition")
    other = _limit(engine, condition, loop) if condition is not None else frozenset[str]()
    return bool(other) and other != limit


def _returns(branch: Node) -> bool:
    then = branch.get("consequence")
    if then is None:
        return False
    last = then.kids[-1] if then.kind == "statement_block" and then.kids else then
    return last.kind == "return_statement"
