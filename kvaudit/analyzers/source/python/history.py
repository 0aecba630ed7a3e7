"""How the history is kept: cut on every turn, changed after it was sent, written anew."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kvaudit.analyzers.source.python.ageing import aged
from kvaudit.analyzers.source.python.budgets import cut_to_budget
from kvaudit.analyzers.source.python.code import is_history, last_name, nodes, observe, short
from kvaudit.analyzers.source.python.drafts import Draft
from kvaudit.analyzers.source.python.engine import Engine, Seen, Unit
from kvaudit.analyzers.source.python.messages import content_of, role_of
from kvaudit.analyzers.source.python.rewritten_arguments import written_anew
from kvaudit.analyzers.source.python.trimming import trimmed
from kvaudit.core.document import Observation, Position

_ASSIGNS = (ast.Assign, ast.AugAssign)
_ADDS = ("append", "extend", "add", "add_message", "insert", "save")


def observed(engine: Engine, unit: Unit, drafts: Sequence[Draft]) -> Iterator[Observation]:
    """Yield what a function does to the history."""
    yield from trimmed(engine, unit)
    yield from cut_to_budget(engine, unit)
    yield from aged(engine, unit)
    yield from _changed_in_a_copy(engine, unit)
    yield from _sent_but_not_stored(engine, unit, drafts)
    yield from written_anew(engine, unit)


def _changed_in_a_copy(engine: Engine, unit: Unit) -> Iterator[Observation]:
    """Yield changes of the newest message that are made in a copy of the history only.

    A function that adds to the history itself goes on with the conversation. Of another only the
    name says so: it may ask once, and nobody sends that message again.
    """
    copies: set[str] = set()
    goes_on = _adds_to_history(engine, unit)
    for node in nodes(engine, unit):
        if not isinstance(node, _ASSIGNS):
            continue
        if isinstance(node, ast.Assign) and _is_copy(node.value):
            copies |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Subscript | ast.Attribute):
            adds = not isinstance(node.value, ast.Constant) and (
                isinstance(node, ast.AugAssign) or isinstance(node.value, ast.JoinedStr | ast.BinOp)
            )
            if adds and _is_newest_content(target, copies):
                detail = f"{short(engine, node)} is sent with this turn and not stored with it"
                yield observe(engine, node, "history-rewritten", detail, sure=goes_on)


def _adds_to_history(engine: Engine, unit: Unit) -> bool:
    copied = set()
    for node in nodes(engine, unit):
        if isinstance(node, ast.Assign) and _is_copy(node.value):
            copied |= {ast.unparse(target) for target in node.targets}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            kept = node.func.value if node.func.attr in _ADDS else None
        else:
            kept = node.target if isinstance(node, ast.AugAssign) else None
        if kept is not None and is_history(kept) and ast.unparse(kept) not in copied:
            return True
    return False


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
    own = _made_here(unit)
    stored = [
        (seen, value)
        for seen in unit.seen
        if seen.dotted.rsplit(".", 1)[-1] in ("append", "add_message", "save")
        for value in seen.args
        if role_of(value) == "user" and is_history(_receiver(seen))
        if ast.unparse(_receiver(seen)) not in own
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
                if any(_text(kept) == _text(other.value.printed) for other in draft.entries):
                    continue  # it goes out as it is, and this is another turn
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


def _made_here(unit: Unit) -> set[str]:
    """Return the names of lists that a function writes out itself, for one request."""
    return {
        target.id
        for node in unit.nodes
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.List)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }


def _receiver(seen: Seen) -> ast.AST:
    return seen.node.func.value if isinstance(seen.node.func, ast.Attribute) else seen.node.func


def _text(parts: Sequence[object]) -> str:
    return "".join(
        str(getattr(part, "text", None) or f"<{getattr(part, 'expression', '')}>") for part in parts
    )
