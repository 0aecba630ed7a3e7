"""What the names of a file stand for, and where they are written to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kvaudit.analyzers.source.ecmascript.syntax import CLASSES, FUNCTIONS, parameters, scope_around
from kvaudit.analyzers.source.ecmascript.tree import Node

_NAMES = frozenset(("identifier", "shorthand_property_identifier_pattern"))
_ADDS = frozenset(("push", "unshift", "splice", "sort"))
_EXPORT = re.compile(r"export\s+(default)?")


@dataclass(slots=True, eq=False)
class Binding:
    """What a name stands for: where it is declared, and what is written to it later."""

    kind: str
    """``variable``, ``param``, ``function``, ``class``, ``import``, ``each`` or ``counter``."""
    name: str
    node: Node
    """The declarator, parameter, function, class, import or loop."""
    scope: Node
    path: Sequence[str] = ()
    """The keys on the way from the value to the name, where it is taken apart."""
    default: Node | None = None
    writes: list[Node] = field(default_factory=list)
    """Assignments, and calls that add to a list, in the order of the file."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A name of another file: which, and what it is called there; None for all of it."""

    path: str
    name: str | None


class Names:
    """The names that a file declares, imports and exports."""

    def __init__(self, text: str, root: Node) -> None:
        """Hold none yet."""
        self.exports: dict[str, Node | Imported] = {}
        self.imports: dict[Binding, Imported] = {}
        self._source = text
        self._root = root
        self._known: dict[Node, dict[str, Binding]] = {}

    def text(self, node: Node) -> str:
        """Return a node as it is written."""
        return self._source[node.start : node.end]

    def string(self, node: Node | None) -> str:
        """Return the text inside a string literal's quotes, as written."""
        return "" if node is None else self._source[node.start + 1 : node.end - 1]

    def resolve(self, at: Node, name: str) -> Binding | None:
        """Return what a name means at a place."""
        node: Node | None = at
        while node is not None:
            found = self._known.get(node)
            if found is not None and name in found:
                return found[name]
            node = node.parent
        return None

    def enter(self, node: Node) -> None:
        """Enter the names that a node declares."""
        kind = node.kind
        if kind in FUNCTIONS:
            self._enter_function(node)
        elif kind in CLASSES:
            name = node.get("name")
            if name is not None:
                self._bind("class", name, node, scope_around(node))
        elif kind == "variable_declarator":
            self._enter_declarator(node)
        elif kind == "for_in_statement":
            left = node.get("left")
            if left is not None:
                self._bind_pattern("each", left, node, node)
        elif kind == "import_statement":
            self._enter_import(node)
        elif kind == "export_statement":
            self._enter_export(node)

    def _bind(
        self,
        kind: str,
        name: Node,
        node: Node,
        scope: Node,
        path: Sequence[str] = (),
        default: Node | None = None,
    ) -> None:
        text = self.text(name)
        bound = Binding(kind, text, node, scope, path, default)
        self._known.setdefault(scope, {})[text] = bound

    def _bind_pattern(
        self,
        kind: str,
        pattern: Node,
        node: Node,
        scope: Node,
        path: tuple[str, ...] = (),
        default: Node | None = None,
    ) -> None:
        if pattern.kind in _NAMES:
            key = (self.text(pattern),) if pattern.kind != "identifier" else ()
            self._bind(kind, pattern, node, scope, (*path, *key), default)
        elif pattern.kind in ("object_assignment_pattern", "assignment_pattern"):
            left = pattern.get("left")
            if left is not None:
                self._bind_pattern(kind, left, node, scope, path, pattern.get("right"))
        elif pattern.kind == "pair_pattern":
            key_node, value = pattern.get("key"), pattern.get("value")
            if key_node is not None and value is not None:
                self._bind_pattern(kind, value, node, scope, (*path, self.text(key_node)), default)
        elif pattern.kind in ("object_pattern", "rest_pattern"):
            for kid in pattern.kids:
                self._bind_pattern(kind, kid, node, scope, path)
        elif pattern.kind == "array_pattern":
            for index, kid in enumerate(pattern.kids):
                self._bind_pattern(kind, kid, node, scope, (*path, str(index)))

    def _enter_function(self, node: Node) -> None:
        name = node.get("name")
        if name is not None and node.kind.endswith("declaration"):
            self._bind("function", name, node, scope_around(node))
        single = node.get("parameter")
        if single is not None:
            self._bind("param", single, single, node)
        for param in parameters(node):
            pattern = param.get("pattern") or param
            default = param.get("value")
            if param.kind == "assignment_pattern":
                pattern, default = param.get("left") or param, param.get("right")
            self._bind_pattern("param", pattern, param, node, (), default)

    def _enter_declarator(self, node: Node) -> None:
        name = node.get("name")
        if name is None:
            return
        statement = node.parent
        around = statement.parent if statement is not None else None
        if around is not None and around.kind == "for_statement":
            self._bind_pattern("counter", name, around, around)
            return
        self._bind_pattern("variable", name, node, scope_around(node))

    def _enter_import(self, node: Node) -> None:
        path = self.string(node.get("source"))
        for clause in node.kids:
            if clause.kind != "import_clause":
                continue
            for item in clause.kids:
                if item.kind == "identifier":
                    self._import(item, path, "default")
                elif item.kind == "namespace_import" and item.kids:
                    self._import(item.kids[-1], path, None)
                elif item.kind == "named_imports":
                    for each in item.kids:
                        name = each.get("name")
                        if name is not None:
                            self._import(each.get("alias") or name, path, self.text(name))

    def _import(self, local: Node, path: str, name: str | None) -> None:
        self._bind("import", local, local, self._root)
        self.imports[self._known[self._root][self.text(local)]] = Imported(path, name)

    def _enter_export(self, node: Node) -> None:
        path = self.string(node.get("source")) if node.get("source") is not None else None
        declared = node.get("declaration", "value")
        if declared is not None:
            for named in _declared_names(declared):
                self.exports.setdefault(self.text(named), named)
            said = _EXPORT.match(self._source, node.start)
            if said is not None and said[1]:
                self.exports["default"] = declared
        for clause in node.kids:
            if clause.kind != "export_clause":
                continue
            for item in clause.kids:
                name = item.get("name")
                if name is None:
                    continue
                public = self.text(item.get("alias") or name)
                self.exports[public] = Imported(path, self.text(name)) if path else name
        if path and node.get("declaration") is None and not node.kids[:-1]:
            self.exports.setdefault(f"*{path}", Imported(path, None))

    def note_write(self, node: Node) -> None:
        """Note an assignment, or a call that adds to a list, at the name it is for."""
        if node.kind == "call_expression":
            function = node.get("function")
            if function is None or function.kind != "member_expression":
                return
            method = function.get("property")
            if method is None or self.text(method) not in _ADDS:
                return
            target: Node | None = function.get("object")
        else:
            target = node.get("left")
        while target is not None and target.kind in ("member_expression", "subscript_expression"):
            target = target.get("object")
        if target is None or target.kind != "identifier":
            return
        binding = self.resolve(target, self.text(target))
        if binding is not None:
            binding.writes.append(node)


def _declared_names(node: Node) -> Iterator[Node]:
    if node.kind in ("lexical_declaration", "variable_declaration"):
        for kid in node.kids:
            name = kid.get("name")
            if name is not None and name.kind == "identifier":
                yield name
    else:
        name = node.get("name")
        if name is not None:
            yield name
