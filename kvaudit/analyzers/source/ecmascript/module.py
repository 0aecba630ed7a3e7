"""One file: its tree, what its names stand for, and where they are written to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache

from kvaudit.analyzers.source.ecmascript.bindings import Binding, Names
from kvaudit.analyzers.source.ecmascript.syntax import BRANCHES, FUNCTIONS, WRAPPERS, returned
from kvaudit.analyzers.source.ecmascript.tree import Node, parse
from kvaudit.core.sources import Source

_LINKS = re.compile(
    r"^\s*(import\b|export\b)|\brequire\(|\bmodule\.exports\b|\bexports\.\w", re.MULTILINE
)
_WRITTEN = frozenset(("identifier", "property_identifier", "this", "private_property_identifier"))


class Module:
    """A parsed file. Raises `Unreadable`."""

    def __init__(self, source: Source) -> None:
        """Parse the source and enter its names."""
        self.source = source
        self.root = parse(source.text, language_of(source.path))
        self.is_script = _LINKS.search(source.text) is None
        """Nothing is imported or exported: a fragment, or a program that runs once a call."""
        self.functions: list[Node] = []
        self.objects: list[Node] = []
        self.arrays: list[Node] = []
        self.calls: list[Node] = []
        self.assignments: list[Node] = []
        self.declarators: list[Node] = []
        self.fields: list[Node] = []
        self.elements: list[Node] = []
        """Of markup."""
        self.branches: list[Node] = []
        """Loops and conditions."""
        self._names = Names(source.text, self.root)
        self._returns: dict[Node, list[Node]] = {}
        self._dotted: dict[Node, str] = {}
        for node in self.root.walk():
            self._collect(node)
            self._names.enter(node)
        for node in (*self.assignments, *self.calls):
            self._names.note_write(node)
        self.exports = self._names.exports
        self.imports = self._names.imports

    def text(self, node: Node) -> str:
        """Return a node as it is written."""
        return self.source.text[node.start : node.end]

    def string(self, node: Node | None) -> str:
        """Return the text inside a string literal's quotes, as written."""
        return self._names.string(node)

    def resolve(self, at: Node, name: str) -> Binding | None:
        """Return what a name means at a place."""
        return self._names.resolve(at, name)

    def declared_as(self, name: Node) -> Node | None:
        """Return the value that a variable is declared with; None for what is no such name."""
        bound = self.resolve(name, self.text(name))
        return bound.node.get("value") if bound is not None and bound.kind == "variable" else None

    def returned(self, function: Node) -> list[Node]:
        """Return the expressions whose value a function gives."""
        known = self._returns.get(function)
        if known is None:
            known = self._returns[function] = returned(function)
        return known

    @cached_property
    def keys(self) -> list[Node]:
        """Names that something is kept under, in a table or in an entry of a list."""
        places = (*self.assignments, *self.calls)
        return [key for node in places for key in _kept_under(self, node)]

    def dotted(self, node: Node | None) -> str:
        """Return a name with dots, calls in it left out: ``a.b().c``."""
        if node is None:
            return ""
        known = self._dotted.get(node)
        if known is None:
            known = self._dotted[node] = self._spelled(node)
        return known

    def _spelled(self, node: Node) -> str:
        if node.kind in _WRITTEN:
            return self.text(node)
        if node.kind == "member_expression":
            left = self.dotted(node.get("object"))
            last = self.dotted(node.get("property"))
            return f"{left}.{last}" if left else last
        if node.kind in ("call_expression", "new_expression"):
            return self.dotted(node.get("function", "constructor"))
        if node.kind == "subscript_expression":
            return self.dotted(node.get("object"))
        if node.kind in WRAPPERS and node.kids:
            return self.dotted(node.kids[0])
        return ""

    def _collect(self, node: Node) -> None:
        kind = node.kind
        if kind in FUNCTIONS:
            self.functions.append(node)
        elif kind == "variable_declarator":
            self.declarators.append(node)
        elif kind == "object":
            self.objects.append(node)
        elif kind == "array":
            self.arrays.append(node)
        elif kind in ("call_expression", "new_expression"):
            self.calls.append(node)
        elif kind in ("assignment_expression", "augmented_assignment_expression"):
            self.assignments.append(node)
        elif kind == "jsx_element":
            self.elements.append(node)
        elif kind in BRANCHES:
            self.branches.append(node)
        elif kind in ("public_field_definition", "field_definition"):
            self.fields.append(node)


def _kept_under(module: Module, node: Node) -> Iterator[Node]:
    """Yield the names that an assignment or a call keeps something under.

    ``kept[id] = it``, ``kept.set(id, it)`` and ``kept.push({ id, it })``.
    """
    left, given = node.get("left"), node.get("arguments")
    index = left.get("index") if left is not None else None
    if index is not None:
        yield index
    method = module.dotted(node.get("function")).rsplit(".", 1)[-1]
    first = given.kids[0] if given is not None and given.kids else None
    if first is None or method not in ("push", "set"):
        return
    if method == "set":
        yield first
    for kid in first.kids if first.kind == "object" else ():
        if kid.kind == "shorthand_property_identifier" and module.text(kid) == "id":
            yield kid
        key, value = kid.get("key"), kid.get("value")
        if key is not None and value is not None and module.text(key) == "id":
            yield value


@lru_cache(maxsize=128)
def module_of(source: Source) -> Module:
    """Return a file's module; the last ones are kept, since files share what they import."""
    return Module(source)


def language_of(path: str) -> str:
    """Return the grammar for a file."""
    if path.endswith((".ts", ".mts", ".cts")):
        return "typescript"
    return "tsx" if path.endswith(".tsx") else "javascript"
