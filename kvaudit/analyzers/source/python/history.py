"""How the history is kept: cut on every turn, changed after it was sent, written anew."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from kvaudit.analyzers.source.python.code import (
    ONE_SHOT,
    is_history,
    last_name,
    nodes,
    observe,
    parents,
    short,
)
from kvaudit.analyzers.source.python.engine import Engine, Seen, Unit
from kvaudit.analyzers.source.python.messages import content_of, role_of
from kvaudit.analyzers.source.python.sinks import NO_SINK, Draft
from kvaudit.analyzers.source.python.values import Value
from kvaudit.core.document import Observation, Position

MIN_KEPT = 3
"""Who takes fewer messages asks about the newest ones and does not go on with the history."""

_ARGUMENTS = re.compile(r"(\w+_)?(arguments|tool_args|function_args|args_json)(_(str|json|raw))?")
_SENDS_BACK = re.compile(
    r"render|replay|format|convert|serial|template|to_|message|history|prompt|build"
)


def observed(engine: Engine, unit: Unit, drafts: Sequence[Draft]) -> Iterator[Observation]:
    """Yield what a function does to the history."""
    yield from _trimmed(engine, unit)
    yield from _aged_one_by_one(engine, unit)
    yield from _changed_in_a_copy(engine, unit)
    yield from _sent_but_not_stored(engine, unit, drafts)
    yield from _arguments_written_anew(engine, unit)


def _trimmed(engine: Engine, unit: Unit) -> Iterator[Observation]:
    """Yield windows over the history that reach a model: the start moves on every turn."""
    if ONE_SHOT.search(unit.name):
        return
    for node in nodes(engine, unit):
        if isinstance(node, ast.Subscript) and _is_window(node) and is_history(node.value):
            above = parents(engine, unit)
            if not _is_sent(node, _sent_expressions(engine, unit), above) or _has_hysteresis(
                node, above
            ):
                continue
            detail = f"{short(engine, node)} moves the start of the history on every turn"
            yield observe(engine, node, "history-trimmed-each-turn", detail)
        elif isinstance(node, ast.Call) and last_name(node.func) in _WINDOWS:
            detail = f"{short(engine, node)} keeps a window that moves on every turn"
            yield observe(engine, node, "history-trimmed-each-turn", detail)


_WINDOWS = {"ConversationBufferWindowMemory", "ConversationTokenBufferMemory"}
"""Classes that keep the newest messages only."""


def _sent_expressions(engine: Engine, unit: Unit) -> list[ast.expr]:
    """Return the expressions that a function sends as messages, or returns as such."""
    sent: list[ast.expr] = []
    for seen in engine.seen:
        if seen.unit is unit:
            sent += [k.value for k in seen.node.keywords if k.arg in ("messages", "contents")]
            if any(_has_roles(value) for value in seen.args) and not NO_SINK.fullmatch(seen.dotted):
                sent += seen.node.args
    if re.match(
        r"^_*(build|make|prepare|get|assemble|to|all)_(\w+_)?(messages|prompt)$",
        unit.name,
    ):
        sent += [node for node, _ in unit.returns if not isinstance(node, ast.Call)]
    return sent


def _has_roles(value: Value) -> bool:
    return value.items is not None and any(role_of(item) for item in value.items)


def _is_window(node: ast.Subscript) -> bool:
    cut = node.slice
    if not isinstance(cut, ast.Slice) or cut.upper is not None or cut.step is not None:
        return False
    lower = cut.lower
    if not isinstance(lower, ast.UnaryOp) or not isinstance(lower.op, ast.USub):
        return False
    kept = lower.operand
    if isinstance(kept, ast.Constant):
        return isinstance(kept.value, int) and kept.value >= MIN_KEPT
    return isinstance(kept, ast.Name | ast.Attribute | ast.BinOp)


def _is_sent(node: ast.AST, sent: Sequence[ast.expr], above: dict[ast.AST, ast.AST]) -> bool:
    """Whether a window stands in what is sent, or in the value of a name that is."""
    inside = {inner for expression in sent for inner in ast.walk(expression)}
    if node in inside:
        return True
    names = {ast.dump(n) for n in inside if isinstance(n, ast.Name | ast.Attribute)}
    names = {name.replace("Store()", "Load()") for name in names}
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.stmt):
        at = above.get(at)
    if isinstance(at, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = at.targets if isinstance(at, ast.Assign) else [at.target]
        return any(ast.dump(t).replace("Store()", "Load()") in names for t in targets)
    if isinstance(at, ast.For):
        return bool(names) and at.iter is node
    return isinstance(at, ast.Expr) and any(
        ast.dump(n) in names for n in ast.walk(at) if isinstance(n, ast.Name)
    )


def _has_hysteresis(node: ast.Subscript, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether the cut is deep and rare: it starts well above what it leaves."""
    cut = node.slice
    assert isinstance(cut, ast.Slice)
    at: ast.AST | None = node
    while at is not None:
        at = above.get(at)
        if not isinstance(at, ast.If):
            continue
        numbers = [n.value for n in ast.walk(at.test) if isinstance(n, ast.Constant)]
        kept = cut.lower.operand if isinstance(cut.lower, ast.UnaryOp) else None
        if isinstance(kept, ast.Constant) and isinstance(kept.value, int):
            if any(isinstance(n, int) and n >= kept.value * 1.5 for n in numbers):
                return True
            if not numbers:
                return True
        elif kept is not None and ast.dump(kept) not in ast.dump(at.test):
            return True
    return False


def _aged_one_by_one(engine: Engine, unit: Unit) -> Iterator[Observation]:
    """Yield maps over the history whose result depends on how old a message is."""
    for node in nodes(engine, unit):
        if not isinstance(node, ast.ListComp | ast.GeneratorExp) or len(node.generators) != 1:
            continue
        over = node.generators[0].iter
        counted = isinstance(over, ast.Call) and last_name(over.func) == "enumerate" and over.args
        rows = over.args[0] if isinstance(over, ast.Call) and counted else over
        if not is_history(rows) or not isinstance(node.elt, ast.IfExp):
            continue
        if _tests_age(node.elt.test):
            detail = f"{short(engine, node.elt.test)} changes one earlier message after another"
            yield observe(engine, node.elt, "history-trimmed-each-turn", detail)
    yield from _aged_in_a_loop(engine, unit)


def _tests_age(test: ast.expr) -> bool:
    """Whether a test compares a distance: the newest index minus that of a message."""
    return any(
        isinstance(side, ast.BinOp) and isinstance(side.op, ast.Sub)
        for node in ast.walk(test)
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
    )


def _aged_in_a_loop(engine: Engine, unit: Unit) -> Iterator[Observation]:
    for node in nodes(engine, unit):
        if not isinstance(node, ast.For):
            continue
        rows = node.iter
        if isinstance(rows, ast.Call) and last_name(rows.func) == "enumerate" and rows.args:
            rows = rows.args[0]
        old = isinstance(rows, ast.Subscript) and isinstance(rows.slice, ast.Slice)
        if not is_history(rows):
            continue
        for inner in ast.walk(node):
            if not isinstance(inner, ast.Assign) or not _sets_content(inner, node.target):
                continue
            aged = (old and _leaves_newest(rows)) or any(
                isinstance(branch, ast.If) and _tests_age(branch.test) and inner in ast.walk(branch)
                for branch in ast.walk(node)
            )
            if aged:
                detail = f"{short(engine, inner)} changes earlier messages as they grow old"
                yield observe(engine, inner, "history-trimmed-each-turn", detail)


def _leaves_newest(rows: ast.expr) -> bool:
    if not isinstance(rows, ast.Subscript) or not isinstance(rows.slice, ast.Slice):
        return False
    upper = rows.slice.upper
    return isinstance(upper, ast.UnaryOp) and isinstance(upper.op, ast.USub)


def _sets_content(node: ast.Assign, row: ast.expr) -> bool:
    names = {inner.id for inner in ast.walk(row) if isinstance(inner, ast.Name)}
    return any(
        last_name(target) in ("content", "text")
        and any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(target))
        for target in node.targets
    )


def _changed_in_a_copy(engine: Engine, unit: Unit) -> Iterator[Observation]:
    """Yield changes of the newest message that are made in a copy of the history only."""
    copies: set[str] = set()
    for node in nodes(engine, unit):
        if isinstance(node, ast.Assign) and _is_copy(node.value):
            copies |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.Assign | ast.AugAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            adds = not isinstance(node.value, ast.Constant) and (
                isinstance(node, ast.AugAssign) or isinstance(node.value, ast.JoinedStr | ast.BinOp)
            )
            if adds and _is_newest_content(target, copies):
                detail = f"{short(engine, node)} is sent with this turn and not stored with it"
                yield observe(engine, node, "history-rewritten", detail)


def _is_copy(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        copied = last_name(node.func) in ("copy", "deepcopy", "list")
        named = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
        return copied and any(is_history(arg) for arg in named)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        whole = node.slice.lower is None and node.slice.upper is None
        return whole and is_history(node.value)
    if isinstance(node, ast.List):
        return any(isinstance(e, ast.Starred) and is_history(e.value) for e in node.elts)
    if isinstance(node, ast.ListComp):
        return is_history(node.generators[0].iter) and isinstance(node.elt, ast.Dict | ast.Call)
    return False


def _is_newest_content(target: ast.expr, copies: set[str]) -> bool:
    if last_name(target) != "content" or not isinstance(target, ast.Subscript | ast.Attribute):
        return False
    row = target.value
    return (
        isinstance(row, ast.Subscript)
        and isinstance(row.slice, ast.UnaryOp)
        and isinstance(row.value, ast.Name)
        and row.value.id in copies
    )


def _sent_but_not_stored(
    engine: Engine, unit: Unit, drafts: Sequence[Draft]
) -> Iterator[Observation]:
    """Yield newest turns that are sent with more text than is stored."""
    stored = [
        (seen, value)
        for seen in engine.seen
        if seen.unit is unit and seen.dotted.rsplit(".", 1)[-1] in ("append", "add_message", "save")
        for value in seen.args
        if role_of(value) == "user" and is_history(_receiver(seen))
    ]
    for draft in drafts:
        if not any(entry.position is Position.HISTORY for entry in draft.entries):
            continue
        for entry in draft.entries:
            sent = entry.value.printed
            if entry.position is not Position.NEWEST or len(sent) < 2:
                continue
            for _, value in stored:
                kept = content_of(value).printed
                if kept and len(kept) < len(sent) and _text(kept) in _text(sent):
                    extra = next(
                        p for p in sent if p.expression not in {k.expression for k in kept}
                    )
                    what = extra.expression or "this text"
                    yield Observation(
                        kind="history-rewritten",
                        source=extra.source,
                        span=extra.span,
                        detail=f"{what} is sent with the newest turn and not stored with it",
                        position=Position.HISTORY,
                    )
                    break


def _receiver(seen: Seen) -> ast.AST:
    return seen.node.func.value if isinstance(seen.node.func, ast.Attribute) else seen.node.func


def _text(parts: Sequence[object]) -> str:
    return "".join(
        str(getattr(part, "text", None) or f"<{getattr(part, 'expression', '')}>") for part in parts
    )


def _arguments_written_anew(engine: Engine, unit: Unit) -> Iterator[Observation]:
    """Yield arguments of past tool calls that are parsed and written again."""
    parsed = {
        node.targets[0].id: node.value
        for node in nodes(engine, unit)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    changed = _changed_names(engine, unit)
    for node in nodes(engine, unit):
        if not isinstance(node, ast.Call) or last_name(node.func) != "dumps" or not node.args:
            continue
        inner: ast.expr | None = node.args[0]
        if isinstance(inner, ast.Name):
            inner = None if inner.id in changed else parsed.get(inner.id)
        if not isinstance(inner, ast.Call) or last_name(inner.func) != "loads" or not inner.args:
            continue
        if not _ARGUMENTS.fullmatch(last_name(inner.args[0])):
            continue
        if any(keyword.arg == "indent" for keyword in node.keywords):
            continue
        if _goes_back(node, unit, parents(engine, unit)):
            detail = f"{short(engine, node)} need not be the text that the model wrote"
            yield observe(engine, node, "arguments-rewritten", detail)


def _changed_names(engine: Engine, unit: Unit) -> set[str]:
    """Return names of dicts in which something is deleted or set: they are changed on purpose."""
    found: set[str] = set()
    for node in nodes(engine, unit):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Delete | ast.Assign):
            targets = [t.value for t in node.targets if isinstance(t, ast.Subscript)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            targets = [node.func.value] if node.func.attr in ("pop", "update") else []
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def _goes_back(node: ast.AST, unit: Unit, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether written arguments go into a message: an entry of that name, or a text returned."""
    at: ast.AST = node
    while at in above:
        outer = above[at]
        if isinstance(outer, ast.Dict):
            keys = [
                k.value
                for k, v in zip(outer.keys, outer.values, strict=True)
                if v is at and isinstance(k, ast.Constant)
            ]
            return any(key in ("arguments", "input") for key in keys)
        if isinstance(outer, ast.keyword):
            return outer.arg == "arguments"
        if isinstance(outer, ast.Return):
            return _SENDS_BACK.search(unit.name) is not None
        if isinstance(outer, ast.Assign):
            return last_name(outer.targets[0]) == "arguments"
        at = outer
    return False
