"""Where one node of a function asks a store under a key, or fills it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kvaudit.analyzers.keys.answers import File
from kvaudit.analyzers.keys.carried import Carried
from kvaudit.analyzers.keys.lookups import LOOKS_UP, WRITES
from kvaudit.analyzers.keys.reach import ASKS_UNDER
from kvaudit.analyzers.keys.scopes import Scope, values_given
from kvaudit.analyzers.keys.use import Kept

_WRITES = WRITES | {
    "setdefault", "write_text", "write_bytes", "add", "save", "hset", "set_entry", "insert", "mset",
}  # fmt: skip
_OPENS = re.compile(r"(.*\.)?(open|exists|isfile|load)")
_DUMPS = re.compile(r"(.*\.)?(dump|save|savez|write)")
SAVES = re.compile(r"_?(save|write|put|set|store|update|add)_?(to_|in_|the_)*(\w+_)?cached?\w*")
"""What fills a cache by its name, wherever that is written."""
_SELECTS = re.compile(r"\s*select\b", re.IGNORECASE)
_INSERTS = re.compile(r"\s*(insert|replace|update|merge|upsert)\b", re.IGNORECASE)


def enter(scope: Scope, node: ast.AST, carried: Carried, file: File, kept: Kept) -> None:
    """Note one node that asks or fills under the key."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        kept.asked |= carried.within(node.left)
    elif isinstance(node, ast.Subscript) and carried.within(node.slice):
        kept.asked |= isinstance(node.ctx, ast.Load)
        kept.note_store(scope, node.value, file)
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and carried.within(target.slice):
                kept.fill(scope, [node.value], file)
    elif isinstance(node, ast.Call):
        _of_store(scope, node, carried, file, kept)
        _of_file(scope, node, carried, file, kept)
        _of_database(scope, node, carried, file, kept)


def fills(scope: Scope) -> Iterator[ast.Call]:
    """Yield the calls of a function that put something into a store."""
    for call in scope.calls():
        method = getattr(call.func, "attr", getattr(call.func, "id", ""))
        is_method = isinstance(call.func, ast.Attribute) and method in _WRITES
        if len(values_given(call)) > 1 and call.args and (is_method or SAVES.fullmatch(method)):
            yield call


def _of_store(scope: Scope, call: ast.Call, carried: Carried, file: File, kept: Kept) -> None:
    """Note a method of a store that is given the key, or entries under it."""
    given = values_given(call)
    through = call.func.value if isinstance(call.func, ast.Attribute) else None
    method = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if given and carried.within(given[0]):
        if LOOKS_UP.fullmatch(method) or (through is not None and method in ASKS_UNDER):
            kept.ask(scope, through, file)
        elif SAVES.fullmatch(method) or (
            through is not None and method in _WRITES and len(given) > 1
        ):
            kept.note_store(scope, through, file)
            kept.fill(scope, given[1:], file)
    for entries in given if method in _WRITES else ():
        for entry, value in _entries(entries):
            if entry is not None and carried.within(entry):
                kept.note_store(scope, through, file)
                kept.fill(scope, [value], file)


def _of_file(scope: Scope, call: ast.Call, carried: Carried, file: File, kept: Kept) -> None:
    """Note a file that is named after the key, and what is written there."""
    given = values_given(call)
    through = call.func.value if isinstance(call.func, ast.Attribute) else None
    method = getattr(call.func, "attr", "")
    name = scope.module.dotted(call.func)
    if given and carried.within(given[0]) and _OPENS.fullmatch(name):
        kept.lasting = True
        kept.asked |= not _is_opened_to_write(call)
    if through is not None and carried.within(through):
        if method in ("exists", *ASKS_UNDER):
            kept.asked = kept.lasting = True
        elif method.startswith("write") and given:
            kept.lasting = True
            kept.fill(scope, given[:1], file)
    if len(given) > 1 and _DUMPS.fullmatch(name):
        for place, values in ((given[-1], given[:-1]), (given[0], given[1:])):
            if carried.within(place):
                kept.lasting = True
                kept.fill(scope, values, file)
                return


def _of_database(scope: Scope, call: ast.Call, carried: Carried, file: File, kept: Kept) -> None:
    """Note a row that is selected or inserted under the key: ``execute(sql, (key, answer))``."""
    given = values_given(call)
    if len(given) < 2 or getattr(call.func, "attr", "") not in ("execute", "fetchrow", "fetchval"):
        return
    bound = [value for one in given[1:] for value in _row(one)]
    if not any(carried.within(value) for value in bound):
        return
    statement = scope.module.written(given[0]).lstrip("rbuf\"'\n ")
    if isinstance(given[0], ast.Name):
        made = scope.given(given[0].id) or scope.module.assigned.get(given[0].id, ())
        statement = scope.module.written(made[0]).lstrip("rbuf\"'\n ") if made else ""
    if _SELECTS.match(statement):
        kept.asked = kept.lasting = True
    elif _INSERTS.match(statement):
        kept.lasting = True
        kept.fill(scope, [value for value in bound if not carried.within(value)], file)


def _row(given: ast.expr) -> list[ast.expr]:
    """Return the values of ``(key, answer)``, or the one value."""
    return given.elts if isinstance(given, ast.Tuple | ast.List) else [given]


def _entries(given: ast.expr) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """Yield the keys and values of ``upsert({key: value})``."""
    if isinstance(given, ast.Dict):
        yield from zip(given.keys, given.values, strict=True)


def _is_opened_to_write(call: ast.Call) -> bool:
    modes = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "mode")]
    return any("w" in str(getattr(mode, "value", "")) for mode in modes)
