"""Methods of an object that another holds, where its constructor says of which class it is.

``self.keys.make(text)`` is a call of the class that ``__init__`` says ``keys`` to be of, or of any
that is derived from it in the same file: which of them is in use, the program decides as it runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from kvaudit.analyzers.keys.scopes import Scope
from kvaudit.analyzers.source.python.module import Function

_NO_CLASSES = frozenset(("Optional", "Union", "None", "Annotated"))


def methods_held(scope: Scope, call: ast.Call, every: Iterable[Scope]) -> Iterator[Scope]:
    """Yield the methods that ``self.field.method()`` may be of, with those of derived classes."""
    method = call.func
    if not (isinstance(method, ast.Attribute) and isinstance(method.value, ast.Attribute)):
        return
    if getattr(method.value.value, "id", "") != "self" or scope.owner is None:
        return
    wanted = class_of_field(scope.owner, method.value.attr)
    if not wanted:
        return
    named = [one for one in every if one.name == method.attr and one.owner is not None]
    for one in named:
        if one.owner is not None and wanted in _with_bases(one.owner, scope):
            yield one


def class_of_field(owner: ast.ClassDef, field: str) -> str:
    """Return the class that an object's field is said to be of; empty where nothing says so."""
    for made in owner.body:
        if isinstance(made, ast.AnnAssign) and getattr(made.target, "id", "") == field:
            return _class_in(made.annotation)
        if isinstance(made, Function) and made.name == "__init__":
            said = {one.arg: one.annotation for one in (*made.args.args, *made.args.kwonlyargs)}
            for node in ast.walk(made):
                if isinstance(node, ast.Assign) and any(
                    isinstance(target, ast.Attribute) and target.attr == field
                    for target in node.targets
                ):
                    return _class_in(said.get(getattr(node.value, "id", "")))
    return ""


def _class_in(annotation: ast.expr | None) -> str:
    """Return the one class that an annotation names: of ``Optional[Keys]`` it is ``Keys``."""
    if annotation is None:
        return ""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value if annotation.value.isidentifier() else ""
    names = [node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)]
    classes = [name for name in names if name not in _NO_CLASSES]
    return classes[0] if len(classes) == 1 else ""


def _with_bases(owner: ast.ClassDef, scope: Scope) -> Sequence[str]:
    """Return the names of a class and of those that it is derived from in the file."""
    found, todo = [owner.name], [owner]
    by_name = {node.name: node for node in scope.module.tree.body if isinstance(node, ast.ClassDef)}
    while todo:
        for base in todo.pop().bases:
            name = getattr(base, "id", "")
            if name and name not in found:
                found.append(name)
                todo += [by_name[name]] if name in by_name else []
    return found
