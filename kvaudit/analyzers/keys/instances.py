"""What an object was made with decides its answers, and the key holds its method's arguments only.

Two objects that ask two models, or with two settings, then share answers wherever they share a
store. A store that each object makes for itself is no fault.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache

from kvaudit.analyzers.keys.answers import File
from kvaudit.analyzers.keys.kept import kept_under
from kvaudit.analyzers.keys.proof import held_to
from kvaudit.analyzers.keys.scopes import Scope
from kvaudit.analyzers.keys.seen import seen_at, short
from kvaudit.analyzers.keys.vocabulary import MODEL
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.python.module import Function, Module
from kvaudit.core.document import Observation


def instance_missing(
    scope: Scope, place: ast.expr, known: set[str], calls: Sequence[ast.Call]
) -> Iterator[Observation]:
    """Yield a key without the client that the object was given, where its store was given too."""
    if scope.owner is None or any(MODEL.fullmatch(word) for word in known):
        return
    if parted_by_model(scope.module):
        return
    given = from_outside(scope.owner)
    asked = {attribute for call in calls if (attribute := _of_self(call.func)) is not None}
    clients = [name for name in asked if name in given and snake_case(name) not in known]
    stores = [name for name in given if "cache" in name.lower() or "store" in name.lower()]
    if clients and stores:
        yield seen_at(
            scope,
            place,
            "instance-state-missing",
            f"self.{min(clients)} was given to the object and decides the answer, and nothing of "
            f"it is in the key, {short(scope, place)}; other objects may share the store",
        )


@lru_cache(maxsize=1)
def parted_by_model(module: Module) -> bool:
    """Whether the file names its store after the model: ``f"cache_{model}.db"``."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.JoinedStr) and "cache" in module.written(node).lower():
            fields = [piece for piece in module.formatted(node) if isinstance(piece, ast.expr)]
            names = [getattr(field, "id", getattr(field, "attr", "")) for field in fields]
            if any(MODEL.fullmatch(snake_case(name)) for name in names):
                return True
    return False


def dropped_self(scope: Scope, file: File) -> Iterator[Observation]:
    """Yield keys of ``args[1:]``: a method is wrapped, and the object it belongs to left out."""
    if not any("cach" in name or "key" in name for name in (scope.name.lower(), *scope.params)):
        return
    for node in scope.nodes:
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and node.value.id == "args"
            and isinstance(node.slice, ast.Slice)
            and getattr(node.slice.lower, "value", None) == 1
            and node.slice.upper is None
            and _is_keyed(scope, node)
        ):
            found = seen_at(
                scope,
                node,
                "instance-state-missing",
                f"{short(scope, node)} leaves out the object whose method it is, and all that the "
                "object was made with",
            )
            yield from held_to([found], kept_under(scope, node, file))


def _is_keyed(scope: Scope, node: ast.Subscript) -> bool:
    """Whether a value goes into what is called a key, or into a call that makes one."""
    for name, values in scope.assigned.items():
        if "key" in name and any(node in ast.walk(value) for value in values):
            return True
    return any(
        node in ast.walk(call) and "key" in ast.dump(call.func).lower() for call in scope.calls()
    ) or ("key" in scope.name.lower() and any(node in ast.walk(one) for one in scope.returned()))


def _of_self(called: ast.expr) -> str | None:
    """Return the attribute of the object that a call goes through: ``self.client.chat.create``."""
    while isinstance(called, ast.Attribute):
        if isinstance(called.value, ast.Name) and called.value.id == "self":
            return called.attr
        called = called.value
    return None


def from_outside(owner: ast.ClassDef) -> set[str]:
    """Return the attributes that the constructor gives the object from its own parameters."""
    found = set()
    for made in owner.body:
        if not (isinstance(made, Function) and made.name == "__init__"):
            continue
        params = {one.arg for one in (*made.args.args, *made.args.kwonlyargs)} - {"self"}
        for node in ast.walk(made):
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
            found |= {
                target.attr
                for target in targets
                if names & params
                and isinstance(target, ast.Attribute)
                and getattr(target.value, "id", "") == "self"
            }
    return found
