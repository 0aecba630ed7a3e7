"""How the history is kept: cut on every turn, changed after it was sent, written anew."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.source.ecmascript.budgets import cut_to_budget
from kvaudit.analyzers.source.ecmascript.built_twice import built_twice
from kvaudit.analyzers.source.ecmascript.code import (
    asks_once,
    is_history,
    last_name,
    observe,
    pair_value,
    requests,
    short,
)
from kvaudit.analyzers.source.ecmascript.engine import Engine
from kvaudit.analyzers.source.ecmascript.library_windows import told_to_a_library
from kvaudit.analyzers.source.ecmascript.slices import newest_kept
from kvaudit.analyzers.source.ecmascript.syntax import function_around
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.windows import changes_as_they_age
from kvaudit.core.document import Observation

_MARKS = re.compile(r"cache_?[cC]ontrol|cache_?[pP]oint|providerOptions")
_NEWEST = re.compile(
    r"\.length\s*-\s*1\b|\blast(User)?(Message)?(Idx|Index)?\b|\bisLast\w*|\bat\(-1\)"
)
_AGE = re.compile(
    r"\.length\s*-\s*(?!1\b)\w+|\b\w*([tT]urn|[sS]tep|[iI]ndex|[iI]dx)\w*\s*-\s*\w+(\.\w+)*\s*[<>]|\bage\b"
)
_EMPTIED = re.compile(
    r"content\s*:\s*(\[\s*\{[^}]*)?[\"'`]|cleared|omitted|truncat|elided|pruned|\bshort\w*\(|summar|placeholder|stub",
    re.IGNORECASE,
)


def history_observations(engine: Engine) -> Iterator[Observation]:
    """Yield what the file does to the messages of a conversation."""
    yield from newest_kept(engine)
    yield from _mapped(engine)
    yield from _sent_but_not_stored(engine)
    yield from built_twice(engine)
    yield from cut_to_budget(engine)
    yield from told_to_a_library(engine)


def _mapped(engine: Engine) -> Iterator[Observation]:
    """Yield maps over the history whose result depends on how new or how old a message is."""
    for node in engine.module.calls:
        function, given = node.get("function"), node.get("arguments")
        if (
            function is None
            or given is None
            or last_name(engine, function) not in ("map", "flatMap")
        ):
            continue
        if not is_history(engine, function.get("object")) or not given.kids:
            continue
        if asks_once(engine, node):
            continue
        for branch in given.kids[0].walk():
            if branch.kind not in ("ternary_expression", "if_statement"):
                continue
            found = _branch(engine, branch)
            if found is not None:
                yield found
                break


def _branch(engine: Engine, branch: Node) -> Observation | None:
    condition, then = branch.get("condition"), branch.get("consequence")
    if condition is None or then is None:
        return None
    text, changed = engine.module.text(condition), engine.module.text(then)
    other = branch.get("alternative")
    both = changed + (engine.module.text(other) if other is not None else "")
    if _MARKS.search(both) or ("content" not in both and not _EMPTIED.search(both)):
        return None
    if _AGE.search(text) and _EMPTIED.search(both):
        detail = changes_as_they_age(short(engine, condition))
        return observe(engine, branch, "history-trimmed-each-turn", detail)
    if (
        _NEWEST.search(text)
        and re.search(r"content\s*:[^,}]*(\+|\$\{|\()", changed)
        and "==" in text
    ):
        detail = f"{short(engine, condition)} changes a message only while it is the newest"
        return observe(engine, branch, "history-rewritten", detail)
    return None


def _sent_but_not_stored(engine: Engine) -> Iterator[Observation]:
    """Yield newest turns that are sent with more text than is stored."""
    for body in requests(engine):
        value = pair_value(engine, body, "messages", "contents")
        if value is None or value.kind != "array" or len(value.kids) < 2:
            continue
        newest = value.kids[-1]
        spread = any(
            k.kind == "spread_element" and k.kids and is_history(engine, k.kids[0])
            for k in value.kids
        )
        if newest.kind != "object" or not spread:
            continue
        sent = pair_value(engine, newest, "content")
        stored = _stored(engine, body, newest)
        if sent is None or stored is None:
            continue
        extra, plain = engine.module.text(sent), engine.module.text(stored)
        if extra != plain and plain in extra:
            detail = f"{short(engine, sent)} is sent, and {short(engine, stored)} is stored"
            yield observe(engine, sent, "history-rewritten", detail)


def _stored(engine: Engine, body: Node, newest: Node) -> Node | None:
    """Return the content of the user turn that the same function keeps."""
    owner = function_around(body)
    where = owner if owner is not None else engine.module.root
    for node in where.walk():
        if node.kind != "call_expression" or last_name(engine, node.get("function")) not in (
            "push",
            "append",
            "add",
            "save",
        ):
            continue
        given, function = node.get("arguments"), node.get("function")
        if given is None or function is None or not is_history(engine, function.get("object")):
            continue
        for kid in given.kids:
            role = pair_value(engine, kid, "role") if kid.kind == "object" else None
            if role is not None and engine.module.text(role).strip("\"'") == "user":
                return pair_value(engine, kid, "content")
    return None
