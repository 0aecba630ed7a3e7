"""What names and attributes stand for: in a function, its module, its class, another module."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from kvaudit.analyzers.source.python.engine import MAX_DEPTH, Engine, Frame, Phase, aged
from kvaudit.analyzers.source.python.module import Function, Module
from kvaudit.analyzers.source.python.set_later import is_empty, set_later
from kvaudit.analyzers.source.python.values import Code, Shape, Value
from kvaudit.core.document import Volatility

_REMEMBERS = {"cache", "lru_cache", "cached_property", "memoize", "memoise", "cachedmethod"}
_PRINTS_ITSELF = {"__str__", "__repr__", "__format__"}


def name(engine: Engine, frame: Frame, wanted: str) -> Value | None:
    """Return what a bare name stands for; None where nothing is known of it."""
    if wanted in frame.env:
        return frame.env[wanted]
    if frame.closure and wanted in frame.closure:
        return frame.closure[wanted]
    return module_name(engine, frame.module, wanted, frame.depth)


def module_name(engine: Engine, module: Module, wanted: str, depth: int) -> Value | None:
    """Return what a name stands for at the level of a module, or of the one it comes from."""
    if wanted in module.functions:
        return Value(shape=Shape.CODE, code=Code(module, module.functions[wanted]))
    if wanted in module.classes:
        return Value(shape=Shape.CODE, code=Code(module, module.classes[wanted]))
    if wanted in module.assigned:
        return _global(engine, module, wanted)
    if wanted in module.imports and depth < MAX_DEPTH:
        origin, inner = module.imports[wanted]
        if inner is None:
            return None
        other = engine.other_module(module, origin)
        if other is not None and other is not module:
            return module_name(engine, other, inner, depth + 1)
    return None


def _global(engine: Engine, module: Module, wanted: str) -> Value | None:
    from kvaudit.analyzers.source.python.statements import run

    def assigned() -> Value | None:
        frame = Frame(module=module, env={}, phase=Phase.IMPORT, unit=None, depth=1)
        run(engine, frame, module.assigned[wanted])
        found = frame.env.get(wanted)
        return None if found is None else aged(found, Phase.IMPORT)

    return engine.once.found(module, (module.source.path, wanted), assigned, None)


def attribute(engine: Engine, frame: Frame, node: ast.Attribute, base: Value) -> Value | None:
    """Return an attribute of a value: an entry, a member of a class, a name of a module."""
    if base.fields is not None and node.attr in base.fields:
        return base.fields[node.attr]
    if isinstance(node.value, ast.Name) and node.value.id == "self" and base.code is None:
        # A method without its class: a part of a file, or one that is added to a class later.
        function = frame.module.functions.get(node.attr)
        if function is not None and function.args.args and function.args.args[0].arg == "self":
            return Value(shape=Shape.CODE, code=Code(frame.module, function))
    if base.code is not None and isinstance(base.code.node, ast.ClassDef):
        return member(engine, base.code.module, base.code.node, node.attr, frame.depth)
    if isinstance(node.value, ast.Name) and node.value.id in frame.module.imports:
        origin, inner = frame.module.imports[node.value.id]
        if frame.depth >= MAX_DEPTH:
            return None
        dotted = origin if inner is None else f"{origin.rstrip('.')}.{inner}".lstrip()
        if inner is not None and not origin.strip("."):
            dotted = f"{origin}{inner}"
        other = engine.other_module(frame.module, dotted)
        if other is not None and other is not frame.module:
            return module_name(engine, other, node.attr, frame.depth + 1)
    return None


def member(
    engine: Engine, module: Module, owner: ast.ClassDef, wanted: str, depth: int
) -> Value | None:
    """Return a member of a class or of one of its bases."""
    members = members_of(engine, module, owner)
    if wanted not in members or is_empty(members[wanted]):
        later = set_later(engine, module, owner, wanted)
        if later is not None:
            return later
    if wanted in members:
        found = members[wanted]
        if found.code is not None and _is_property(found.code):
            from kvaudit.analyzers.source.python.functions import apply

            return apply(engine, found.code, (), {}, depth + 1)
        return found
    for base in owner.bases if depth < MAX_DEPTH else []:
        if isinstance(base, ast.Name):
            known = module_name(engine, module, base.id, depth + 1)
            if known is not None and known.code is not None:
                node = known.code.node
                if isinstance(node, ast.ClassDef) and node is not owner:
                    found_in = member(engine, known.code.module, node, wanted, depth + 1)
                    if found_in is not None:
                        return found_in
    return None


def members_of(engine: Engine, module: Module, owner: ast.ClassDef) -> Mapping[str, Value]:
    """Return methods, class attributes, and what the constructor gives to ``self``."""
    found: dict[str, Value] = {}

    def all_of_them() -> dict[str, Value]:
        from kvaudit.analyzers.source.python.statements import run

        methods = {
            node.name: Value(shape=Shape.CODE, code=Code(module, node, owner))
            for node in owner.body
            if isinstance(node, Function)
        }
        found.update(methods)
        frame = Frame(module=module, env={}, phase=Phase.IMPORT, unit=None, owner=owner, depth=1)
        run(engine, frame, [n for n in owner.body if isinstance(n, ast.Assign | ast.AnnAssign)])
        found.update({key: aged(value, Phase.IMPORT) for key, value in frame.env.items()})
        found.update(methods)
        for made in ("__init__", "__post_init__", "setUp", "model_post_init"):
            code = methods[made].code if made in methods else None
            if code is not None:
                found.update(_given_to_self(engine, code))
        return found

    # The constructor, while it is followed, sees of its own class what was found so far.
    return engine.once.found(module, owner, all_of_them, found)


def _given_to_self(engine: Engine, code: Code) -> dict[str, Value]:
    from kvaudit.analyzers.source.python.functions import opened
    from kvaudit.analyzers.source.python.statements import run

    frame = opened(engine, code, depth=1)
    frame.phase = Phase.SESSION
    node = code.node
    assert isinstance(node, Function)
    run(engine, frame, node.body)
    return {
        key.removeprefix("self."): aged(unbound(value), Phase.SESSION)
        for key, value in frame.env.items()
        if key.startswith("self.") and key.count(".") == 1
    }


def declared(engine: Engine, frame: Frame, node: ast.Attribute) -> Value | None:
    """Return what changes of a parameter's attributes, where its type is a class of the project.

    An attribute that stays the same is left to its name: the caller may set it to anything.
    """
    written = frame.annotations.get(node.value.id) if isinstance(node.value, ast.Name) else None
    if written is None or frame.depth >= MAX_DEPTH:
        return None
    for inner in ast.walk(written):
        known = name(engine, frame, inner.id) if isinstance(inner, ast.Name) else None
        if known is not None and known.code is not None:
            if not isinstance(known.code.node, ast.ClassDef):
                return None
            found = member(engine, known.code.module, known.code.node, node.attr, frame.depth)
            arises = found is not None and any(
                part.trail and part.volatility >= Volatility.DAY for part in found.parts
            )
            return found if arises else None
    return None


def unbound(value: Value) -> Value:
    """Return a value whose parameters nobody will fill any more."""
    from kvaudit.analyzers.source.python.values import changed

    return changed(value, lambda part: (replace(part, param=None),))


def decorators(node: ast.AST) -> list[str]:
    """Return the last names of a function's or class's decorators."""
    found = []
    for mark in getattr(node, "decorator_list", []):
        inner = mark.func if isinstance(mark, ast.Call) else mark
        if isinstance(inner, ast.Attribute):
            found.append(inner.attr)
        elif isinstance(inner, ast.Name):
            found.append(inner.id)
    return found


def remembers(node: ast.AST) -> bool:
    """Whether a function keeps its result."""
    return any(mark in _REMEMBERS for mark in decorators(node))


def _is_property(code: Code) -> bool:
    return bool({"property", "cached_property"} & set(decorators(code.node)))


def bare_object(value: Value) -> str | None:
    """Return what a value is, where printing it prints an address; None where it does not."""
    if value.code is None:
        return None
    node = value.code.node
    if value.shape is Shape.CODE:
        return None if isinstance(node, ast.ClassDef) else "a function"
    if not isinstance(node, ast.ClassDef) or node.bases or node.keywords or node.decorator_list:
        return None
    methods = {inner.name for inner in node.body if isinstance(inner, Function)}
    return None if methods & _PRINTS_ITSELF else f"an object of {node.name}, which has no __str__"
