"""What is looked up and kept under a key: the uses of it that are seen in its file.

A key is followed through local names, through what is returned, to the callers of the function that
makes it, and into functions that it is given to. Files that are named after it count as well.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kvaudit.analyzers.keys.answers import File, answers_in, called
from kvaudit.analyzers.keys.lookups import LOOKS_UP, READS, WRITES
from kvaudit.analyzers.keys.scopes import Scope, core
from kvaudit.analyzers.naming import snake_case

_READS = READS | {"mget", "find_one", "get_entry", "is_file", "read_text", "read_bytes", "match"}
_WRITES = WRITES | {
    "setdefault", "write_text", "write_bytes", "add", "save", "hset", "set_entry", "insert", "mset",
}  # fmt: skip
_OPENS = re.compile(r"(.*\.)?(open|exists|isfile|load)")
_DUMPS = re.compile(r"(.*\.)?(dump|save|savez|write)")
_LASTING = re.compile(
    r"redis|valkey|memcache|diskcache|sqlite|shelve|rdb|conn|db|collection|table", re.IGNORECASE
)
"""Stores that outlive the program that fills them."""
_CACHES = re.compile(r"\w*(cache|store|memo)\w*")
_SAVES = re.compile(r"_?(save|write|put|set|store|update|add)_?(to_|in_|the_)*(\w+_)?cache\w*")
"""What fills a cache by its name, wherever that is written."""
_ROUNDS, _DEPTH = 4, 3


@dataclass(slots=True)
class Kept:
    """What was seen of a key."""

    asked: bool = False
    filled: bool = False
    lasting: bool = False
    """The store is seen to outlive the program."""
    answers: list[tuple[Scope, ast.Call]] = field(default_factory=list)
    """Calls of models whose answers are kept under it."""
    scopes: list[Scope] = field(default_factory=list)
    """Functions that hold it."""


def kept_under(scope: Scope, key: ast.expr, file: File) -> Kept:
    """Return what is seen to be asked and filled under a key."""
    kept = Kept()
    _follow(scope, _Carried.of(scope, key), file, kept, _DEPTH)
    return kept


@dataclass(slots=True)
class _Carried:
    """The nodes and names of a function that hold a key."""

    nodes: set[int]
    names: set[str] = field(default_factory=set)
    written: str | None = None
    """The key's own form, where it is written once for asking and once for filling."""

    @classmethod
    def of(cls, scope: Scope, key: ast.expr) -> _Carried:
        names = {key.id} if isinstance(key, ast.Name) else set()
        made = core(scope, key)
        is_joined = isinstance(made, ast.BinOp | ast.JoinedStr)
        return cls({id(key), id(made)}, names, ast.dump(made) if is_joined else None)

    def within(self, value: ast.AST) -> bool:
        """Whether a value holds the key, and is not only what was found under it."""
        stack = [value]
        while stack:
            node = stack.pop()
            if id(node) in self.nodes or (isinstance(node, ast.Name) and node.id in self.names):
                return True
            is_joined = isinstance(node, ast.BinOp | ast.JoinedStr)
            if self.written is not None and is_joined and ast.dump(node) == self.written:
                return True
            if isinstance(node, ast.Subscript):
                stack.append(node.value)
            elif isinstance(node, ast.Compare):
                continue
            elif not (isinstance(node, ast.Call) and _finds(node)):
                stack += ast.iter_child_nodes(node)
        return False


def _finds(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute):
        return (
            call.func.attr in _READS or LOOKS_UP.fullmatch(call.func.attr) is not None
        ) and not isinstance(call.func.value, ast.Constant)
    return False


def _follow(scope: Scope, carried: _Carried, file: File, kept: Kept, depth: int) -> None:
    if scope in kept.scopes:
        return
    kept.scopes.append(scope)
    for _ in range(_ROUNDS):
        for name, values in scope.assigned.items():
            if any(carried.within(value) for value in values if value not in scope.iterated):
                carried.names.add(name)
    for node in scope.nodes:
        _enter(scope, node, carried, file, kept)
    if not depth:
        return
    for call in scope.calls():
        for other, name in _handed(scope, call, carried, file):
            _follow(other, _Carried(set(), {name}), file, kept, depth - 1)
    if scope.name and any(carried.within(value) for value in scope.returned()):
        for caller, call in _callers(scope, file):
            _follow(caller, _Carried({id(call)}), file, kept, depth - 1)


def _enter(scope: Scope, node: ast.AST, carried: _Carried, file: File, kept: Kept) -> None:
    """Note one node that asks or fills under the key."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        kept.asked |= carried.within(node.left)
    elif isinstance(node, ast.Subscript) and carried.within(node.slice):
        kept.asked |= isinstance(node.ctx, ast.Load)
        _note_store(scope, node.value, kept)
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and carried.within(target.slice):
                _fill(scope, node.value, file, kept)
    elif isinstance(node, ast.Call):
        _enter_call(scope, node, carried, file, kept)


def _enter_call(scope: Scope, call: ast.Call, carried: _Carried, file: File, kept: Kept) -> None:
    given = [*call.args, *(word.value for word in call.keywords)]
    name = scope.module.dotted(call.func)
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    through = call.func.value if isinstance(call.func, ast.Attribute) else None
    if given and carried.within(given[0]):
        if method in _READS:
            kept.asked = True
            _note_store(scope, through, kept)
        elif method in _WRITES and len(given) > 1:
            _note_store(scope, through, kept)
            for value in given[1:]:
                _fill(scope, value, file, kept)
        elif LOOKS_UP.fullmatch(method):
            kept.asked = True
        elif _SAVES.fullmatch(method):
            for value in given[1:]:
                _fill(scope, value, file, kept)
        elif _OPENS.fullmatch(name):
            kept.lasting = True
            kept.asked |= not _is_opened_to_write(call)
    elif through is not None and carried.within(through) and method in ("exists", *_READS):
        kept.asked = kept.lasting = True
    elif through is not None and carried.within(through) and method.startswith("write") and given:
        kept.lasting = True
        _fill(scope, given[0], file, kept)
    for entries in given if method in _WRITES else ():
        for entry, value in zip(*_entries(entries), strict=True):
            if entry is not None and carried.within(entry):
                _note_store(scope, through, kept)
                _fill(scope, value, file, kept)
    if len(given) > 1 and _DUMPS.fullmatch(name) and carried.within(given[-1]):
        kept.lasting = True
        for value in given[:-1]:
            _fill(scope, value, file, kept)


def _entries(given: ast.expr) -> tuple[list[ast.expr | None], list[ast.expr]]:
    """Return the keys and values of ``upsert({key: value})``."""
    return (given.keys, given.values) if isinstance(given, ast.Dict) else ([], [])


def _is_opened_to_write(call: ast.Call) -> bool:
    modes = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "mode")]
    return any("w" in str(getattr(mode, "value", "")) for mode in modes)


def _note_store(scope: Scope, store: ast.expr | None, kept: Kept) -> None:
    if store is None:
        return
    name = getattr(store, "id", getattr(store, "attr", ""))
    made = [*scope.given(name), *scope.module.assigned.get(name, ()), *_set_by_class(scope, name)]
    written = [scope.module.written(one) for one in (store, *made)]
    kept.lasting |= any(_LASTING.search(text) for text in written)


def _set_by_class(scope: Scope, name: str) -> Iterator[ast.expr]:
    for node in ast.walk(scope.owner) if scope.owner is not None else ():
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Attribute) and target.attr == name for target in node.targets
        ):
            yield node.value


def _fill(scope: Scope, value: ast.expr, file: File, kept: Kept) -> None:
    """Note a value that is kept, and the answers in it, also of those who give it."""
    kept.filled = True
    kept.answers += [(scope, call) for call in answers_in(scope, value, file)]
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    for at, name in enumerate(scope.params):
        if name not in names:
            continue
        for caller, call in _callers(scope, file):
            words = {word.arg: word.value for word in call.keywords}
            given = words.get(name, call.args[at] if at < len(call.args) else None)
            if given is not None and caller is not scope:
                kept.answers += [(caller, one) for one in answers_in(caller, given, file)]


def _handed(
    scope: Scope, call: ast.Call, carried: _Carried, file: File
) -> Iterator[tuple[Scope, str]]:
    """Yield the functions of the file that are given the key, with their name for it."""
    for other in called(scope, call, file):
        for at, given in enumerate(call.args[: len(other.params)]):
            if carried.within(given):
                yield other, other.params[at]


def _callers(scope: Scope, file: File) -> Iterator[tuple[Scope, ast.Call]]:
    """Yield the calls of a function in its file; of a method through another object, a cache's."""
    for other, call in file.calls.get(scope.name, ()):
        if scope in called(other, call, file) and other is not scope:
            yield other, call
        elif isinstance(call.func, ast.Attribute) and scope.owner is not None:
            root = getattr(call.func.value, "id", getattr(call.func.value, "attr", ""))
            of_class = root == scope.owner.name or _CACHES.fullmatch(snake_case(root)) is not None
            if of_class and other.owner is not scope.owner:
                yield other, call
