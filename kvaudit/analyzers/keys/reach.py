"""What stands in the expressions of a function, found once for all keys that go through it.

A mark is a name, a node, or how a joined text is written. What is under a comparison, behind the
brackets of an index, or found in a store by a call is no part of a value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from kvaudit.analyzers.keys.lookups import LOOKS_UP, READS, Lookup, lookups_of
from kvaudit.analyzers.keys.scopes import Scope

ASKS_UNDER = READS | {
    "mget", "find_one", "get_entry", "is_file", "read_text", "read_bytes", "match",
}  # fmt: skip
"""Methods that give what is kept under their first argument."""
Mark = str | ast.AST
_USES = (ast.Compare, ast.Subscript, ast.Assign, ast.Call)


class Reach:
    """The marks of one function's expressions, and where they are used."""

    def __init__(self, scope: Scope) -> None:
        """Enter what the names of a function are given, and what may ask or fill a store."""
        self._module = scope.module
        self._marks: dict[ast.AST, frozenset[Mark]] = {}
        self._names: dict[Mark, list[str]] = {}
        self._uses: dict[Mark, list[int]] = {}
        self._nodes = [node for node in scope.nodes if isinstance(node, _USES)]
        self.returned = scope.returned()
        self.lookups: list[Lookup] = lookups_of(scope)
        for name, values in scope.assigned.items():
            for value in values:
                for mark in self.marks(value) if value not in scope.iterated else ():
                    self._names.setdefault(mark, []).append(name)
        for place, node in enumerate(self._nodes):
            for operand in _operands(node):
                for mark in self.marks(operand):
                    self._uses.setdefault(mark, []).append(place)

    def marks(self, value: ast.AST) -> frozenset[Mark]:
        """Return the marks in a value."""
        if value not in self._marks:
            self._marks[value] = frozenset(self._walk(value))
        return self._marks[value]

    def names_of(self, marks: Iterable[Mark]) -> set[Mark]:
        """Return marks with the local names that are given any of them, and so on."""
        found, todo = set(marks), list(marks)
        while todo:
            for name in self._names.get(todo.pop(), ()):
                if name not in found:
                    found.add(name)
                    todo.append(name)
        return found

    def uses_of(self, marks: Iterable[Mark]) -> list[ast.AST]:
        """Return the nodes in which any mark stands where a store may be asked or filled."""
        places = {place for mark in marks for place in self._uses.get(mark, ())}
        return [self._nodes[place] for place in sorted(places)]

    def _walk(self, value: ast.AST) -> Iterator[Mark]:
        stack = [(value, False)]
        while stack:
            node, is_inside = stack.pop()
            yield node
            if isinstance(node, ast.Name):
                yield node.id
            elif isinstance(node, ast.Subscript):
                stack.append((node.value, False))
            elif isinstance(node, ast.JoinedStr):
                yield written(node)
                fields = self._module.formatted(node)
                stack += [(piece, False) for piece in fields if isinstance(piece, ast.expr)]
            elif isinstance(node, ast.BinOp):
                if not is_inside:
                    yield written(node)
                stack += [(node.left, True), (node.right, True)]
            elif not isinstance(node, ast.Compare) and not finds(node):
                stack += [(kid, False) for kid in ast.iter_child_nodes(node)]


def written(joined: ast.expr) -> str:
    """Return the mark of a joined text by the way it is written."""
    return f"={ast.dump(joined)}"


def finds(node: ast.AST) -> bool:
    """Whether a node is a call that gives what was kept under a key."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    if isinstance(node.func.value, ast.Constant):
        return False
    return node.func.attr in ASKS_UNDER or LOOKS_UP.fullmatch(node.func.attr) is not None


def _operands(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node in which a key would be used."""
    if isinstance(node, ast.Compare):
        if isinstance(node.ops[0], ast.In | ast.NotIn):
            yield node.left
    elif isinstance(node, ast.Subscript):
        yield node.slice
    elif isinstance(node, ast.Assign):
        yield from (one.slice for one in node.targets if isinstance(one, ast.Subscript))
    elif isinstance(node, ast.Call):
        yield from node.args
        yield from (word.value for word in node.keywords)
        if isinstance(node.func, ast.Attribute):
            yield node.func.value
