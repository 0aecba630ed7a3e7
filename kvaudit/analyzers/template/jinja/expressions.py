"""What a Jinja expression gives: followed through names, filters and calls that are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kvaudit.analyzers.template.values import (
    CONSTANT,
    UNKNOWN,
    Value,
    dated,
    fixed,
    joined,
    known,
    named,
    named_call,
)
from kvaudit.core.document import Origin

if TYPE_CHECKING:
    from jinja2 import nodes

MAX_EXPRESSION = 20_000
"""A longer expression is not looked into."""

CLOCKS = frozenset({"now", "utcnow", "localtime", "gmtime", "time_ns", "monotonic", "timestamp"})
_CLOCK_OWNERS = frozenset({"datetime", "time", "timezone", "arrow", "pendulum", "moment", "dt"})
_DAYS = frozenset({"today", "current_date", "date"})
_RANDOMS = frozenset(
    {"uuid", "uuid1", "uuid4", "uuid7", "random", "randint", "rand", "choice", "nanoid", "ulid"}
    | {"token_hex", "token_urlsafe", "lipsum"}
)
_FIXED_CALLS = frozenset({"range", "dict", "namespace", "cycler", "joiner", "_", "gettext"})
_TEXT_METHODS = frozenset({"isoformat", "ctime", "astimezone", "replace", "timestamp"})
_LAZY = frozenset({"map", "select", "reject", "selectattr", "rejectattr", "batch", "slice"})


@dataclass(slots=True)
class Scope:
    """Names that the template itself has given a value, and what the user said of others."""

    said: Mapping[str, Origin]
    names: dict[str, Value] = field(default_factory=dict)
    """Those of this scope alone."""
    outer: Scope | None = None

    def child(self, names: Mapping[str, Value]) -> Scope:
        """Return a scope inside this one."""
        return Scope(self.said, dict(names), self)

    def get(self, name: str) -> Value | None:
        """Return what a name was given, here or outside; None where the template does not."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


@lru_cache(maxsize=4096)
def parsed(expression: str) -> nodes.Expr | None:
    """Return the syntax tree of an expression, None where it is not Jinja's."""
    from jinja2 import Environment, TemplateSyntaxError, nodes

    if len(expression) > MAX_EXPRESSION:
        return None
    try:
        tree = Environment(autoescape=False).parse("{{" + expression + "\n}}")
    except (TemplateSyntaxError, RecursionError):
        return None
    output = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(output, nodes.Output) or len(output.nodes) != 1:
        return None
    return output.nodes[0]


def printed(expression: str, scope: Scope) -> Value:
    """Return what is printed by ``{{ expression }}``."""
    from jinja2 import nodes

    tree = parsed(expression)
    if tree is None:
        return UNKNOWN
    if isinstance(tree, nodes.Filter) and tree.name in _LAZY:
        # These filters give generators, whose text form is an address in memory.
        return known(Origin.OBJECT_REPR)
    return worth(tree, scope)


def value_of(expression: str, scope: Scope) -> Value:
    """Return what an expression gives where it is not printed: in ``set`` and ``for``."""
    tree = parsed(expression)
    return UNKNOWN if tree is None else worth(tree, scope)


def worth(node: nodes.Node, scope: Scope) -> Value:
    """Return what a node of the syntax tree gives."""
    from jinja2 import nodes

    if isinstance(node, nodes.TemplateData):
        return fixed(node.data)
    if isinstance(node, nodes.Const):
        return fixed("" if node.value is None else str(node.value))
    if isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem):
        return _of_path(node, scope)
    if isinstance(node, nodes.Call):
        return _of_call(node, scope)
    if isinstance(node, nodes.Filter):
        return _of_filter(node, scope)
    if isinstance(node, nodes.CondExpr):
        arms = [node.expr1, *([node.expr2] if node.expr2 else [])]
        return joined(worth(arm, scope) for arm in arms)
    if isinstance(node, nodes.Test):
        return joined([worth(node.node, scope)])
    return joined(worth(child, scope) for child in node.iter_child_nodes())


def path_of(node: Any) -> list[str] | None:
    """Return the parts of ``a.b['c']``; None for anything else."""
    from jinja2 import nodes

    parts: list[str] = []
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        if isinstance(node, nodes.Getattr):
            parts.append(node.attr)
        elif isinstance(node.arg, nodes.Const):
            parts.append(str(node.arg.value))
        node = node.node
    return [node.name, *reversed(parts)] if isinstance(node, nodes.Name) else None


def _of_path(node: nodes.Expr, scope: Scope) -> Value:
    path = path_of(node)
    if path is None:
        base = getattr(node, "node", None)
        return UNKNOWN if base is None else replace(worth(base, scope), text=None)
    if path[0] in ("loop", "caller", "self") or path == ["ctx", "output_format"]:
        return CONSTANT  # the second is BAML's description of the answer's type
    own = scope.get(path[0])
    if own is None:
        return named(path, scope.said)
    if len(path) == 1:
        return own
    if own.origin is Origin.UNKNOWN:
        return named(path[1:], scope.said, of_item=True)
    return replace(own, text=None)


def _of_call(node: nodes.Call, scope: Scope) -> Value:
    from jinja2 import nodes

    path = path_of(node.node)
    first = node.args[0] if node.args else None
    pattern = first.value if isinstance(first, nodes.Const) else None
    if path is not None and scope.get(path[0]) is None:
        certain = _of_known_call(path, pattern)
        if certain is not None:
            return certain
    if isinstance(node.node, nodes.Getattr):
        base = worth(node.node.node, scope)
        if base.origin is Origin.CLOCK:
            return _of_clock_method(base, node.node.attr, pattern)
        if base.origin is not Origin.UNKNOWN:
            return joined([base, *(worth(argument, scope) for argument in node.args)])
    if path is None:
        return UNKNOWN
    given = named_call(path, scope.said)
    return joined([given, *(worth(argument, scope) for argument in node.args)])


def _of_known_call(path: list[str], pattern: Any) -> Value | None:
    last = path[-1]
    owner = path[-2] if len(path) > 1 else ""
    if last == "strftime_now":
        return dated(pattern) if isinstance(pattern, str) else known(Origin.CLOCK)
    if last == "strftime" and owner == "time":
        return dated(pattern) if isinstance(pattern, str) else known(Origin.CLOCK)
    if last in CLOCKS or (last == "time" and owner in ("", "time")):
        return known(Origin.CLOCK)
    if last in _DAYS and (owner in _CLOCK_OWNERS or owner == "date" or last == "today"):
        return known(Origin.CLOCK if owner == "datetime" else Origin.DATE)
    if last in _RANDOMS:
        return known(Origin.RANDOM)
    return CONSTANT if len(path) == 1 and last in _FIXED_CALLS else None


def _of_clock_method(base: Value, method: str, pattern: Any) -> Value:
    if method in ("strftime", "format") and isinstance(pattern, str):
        return replace(dated(pattern), evidence=base.evidence, trail=base.trail)
    if method in ("date", "toordinal"):
        return replace(base, origin=Origin.DATE)
    return base if method in _TEXT_METHODS else replace(base, text=None)


def _of_filter(node: nodes.Filter, scope: Scope) -> Value:
    from jinja2 import nodes

    base = CONSTANT if node.node is None else worth(node.node, scope)
    if node.name == "random":
        return known(Origin.RANDOM)
    first = node.args[0] if node.args else None
    if node.name in ("strftime", "date", "format_date", "dateformat") and base.origin in (
        Origin.CLOCK,
        Origin.DATE,
    ):
        if isinstance(first, nodes.Const) and "%" in str(first.value):
            return replace(dated(str(first.value)), evidence=base.evidence, trail=base.trail)
        return base
    values = [base]
    if node.name not in ("default", "d"):
        values += [worth(argument, scope) for argument in node.args]
    if base.text is not None and node.name in ("trim", "safe", "escape", "e", "string"):
        return base
    return joined(values)
