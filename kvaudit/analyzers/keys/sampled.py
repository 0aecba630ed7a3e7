"""Answers that are drawn at random, and kept as if the next one would be the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kvaudit.analyzers.keys.answers import File, asks_model
from kvaudit.analyzers.keys.lookups import lookups_of
from kvaudit.analyzers.keys.scopes import Scope
from kvaudit.analyzers.keys.seen import seen_at, short
from kvaudit.core.document import Observation
from kvaudit.core.doubt import Doubt


def sampled(scope: Scope, calls: Sequence[ast.Call]) -> Iterator[tuple[ast.Call, Observation]]:
    """Yield answers that are kept although another would come the next time."""
    for call in calls:
        for word in call.keywords:
            value = word.value
            if (
                word.arg == "temperature"
                and isinstance(value, ast.Constant)
                and isinstance(value.value, int | float)
                and value.value > 0
            ):
                told = (
                    f"temperature={value.value:g}, and the first answer is given while it is kept"
                )
                yield call, seen_at(scope, value, "caches-sampled", told)


def omitted_temperature(scope: Scope, file: File) -> Iterator[Observation]:
    """Yield tests that take a temperature that nobody gave for 0; the provider's default is 1."""
    if not any(isinstance(n, ast.Name) and "cach" in n.id.lower() for n in scope.nodes) and (
        "cach" not in scope.name.lower()
    ):
        return
    for node in scope.nodes:
        if (
            isinstance(node, ast.Compare)
            and isinstance(node.left, ast.Call)
            and getattr(node.left.func, "attr", "") == "get"
            and [getattr(arg, "value", None) for arg in node.left.args] == ["temperature", 0]
        ):
            found = seen_at(
                scope,
                node.left,
                "caches-sampled",
                f"{short(scope, node.left)} takes an omitted temperature for 0, providers for 1",
            )
            yield replace(found, unseen=() if _decides(scope, file) else (Doubt.NO_ANSWER,))


def _decides(scope: Scope, file: File) -> bool:
    """Whether a function, or one that calls it, is seen to ask a cache and a model."""
    callers = [caller for caller, _ in file.calls.get(scope.name, ())] if scope.name else []
    return any(
        lookups_of(one) and any(asks_model(one, call, file) for call in one.calls())
        for one in (scope, *callers)
    )
