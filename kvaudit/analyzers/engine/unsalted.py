"""Calls of an own engine that know the tenant and give no salt, so that tenants share its blocks.

Told only where the user says that tenants are to be kept apart: to share is what a cache is for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kvaudit.analyzers.engine.faults.client_header import OWN_ADDRESS
from kvaudit.analyzers.keys.vocabulary import TENANT_SEEN
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.python.module import Function, Module
from kvaudit.core.document import Observation

_ASKS = re.compile(r".*\.(completions|responses)\.(create|parse)")


def unsalted(module: Module) -> Iterator[Observation]:
    """Yield calls in functions that are given a tenant, of a client of an own engine."""
    if "cache_salt" in module.source.text or not _has_own_engine(module):
        return
    for function in ast.walk(module.tree):
        if not isinstance(function, Function):
            continue
        params = [one.arg for one in (*function.args.args, *function.args.kwonlyargs)]
        tenants = [name for name in params if TENANT_SEEN.fullmatch(snake_case(name))]
        for call in ast.walk(function) if tenants else ():
            if isinstance(call, ast.Call) and _ASKS.fullmatch(module.dotted(call.func)):
                yield Observation(
                    kind="salt-absent",
                    source=module.source,
                    span=module.span(call.func),
                    detail=f"{tenants[0]} is known here, and {module.dotted(call.func)} is given "
                    "no cache_salt",
                )


def _has_own_engine(module: Module) -> bool:
    return any(
        isinstance(node, ast.keyword)
        and node.arg == "base_url"
        and isinstance(node.value, ast.Constant)
        and OWN_ADDRESS.match(str(node.value.value)) is not None
        for node in ast.walk(module.tree)
    )
