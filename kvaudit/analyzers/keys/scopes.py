"""Functions of a Python file, and which names flow into an expression in them.

Flow is followed through local names, in any order, and one step into functions of the file.
What cannot be followed adds its own name; a name too many hides a finding, and makes none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.python.module import Function, Module
from kvaudit.analyzers.source.python.parameters import named_parameters
from kvaudit.core.sources import Span

_WORD = re.compile(r"[A-Za-z_]\w{0,40}")
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_BODIES = (ast.stmt, ast.ExceptHandler, ast.match_case)
_FILLS = frozenset(("append", "extend", "add", "update", "insert"))
"""A list that is filled holds what is put in."""
MAX_SCOPES = 2_000


@dataclass(slots=True, eq=False)
class Scope:
    """One function, or the file's own level, with what its names are given."""

    module: Module
    node: Function | None
    owner: ast.ClassDef | None
    outer: Scope | None
    nodes: list[ast.AST] = field(default_factory=list)
    """All that stands in it, in the order of the file; what functions in it hold is theirs."""
    assigned: dict[str, list[ast.expr]] = field(default_factory=dict)
    iterated: set[ast.expr] = field(default_factory=set)
    """Of those, what a name is only an item of."""
    hashing: dict[Function, bool] = field(default_factory=dict)
    """Functions of the file that were asked whether they only hash; one table for all scopes."""
    _places: dict[Span, ast.expr] | None = None
    _holders: dict[ast.AST, list[str]] | None = None

    @property
    def name(self) -> str:
        """The function's name; empty at the file's own level."""
        return "" if self.node is None else self.node.name

    @property
    def top(self) -> Scope:
        """The file's own level."""
        return self if self.outer is None else self.outer.top

    @property
    def params(self) -> list[str]:
        """Names of the parameters, ``self`` and ``cls`` left out."""
        return [name for name, _ in self.annotated()]

    def annotated(self) -> Iterator[tuple[str, ast.expr | None]]:
        """Yield the names of the parameters with what their types are said to be."""
        if self.node is None:
            return
        said = self.node.args
        every = named_parameters(said)
        every += [one for one in (said.vararg, said.kwarg) if one is not None]
        for one in every:
            if one.arg not in ("self", "cls"):
                yield one.arg, one.annotation

    def given(self, name: str) -> Sequence[ast.expr]:
        """Return what a name is given here, or in the function around."""
        if name in self.assigned or self.outer is None or name in self.params:
            return self.assigned.get(name, ())
        return self.outer.given(name)

    def holders(self, node: ast.AST) -> Sequence[str]:
        """Return the local names that are given a value in which a node stands."""
        if self._holders is None:
            self._holders = {}
            for name, values in self.assigned.items():
                for inner in {n: None for value in values for n in walk(self.module, value)}:
                    self._holders.setdefault(inner, []).append(name)
        return self._holders.get(node, ())

    def at(self, span: Span) -> ast.expr | None:
        """Return the expression that stands at a place."""
        if self._places is None:
            self._places = {}
            for node in self.nodes:
                if isinstance(node, ast.expr):
                    self._places.setdefault(self.module.span(node), node)
        return self._places.get(span)

    def calls(self) -> Iterator[ast.Call]:
        """Yield the calls that stand in it."""
        return (node for node in self.nodes if isinstance(node, ast.Call))

    def returned(self) -> list[ast.expr]:
        """Return the expressions whose value it gives."""
        return [n.value for n in self.nodes if isinstance(n, ast.Return) and n.value is not None]


def scopes_of(module: Module) -> list[Scope]:
    """Return the file's own level, and every function in it."""
    top = Scope(module, None, None, None)
    _fill(top, module.tree.body)
    found = [top]
    todo: list[tuple[Sequence[ast.AST], ast.ClassDef | None, Scope]] = [
        (module.tree.body, None, top)
    ]
    while todo and len(found) < MAX_SCOPES:
        body, owner, outer = todo.pop()
        for node in _inner(body):
            if isinstance(node, ast.ClassDef):
                todo.append((node.body, node, outer))
            else:
                made = scope_of(node, owner, outer)
                found.append(made)
                todo.append((node.body, owner, made))
    return found


def scope_of(node: Function, owner: ast.ClassDef | None, outer: Scope) -> Scope:
    """Return a function that stands in another or at the file's own level."""
    made = Scope(outer.module, node, owner, outer, hashing=outer.hashing)
    _fill(made, node.body)
    return made


def walk(module: Module, root: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and what is below it, in order; fields of f-strings with exact places."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, _INNER) and node is not root:
            continue
        if isinstance(node, ast.JoinedStr):
            fields = [piece for piece in module.formatted(node) if isinstance(piece, ast.expr)]
            stack += reversed(fields)
        else:
            stack += reversed(list(ast.iter_child_nodes(node)))


def values_given(call: ast.Call) -> list[ast.expr]:
    """Return the values that a call is given, in order and by name."""
    return [*call.args, *(word.value for word in call.keywords)]


def words(scope: Scope, expr: ast.AST, seen: set[str] | None = None) -> set[str]:
    """Return the names that flow into an expression, in snake case."""
    seen = set() if seen is None else seen
    found: set[str] = set()
    for node in walk(scope.module, expr):
        if isinstance(node, ast.Name):
            if not _is_spelled_out(scope, node.id):
                found.add(snake_case(node.id))
            if node.id not in seen:
                seen.add(node.id)
                for value in scope.given(node.id):
                    found |= words(scope, value, seen)
        elif isinstance(node, ast.Attribute):
            found.add(snake_case(node.attr))
        elif isinstance(node, ast.keyword) and node.arg is not None:
            found.add(snake_case(node.arg))
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and _WORD.fullmatch(node.value)
        ):
            found.add(snake_case(node.value))
    return found - {"self", "cls", ""}


def _is_spelled_out(scope: Scope, name: str) -> bool:
    """Whether a name stands for a mapping of which every field is seen where it is written."""
    given = scope.given(name)
    first = given[0] if given and name not in scope.params else None
    return isinstance(first, ast.Dict) and None not in first.keys


def core(scope: Scope, expr: ast.expr, depth: int = 6) -> ast.expr:
    """Return the text that an expression encodes: names resolved, ``.encode()`` taken off."""
    for _ in range(depth):
        inner = _inside(scope, expr)
        if inner is None:
            break
        expr = inner
    return expr


def _inside(scope: Scope, expr: ast.expr) -> ast.expr | None:
    """Return what an expression only encodes or names; None where it does more."""
    if isinstance(expr, ast.Name):
        values = scope.given(expr.id)
        return values[0] if len(values) == 1 else None
    if not isinstance(expr, ast.Call):
        return None
    made = expr.func
    if isinstance(made, ast.Attribute) and made.attr in ("encode", "strip"):
        return None if isinstance(made.value, ast.Constant) else made.value
    if isinstance(made, ast.Name) and made.id in ("bytes", "bytearray") and expr.args:
        return expr.args[0]
    return None


def _inner(body: Sequence[ast.AST]) -> Iterator[Function | ast.ClassDef]:
    """Yield the functions and classes that stand in a body, but in none of each other."""
    stack = list(reversed(body))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
        else:
            stack += [kid for kid in ast.iter_child_nodes(node) if isinstance(kid, _BODIES)]


def _fill(scope: Scope, body: Sequence[ast.stmt]) -> None:
    for statement in body:
        if isinstance(statement, _INNER):
            continue
        for node in walk(scope.module, statement):
            scope.nodes.append(node)
            _enter(scope, node)


def _enter(scope: Scope, node: ast.AST) -> None:
    pairs: list[tuple[ast.AST, ast.expr]] = []
    if isinstance(node, ast.Assign):
        pairs = [(target, node.value) for target in node.targets]
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
        pairs = [(node.target, node.value)]
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        pairs = [(node.target, node.iter)]
        scope.iterated.add(node.iter)
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        pairs = [(node.optional_vars, node.context_expr)]
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _FILLS
        and node.args
    ):
        pairs = [(node.func.value, node.args[-1])]
    for target, value in pairs:
        if isinstance(target, ast.Subscript):
            target = target.value
        for name in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            if isinstance(name, ast.Name):
                scope.assigned.setdefault(name.id, []).append(value)
