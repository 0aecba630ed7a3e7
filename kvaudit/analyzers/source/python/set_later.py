"""Prompts that one method of a class keeps in an attribute, and another one sends."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvaudit.analyzers.source.prompt_names import called
from kvaudit.analyzers.source.python.engine import Engine, Phase, aged
from kvaudit.analyzers.source.python.module import Function, Module
from kvaudit.analyzers.source.python.values import Code, Value, richer

Setting = ast.FunctionDef | ast.AsyncFunctionDef
_MADE = ("__init__", "__post_init__", "setUp", "model_post_init")
"""What a constructor sets is known of the class already."""


def set_later(engine: Engine, module: Module, owner: ast.ClassDef, wanted: str) -> Value | None:
    """Return what the methods of a class give to an attribute that is named like a prompt.

    None where they give nothing, or more than two do: which of them ran is then not known.
    """
    if called(wanted) is None:
        return None
    setting = list(_setting(owner, wanted))
    if not 0 < len(setting) <= 2:
        return None

    def given() -> Value | None:
        from kvaudit.analyzers.source.python.functions import opened
        from kvaudit.analyzers.source.python.lookup import unbound
        from kvaudit.analyzers.source.python.statements import run

        found: Value | None = None
        for method in setting:
            frame = opened(engine, Code(module, method, owner), depth=1)
            run(engine, frame, method.body)
            value = frame.env.get(f"self.{wanted}")
            if value is not None:
                phase = Phase.CALL if _is_set_again(owner, method, wanted) else Phase.SESSION
                found = richer(found, aged(unbound(value), phase))
        return found

    return engine.once.found(module, ("set later", owner, wanted), given, None)


def is_empty(value: Value) -> bool:
    """Whether a value only says that there will be another: ``None``, an empty text."""
    kept = value.parts or value.items or value.fields or value.code or value.literal
    return not kept and not value.hazards


def _setting(owner: ast.ClassDef, wanted: str) -> Iterator[Setting]:
    for method in owner.body:
        if (
            isinstance(method, Function)
            and method.name not in _MADE
            and _has(method, wanted, ast.Store)
        ):
            yield method


def _is_set_again(owner: ast.ClassDef, setting: Setting, wanted: str) -> bool:
    """Whether a method that uses an attribute has it set anew; else it is when work begins."""
    return any(
        _has(method, wanted, ast.Load)
        and (method is setting or _has(method, setting.name, ast.Load))
        for method in owner.body
        if isinstance(method, Function) and method.name not in _MADE
    )


def _has(method: Setting, attribute: str, context: type[ast.expr_context]) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, context)
        and node.attr == attribute
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        for node in ast.walk(method)
    )
