"""One file: its tree, what its names stand for, and where they are written to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.source.ecmascript.tree import Node, parse
from kvaudit.core.sources import Source

FUNCTIONS = frozenset((
    "arrow_function", "function_declaration", "function_expression", "generator_function",
    "generator_function_declaration", "method_definition",
))  # fmt: skip
CLASSES = frozenset(("class_declaration", "class", "abstract_class_declaration"))
_SCOPES = FUNCTIONS | frozenset((
    "program", "statement_block", "for_statement", "for_in_statement", "catch_clause",
    "switch_body", "class_static_block",
))  # fmt: skip
LOOPS = frozenset(("for_statement", "for_in_statement", "while_statement", "do_statement"))
_NAMES = frozenset(("identifier", "shorthand_property_identifier_pattern"))
_LINKS = re.compile(
    r"^\s*(import\b|export\b)|\brequire\(|\bmodule\.exports\b|\bexports\.\w", re.MULTILINE
)


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


class Module:
    """A parsed file. Raises `Unreadable`."""

    def __init__(self, source: Source) -> None:
        """Parse the source and enter its names."""
        self.source = source
        self.root = parse(source.text, language_of(source.path))
        if self.root.kind == "ERROR":
            raise Unreadable("it does not parse")
        self.is_script = _LINKS.search(source.text) is None
        """Nothing is imported or exported: a fragment, or a program that runs once a call."""
        self.exports: dict[str, Node | Imported] = {}
        self.functions: list[Node] = []
        self.objects: list[Node] = []
        self.arrays: list[Node] = []
        self.calls: list[Node] = []
        self.assignments: list[Node] = []
        self.declarators: list[Node] = []
        self.fields: list[Node] = []
        self._names: dict[Node, dict[str, Binding]] = {}
        self._returns: dict[Node, list[Node]] = {}
        self._dotted: dict[Node, str] = {}
        self.imports: dict[Binding, Imported] = {}
        for node in self.root.walk():
            self._enter(node)
        for node in (*self.assignments, *self.calls):
            self._note_write(node)

    def text(self, node: Node) -> str:
        """Return a node as it is written."""
        return self.source.text[node.start : node.end]

    def resolve(self, at: Node, name: str) -> Binding | None:
        """Return what a name means at a place."""
        node: Node | None = at
        while node is not None:
            found = self._names.get(node)
            if found is not None and name in found:
                return found[name]
            node = node.parent
        return None

    def returned(self, function: Node) -> list[Node]:
        """Return the expressions whose value a function gives."""
        known = self._returns.get(function)
        if known is None:
            body = function.get("body")
            if body is None:
                known = []
            elif body.kind != "statement_block":
                known = [body]
            else:
                known = [n.kids[0] for n in _own(body) if n.kind == "return_statement" and n.kids]
            self._returns[function] = known
        return known

    def dotted(self, node: Node | None) -> str:
        """Return a name with dots, calls in it left out: ``a.b().c``."""
        if node is None:
            return ""
        known = self._dotted.get(node)
        if known is None:
            known = self._dotted[node] = self._spelled(node)
        return known

    def _spelled(self, node: Node) -> str:
        if node.kind in (
            "identifier",
            "property_identifier",
            "this",
            "private_property_identifier",
        ):
            return self.text(node)
        if node.kind == "member_expression":
            left = self.dotted(node.get("object"))
            last = self.dotted(node.get("property"))
            return f"{left}.{last}" if left else last
        if node.kind in ("call_expression", "new_expression"):
            return self.dotted(node.get("function", "constructor"))
        if node.kind in ("subscript_expression",):
            return self.dotted(node.get("object"))
        if node.kind in _WRAPPERS and node.kids:
            return self.dotted(node.kids[0])
        return ""

    def _enter(self, node: Node) -> None:
        kind = node.kind
        if kind in FUNCTIONS:
            self.functions.append(node)
            self._enter_function(node)
        elif kind in CLASSES:
            name = node.get("name")
            if name is not None:
                self._bind("class", name, node, _scope_around(node))
        elif kind == "variable_declarator":
            self.declarators.append(node)
            self._enter_declarator(node)
        elif kind == "for_in_statement":
            left = node.get("left")
            if left is not None:
                self._bind_pattern("each", left, node, node)
        elif kind == "import_statement":
            self._enter_import(node)
        elif kind == "export_statement":
            self._enter_export(node)
        elif kind == "object":
            self.objects.append(node)
        elif kind == "array":
            self.arrays.append(node)
        elif kind in ("call_expression", "new_expression"):
            self.calls.append(node)
        elif kind in ("assignment_expression", "augmented_assignment_expression"):
            self.assignments.append(node)
        elif kind in ("public_field_definition", "field_definition"):
            self.fields.append(node)

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
        self._names.setdefault(scope, {})[text] = bound

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
            self._bind("function", name, node, _scope_around(node))
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
        self._bind_pattern("variable", name, node, _scope_around(node))

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
        self._bind("import", local, local, self.root)
        self.imports[self._names[self.root][self.text(local)]] = Imported(path, name)

    def _enter_export(self, node: Node) -> None:
        path = self.string(node.get("source")) if node.get("source") is not None else None
        declared = node.get("declaration", "value")
        if declared is not None:
            for named in _declared_names(declared):
                self.exports.setdefault(self.text(named), named)
            if any(self.source.text.startswith("default", at) for at in _after_export(self, node)):
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

    def _note_write(self, node: Node) -> None:
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

    def string(self, node: Node | None) -> str:
        """Return the text inside a string literal's quotes, as written."""
        return "" if node is None else self.source.text[node.start + 1 : node.end - 1]


_ADDS = frozenset(("push", "unshift", "splice", "sort"))
_WRAPPERS = frozenset((
    "non_null_expression", "parenthesized_expression", "await_expression", "as_expression",
    "satisfies_expression",
))  # fmt: skip


@lru_cache(maxsize=32)
def module_of(source: Source) -> Module:
    """Return a file's module; the last ones are kept, since files share what they import."""
    return Module(source)


def language_of(path: str) -> str:
    """Return the grammar for a file."""
    if path.endswith((".ts", ".mts", ".cts")):
        return "typescript"
    return "tsx" if path.endswith(".tsx") else "javascript"


def parameters(function: Node) -> list[Node]:
    """Return a function's parameters, in order."""
    single = function.get("parameter")
    if single is not None:
        return [single]
    listed = function.get("parameters")
    return [n for n in listed.kids if n.kind != "comment"] if listed is not None else []


def function_around(node: Node) -> Node | None:
    """Return the function a node stands in; None at the file's own level."""
    return node.above(*FUNCTIONS)


def _own(body: Node) -> Iterator[Node]:
    """Yield the nodes of a function's body, without those of functions in it."""
    stack = [body]
    while stack:
        node = stack.pop()
        yield node
        if node.kind not in FUNCTIONS and node.kind not in CLASSES:
            stack.extend(reversed(node.kids))


def own_nodes(function: Node) -> Iterator[Node]:
    """Yield what stands in a function, but not in a function inside it."""
    body = function.get("body")
    if body is not None:
        yield from _own(body)


def _scope_around(node: Node) -> Node:
    around = node
    while around.parent is not None:
        around = around.parent
        if around.kind in _SCOPES:
            break
    return around


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


def _after_export(module: Module, node: Node) -> Iterator[int]:
    found = re.compile(r"export\s+").match(module.source.text, node.start)
    if found is not None:
        yield found.end()
