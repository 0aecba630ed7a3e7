"""Where a key is in a function: its own nodes, the names that hold it, and how it is written."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from kvaudit.analyzers.keys.lookups import LOOKS_UP, READS
from kvaudit.analyzers.keys.scopes import Scope, core
from kvaudit.analyzers.source.python.module import Module

ASKS_UNDER = READS | {
    "mget", "find_one", "get_entry", "is_file", "read_text", "read_bytes", "match",
}  # fmt: skip
"""Methods that give what is kept under their first argument."""
_ROUNDS = 4


@dataclass(slots=True)
class Carried:
    """The nodes and names of a function that hold a key."""

    module: Module
    nodes: set[int] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    written: str | None = None
    """The key's own form, where it is written once for asking and once for filling."""

    @classmethod
    def of(cls, scope: Scope, key: ast.expr) -> Carried:
        """Return a key where it is made."""
        names = {key.id} if isinstance(key, ast.Name) else set()
        made = core(scope, key)
        is_joined = isinstance(made, ast.BinOp | ast.JoinedStr)
        written = ast.dump(made) if is_joined else None
        return cls(scope.module, {id(key), id(made)}, names, written)

    def spread(self, scope: Scope) -> None:
        """Add the local names that are given the key, or something that it is put into."""
        for _ in range(_ROUNDS):
            before = len(self.names)
            for name, values in scope.assigned.items():
                if name not in self.names and any(
                    self.within(value) for value in values if value not in scope.iterated
                ):
                    self.names.add(name)
            if len(self.names) == before:
                return

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
            elif isinstance(node, ast.JoinedStr):
                fields = self.module.formatted(node)
                stack += [piece for piece in fields if isinstance(piece, ast.expr)]
            elif isinstance(node, ast.Compare):
                continue
            elif not (isinstance(node, ast.Call) and finds(node)):
                stack += ast.iter_child_nodes(node)
        return False


def finds(call: ast.Call) -> bool:
    """Whether a call gives what was kept under a key."""
    if not isinstance(call.func, ast.Attribute) or isinstance(call.func.value, ast.Constant):
        return False
    return call.func.attr in ASKS_UNDER or LOOKS_UP.fullmatch(call.func.attr) is not None
