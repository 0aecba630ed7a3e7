"""The values that flow into an expression of Python.

Followed through local names, attributes, dictionaries, calls of the file's own functions and
everything that only encodes or joins. A call of another module is taken to be made of all it is
given, and to take less of it than it was.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kvaudit.analyzers.keys.scopes import Scope, core
from kvaudit.analyzers.keys.seen import short
from kvaudit.analyzers.keys.sourced.python_calls import (
    BUILTINS,
    is_digest,
    nature_of,
    only_encodes,
)
from kvaudit.analyzers.keys.sourced.reference import DEPTH, Nature, Reference, Steps, each_once
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.python.parameters import parameters_by_place

Bound = Mapping[str, Sequence[Reference]]
"""What the parameters of a function are given, where its call is followed."""
_ENVIRONMENT = re.compile(r"os\.(environ|getenv)\b.*")
_CLASS = re.compile(r"[A-Z]\w*[a-z]\w*")
_TESTS = frozenset(("isinstance", "issubclass", "callable", "hasattr"))
_ROLE = re.compile(r"role")


class Flow:
    """What flows in one file."""

    def __init__(self, every: Sequence[Scope]) -> None:
        """Take the file's functions."""
        self._functions = {one.name: one for one in reversed(every) if one.name}
        self._steps = Steps()
        self._open: set[tuple[Scope, str]] = set()

    def into(self, scope: Scope, exprs: Iterable[ast.expr]) -> list[Reference]:
        """Return what flows into some expressions, each once. Raises `Unreadable`."""
        self._steps = Steps()
        return each_once(one for expr in exprs for one in self._of(scope, expr, {}, DEPTH))

    def _of(self, scope: Scope, node: ast.AST, bound: Bound, depth: int) -> list[Reference]:
        self._steps.take()
        special = self._special(node)
        if special is not None:
            return special(scope, node, bound, depth)
        kids = [kid for kid in ast.iter_child_nodes(node) if not isinstance(kid, ast.expr_context)]
        return [one for kid in kids for one in self._of(scope, kid, bound, depth)]

    def _special(self, node: ast.AST) -> Callable[..., list[Reference]] | None:
        """Return what reads a node; None where all of its children flow into it."""
        match node:
            case ast.Constant() | ast.Lambda() | ast.operator() | ast.cmpop():
                return _nothing
            case ast.Name():
                return self._name
            case ast.Attribute() | ast.Subscript():
                return self._inside
            case ast.Call():
                return self._call
            case ast.FormattedValue():
                return self._formatted
            case ast.BinOp():
                return self._calculated
            case ast.IfExp():
                return self._either
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._each
        return None

    def _name(self, scope: Scope, node: ast.Name, bound: Bound, depth: int) -> list[Reference]:
        name = node.id
        if name in ("self", "cls") or _CLASS.fullmatch(name):
            return []
        if name in bound and name not in scope.assigned:
            return list(bound[name])
        itself = _reference(scope, node, (snake_case(name),))
        given = scope.given(name)
        if not given or (scope, name) in self._open:
            if name in bound:
                return list(bound[name])
            fixed = name not in scope.params and (name.isupper() or name in BUILTINS)
            return [] if fixed or (given and name not in scope.params) else [itself]
        self._open.add((scope, name))
        found = [one for value in given for one in self._of(scope, value, bound, depth)]
        self._open.discard((scope, name))
        if name in scope.params and any(one.words[0] == itself.words[0] for one in found):
            return found  # ``prompt = prompt.strip()``
        return [itself, *found] if name in scope.params and name not in bound else found

    def _inside(self, scope: Scope, node: ast.expr, bound: Bound, depth: int) -> list[Reference]:
        """Return what an attribute or an item is of: ``body["messages"][-1].content``."""
        if _ENVIRONMENT.fullmatch(scope.module.dotted(node)):
            return []
        word, partly, value = _step(node)
        if word.isupper():
            return []  # a setting of the program
        if isinstance(value, ast.Name) and value.id in ("self", "cls"):
            return [_reference(scope, node, (snake_case(word),))]
        if isinstance(value, ast.Name) and word:
            known = _item_of(scope.given(value.id), word)
            if known is not None:
                return self._of(scope, known, bound, depth)
        inner = self._of(scope, value, bound, depth)
        if not word:
            cut = partly and not is_digest(core(scope, value))
            return [one.cut_by(short(scope, node)) if cut else one for one in inner]
        step = word if word.lstrip("-").isdigit() or word == ":" else snake_case(word)
        text = short(scope, node)
        return [
            Reference(words=(*one.words, step), text=text, line=one.line, nature=one.nature)
            for one in inner
        ]

    def _call(self, scope: Scope, node: ast.Call, bound: Bound, depth: int) -> list[Reference]:
        name = scope.module.dotted(node.func)
        nature = nature_of(name)
        if nature is not None:
            made = _reference(scope, node, ("",), nature)
            return [made.cut_by(made.text) if name.endswith("today") else made]
        if _ENVIRONMENT.fullmatch(name) or name in _TESTS:
            return []
        if name in ("hash", "id"):
            return [*self._args(scope, node, bound, depth), *_process(scope, node)]
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if method in ("get", "pop", "getattr") and node.args and _text(node.args[0]):
            assert isinstance(node.func, ast.Attribute)
            item = ast.copy_location(
                ast.Subscript(value=node.func.value, slice=node.args[0], ctx=ast.Load()), node
            )
            return self._inside(scope, item, bound, depth)
        if name == "getattr" and len(node.args) > 1 and (word := _text(node.args[1])):
            inner = ast.Attribute(value=node.args[0], attr=word, ctx=ast.Load())
            return self._inside(scope, ast.copy_location(inner, node), bound, depth)
        followed = self._own(scope, node, bound, depth)
        if followed is not None:
            return followed
        found = self._args(scope, node, bound, depth)
        if isinstance(node.func, ast.Attribute) and not _is_module(scope, node.func.value):
            found = [*self._of(scope, node.func.value, bound, depth), *found]
        if only_encodes(name, method):
            return found
        return [one.cut_by(short(scope, node)) for one in found]

    def _own(
        self, scope: Scope, node: ast.Call, bound: Bound, depth: int
    ) -> list[Reference] | None:
        """Return what flows out of a function of the file; None for one of elsewhere."""
        func = node.func
        if isinstance(func, ast.Attribute):
            owner = func.value
            if not (isinstance(owner, ast.Name) and owner.id in ("self", "cls")):
                return None
            name = func.attr
        else:
            name = getattr(func, "id", "")
        maker = self._functions.get(name)
        if maker is None or not depth or not maker.returned():
            return None
        given = self._given(scope, node, maker, bound, depth)
        return [one for expr in maker.returned() for one in self._of(maker, expr, given, depth - 1)]

    def _given(
        self, scope: Scope, node: ast.Call, maker: Scope, bound: Bound, depth: int
    ) -> dict[str, list[Reference]]:
        """Return what each parameter of a function is given; those with defaults nothing."""
        found: dict[str, list[Reference]] = {name: [] for name in maker.params}
        assert maker.node is not None
        said = maker.node.args
        named = [one.arg for one in parameters_by_place(said)]
        named = [name for name in named if name in found]
        more, others = (getattr(one, "arg", "") for one in (said.vararg, said.kwarg))
        for at, arg in enumerate(node.args):
            name = named[at] if at < len(named) else more
            if name:
                found[name] += self._of(scope, arg, bound, depth)
        for word in node.keywords:
            name = word.arg if word.arg in found else others
            if name:
                found[name] += self._of(scope, word.value, bound, depth)
        return found

    def _args(self, scope: Scope, node: ast.Call, bound: Bound, depth: int) -> list[Reference]:
        every: list[ast.expr] = [*node.args, *(word.value for word in node.keywords)]
        return [one for arg in every for one in self._of(scope, arg, bound, depth)]

    def _formatted(
        self, scope: Scope, node: ast.FormattedValue, bound: Bound, depth: int
    ) -> list[Reference]:
        found = self._of(scope, node.value, bound, depth)
        if node.format_spec is None:
            return found
        spec = "".join(str(getattr(part, "value", "")) for part in _parts(node.format_spec))
        return [one.cut_by(f"{{{one.text}:{spec}}}") for one in found]

    def _calculated(
        self, scope: Scope, node: ast.BinOp, bound: Bound, depth: int
    ) -> list[Reference]:
        sides = [node.left, node.right]
        found = [one for side in sides for one in self._of(scope, side, bound, depth)]
        formats = isinstance(node.left, ast.Constant | ast.JoinedStr)
        if isinstance(node.op, ast.Add) or (isinstance(node.op, ast.Mod) and formats):
            return found
        return [one.cut_by(short(scope, node)) for one in found]

    def _either(self, scope: Scope, node: ast.IfExp, bound: Bound, depth: int) -> list[Reference]:
        sides = (node.body, node.orelse)
        return [one for side in sides for one in self._of(scope, side, bound, depth)]

    def _each(self, scope: Scope, node: Any, bound: Bound, depth: int) -> list[Reference]:
        made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        found = [one for part in made for one in self._of(scope, part, bound, depth)]
        if not any(loop.ifs for loop in node.generators):
            return found
        written = short(scope, node)
        role = _role_of(node)
        return [one.below(role) if role else one.cut_by(written) for one in found]


def _nothing(*_: object) -> list[Reference]:
    return []


def _reference(
    scope: Scope, node: ast.AST, words: tuple[str, ...], nature: Nature = Nature.VALUE
) -> Reference:
    line = getattr(node, "lineno", 1)
    return Reference(words=words, text=short(scope, node), line=line, nature=nature)


def _process(scope: Scope, node: ast.Call) -> list[Reference]:
    return [_reference(scope, node, ("",), Nature.PROCESS)]


def _step(node: ast.expr) -> tuple[str, bool, ast.expr]:
    """Return the name or index by which something is taken, whether that cuts it, and of what."""
    if isinstance(node, ast.Attribute):
        return node.attr, False, node.value
    assert isinstance(node, ast.Subscript)
    at = node.slice
    if isinstance(at, ast.Slice):
        whole = at.lower is None and at.upper is None
        return "", not whole, node.value
    if isinstance(at, ast.UnaryOp) and isinstance(at.operand, ast.Constant):
        return f"-{at.operand.value!s}", False, node.value
    if isinstance(at, ast.Constant):
        return str(at.value), False, node.value
    return "", True, node.value


def _item_of(given: Sequence[ast.expr], word: str) -> ast.expr | None:
    """Return what a dictionary that is written out holds under a key."""
    for value in given:
        if isinstance(value, ast.Dict):
            for key, item in zip(value.keys, value.values, strict=True):
                if key is not None and _text(key) == word:
                    return item
    return None


def _text(node: ast.expr) -> str:
    value = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else ""


def _is_module(scope: Scope, node: ast.expr) -> bool:
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id in scope.module.imports


def _parts(spec: ast.expr) -> list[ast.expr]:
    return list(spec.values) if isinstance(spec, ast.JoinedStr) else [spec]


def _role_of(node: ast.AST) -> str:
    """Return the role that a loop over messages takes: ``if m["role"] == "system"``."""
    found = [
        _text(side)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Compare) and isinstance(inner.ops[0], ast.Eq)
        and _ROLE.search(ast.dump(inner.left))
        for side in inner.comparators
    ]  # fmt: skip
    return found[0] if len(found) == 1 else ""
