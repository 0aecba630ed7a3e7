"""Fields of data classes: what a default makes, and when."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from kvaudit.analyzers.source.python.engine import Engine, Frame, Phase, aged
from kvaudit.analyzers.source.python.evaluation import evaluate
from kvaudit.analyzers.source.python.module import Function
from kvaudit.analyzers.source.python.values import NOTHING, Code, Value
from kvaudit.core.document import Volatility

MAKES_FIELD = ("Field", "field", "PrivateAttr", "attrib", "ib")


def default_of(engine: Engine, frame: Frame, node: ast.Call) -> Value:
    """Return what a field is unless a call says otherwise, as of an object that lives a while."""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if "default_factory" in given:
        return aged(_made(engine, frame, given["default_factory"]), Phase.SESSION)
    default = given.get("default", node.args[0] if node.args else None)
    return evaluate(engine, frame, default)


def fields_of(
    engine: Engine, code: Code, args: Sequence[Value], keywords: Mapping[str, Value]
) -> dict[str, Value] | None:
    """Return the fields of a data class as a call gives them; factories run with that call."""
    node = code.node
    assert isinstance(node, ast.ClassDef)
    if any(isinstance(inner, Function) and inner.name == "__init__" for inner in node.body):
        return None
    found: dict[str, Value] = {}
    declared = [inner for inner in node.body if isinstance(inner, ast.AnnAssign)]
    names = [inner.target.id for inner in declared if isinstance(inner.target, ast.Name)]
    frame = Frame(module=code.module, env={}, phase=Phase.CALL, unit=None, owner=node, depth=2)
    for name, inner in zip(names, declared, strict=False):
        factory = _factory(inner.value)
        made = NOTHING if factory is None else _made(engine, frame, factory)
        if any(part.volatility >= Volatility.DAY for part in made.printed):
            found[name] = made
    return found | dict(zip(names, args, strict=False)) | dict(keywords) if names else None


def _factory(node: ast.expr | None) -> ast.expr | None:
    keywords = node.keywords if isinstance(node, ast.Call) else []
    return next((k.value for k in keywords if k.arg == "default_factory"), None)


def _made(engine: Engine, frame: Frame, factory: ast.expr) -> Value:
    """Return what a factory gives when it is called with nothing."""
    if isinstance(factory, ast.Lambda):
        return evaluate(engine, frame, factory.body)
    call = ast.Call(func=factory, args=[], keywords=[])
    return evaluate(engine, frame, ast.copy_location(call, factory))
