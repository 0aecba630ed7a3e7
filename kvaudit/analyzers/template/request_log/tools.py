"""Tools of two requests: another order, other tools, other bytes, other text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from kvaudit.analyzers.template.request_log.change import Change
from kvaudit.analyzers.template.request_log.parts import MARKS
from kvaudit.analyzers.template.request_log.request import Path, Record
from kvaudit.analyzers.template.request_log.texts import changes
from kvaudit.core.document import Position

Tool = tuple[Path, Any]


def compare_tools(earlier: Record, later: Record, *, same_session: bool) -> Iterator[Change]:
    """Yield what changed in the tools; that their set differs says something in a session only."""
    before, after = earlier.tools, later.tools
    if not before or not after:
        if same_session and before and not after and later.messages:
            yield _changed_set(earlier, later, "none are sent, and there were some before")
        return
    names, others = [_name(t) for _, t in before], [_name(t) for _, t in after]
    if names != others:
        if Counter(names) == Counter(others):
            at = next(
                i for i, pair in enumerate(zip(names, others, strict=True)) if pair[0] != pair[1]
            )
            yield _change(
                earlier,
                later,
                after[at][0],
                "discovery-order",
                f"the same {len(names)} tools, but {others[at]} stands where {names[at]} stood",
            )
        elif same_session:
            yield _changed_set(earlier, later, _set_difference(names, others))
    known = {name: tool for name, (_, tool) in zip(names, before, strict=True)}
    for name, (path, tool) in zip(others, after, strict=True):
        if name in known and _text(known[name]) != _text(tool):
            yield from _one_tool(earlier, later, known[name], tool, path)


def _one_tool(
    earlier: Record, later: Record, before: Any, after: Any, path: Path
) -> Iterator[Change]:
    before, after = _unmarked(before), _unmarked(after)
    if before == after:
        at = _first_reordered(before, after, path)
        if at is not None:
            yield _change(
                earlier,
                later,
                at,
                "unsorted-json",
                f"the keys of {_name(after)} stand in another order",
            )
        return
    for at, old, new in _leaves(before, after, path):
        if isinstance(old, list):
            yield _change(earlier, later, at, "set-order", "the same values in another order")
            continue
        for changed in changes(old, new):
            yield Change(
                earlier=earlier,
                later=later,
                path=at,
                kind="volatile-tool-text",
                start=changed.start,
                end=changed.end,
                detail=f"{_short(changed.old)} became {_short(changed.new)} in {_name(after)}",
                was=changed.old,
                position=Position.TOOLS,
            )


def _leaves(old: Any, new: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    """Yield the strings that differ at one place of both, and lists that are only reordered."""
    if isinstance(old, str) and isinstance(new, str):
        if old != new:
            yield path, old, new
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() & new.keys():
            yield from _leaves(old[key], new[key], (*path, key))
    elif isinstance(old, list) and isinstance(new, list) and old != new:
        if sorted(map(_text, old)) == sorted(map(_text, new)):
            yield path, old, new
        elif len(old) == len(new):
            for at, (mine, yours) in enumerate(zip(old, new, strict=True)):
                yield from _leaves(mine, yours, (*path, at))


def _first_reordered(old: Any, new: Any, path: Path) -> Path | None:
    """Return the way to the first map whose keys stand in another order."""
    if isinstance(old, dict) and isinstance(new, dict):
        if list(old) != list(new):
            return path
        found = (_first_reordered(old[key], new[key], (*path, key)) for key in old)
    elif isinstance(old, list) and isinstance(new, list):
        pairs = enumerate(zip(old, new, strict=False))
        found = (_first_reordered(mine, yours, (*path, at)) for at, (mine, yours) in pairs)
    else:
        return None
    return next((way for way in found if way is not None), None)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _unmarked(tool: Any) -> Any:
    if not isinstance(tool, dict):
        return tool
    kept = {key: value for key, value in tool.items() if key not in MARKS}
    if isinstance(kept.get("function"), dict):
        kept["function"] = _unmarked(kept["function"])
    return kept


def _name(tool: Any) -> str:
    if isinstance(tool, dict):
        for inner in ("function", "toolSpec"):
            if isinstance(tool.get(inner), dict):
                return _name(tool[inner])
        return str(tool.get("name") or tool.get("type") or "a tool")
    return str(tool)


def _set_difference(before: list[str], after: list[str]) -> str:
    added = sorted((Counter(after) - Counter(before)).elements())
    gone = sorted((Counter(before) - Counter(after)).elements())
    parts = []
    if added:
        parts.append(f"{_some(added)} came in")
    if gone:
        parts.append(f"{_some(gone)} is gone" if len(gone) == 1 else f"{_some(gone)} are gone")
    return " and ".join(parts)


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _changed_set(earlier: Record, later: Record, detail: str) -> Change:
    path = later.tools[0][0][:-1] if later.tools else (*later.path, "messages")
    return _change(earlier, later, path, "tools-change-in-session", detail)


def _change(earlier: Record, later: Record, path: Path, kind: str, detail: str) -> Change:
    return Change(
        earlier=earlier, later=later, path=path, kind=kind, detail=detail, position=Position.TOOLS
    )


def _short(text: str, limit: int = 40) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= limit else f"{flat[: limit - 1]}…")
