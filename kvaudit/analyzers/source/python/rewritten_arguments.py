"""Arguments of past tool calls that are parsed and written again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kvaudit.analyzers.source.python.code import last_name, nodes, observe, parents, short
from kvaudit.analyzers.source.python.engine import Engine, Unit
from kvaudit.core.document import Observation

_ARGUMENTS = re.compile(r"(\w+_)?(arguments|tool_args|function_args|args_json)(_(str|json|raw))?")

_SENDS_BACK = re.compile(
    r"render|replay|format|convert|serial|template|to_|message|history|prompt|build"
)


def written_anew(engine: Engine, unit: Unit) -> Iterator[Observation]:
    """Yield arguments of past tool calls that are parsed and written again."""
    written = [
        node
        for node in nodes(engine, unit)
        if type(node) is ast.Call and last_name(node.func) == "dumps" and node.args
    ]
    if not written:
        return
    parsed = {
        node.targets[0].id: node.value
        for node in nodes(engine, unit)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    changed = _changed_names(engine, unit)
    for node in written:
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
