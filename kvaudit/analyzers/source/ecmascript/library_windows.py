"""Calls of libraries that keep the newest messages of a conversation only."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.source.ecmascript.code import asks_once, observe, short
from kvaudit.analyzers.source.ecmascript.engine import Engine
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.syntax import CLASSES, heritage, unwrapped
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.library_windows import library_window
from kvaudit.analyzers.source.windows import drops_the_oldest
from kvaudit.core.document import Observation

MAX_LEVELS = 3
"""Classes between one of the project and the library's."""


def told_to_a_library(engine: Engine) -> Iterator[Observation]:
    """Yield the calls, and the objects made, that cut a conversation on every turn."""
    for node in engine.module.calls:
        called = node.get("function", "constructor")
        name = _of_library(engine, engine.module, called) if called is not None else ""
        window = library_window("ecmascript", name) if name else None
        if called is None or window is None or asks_once(engine, node):
            continue
        if window.slides(_arguments(engine, node)):
            detail = drops_the_oldest(short(engine, called))
            yield observe(engine, called, "history-trimmed-each-turn", detail)


def _of_library(engine: Engine, module: Module, name: Node, levels: int = MAX_LEVELS) -> str:
    """Return where a library has what is called, or the class that its class extends."""
    binding = module.resolve(name, module.text(name))
    link = module.imports.get(binding) if binding is not None else None
    held = binding.node if binding is not None else None
    if link is not None:
        other = engine.file(module, link.path)
        found = engine.exported(other, link.name or "") if other is not None else None
        if found is None:
            return f"{link.path}/{link.name}"
        module, held = found[0], found[1].parent
    if held is None or not levels:
        return ""
    above = heritage(held) if held.kind in CLASSES else None
    meant = [above] if above is not None else _chosen(held)
    names = [_of_library(engine, module, each, levels - 1) for each in meant]
    return next((name for name in names if library_window("ecmascript", name)), "")


def _chosen(held: Node) -> list[Node]:
    """Return the classes that a variable may hold: ``const Kept = old ? Buffer : Window``."""
    value = unwrapped(held.get("value")) if held.kind == "variable_declarator" else None
    if value is None:
        return []
    if value.kind == "ternary_expression":
        return [each for key in ("consequence", "alternative") if (each := value.get(key))]
    return [value] if value.kind == "identifier" else []


def _arguments(engine: Engine, call: Node) -> dict[str, str]:
    """Return what the objects among a call's arguments say, as written here or where named."""
    given = call.get("arguments")
    pairs = [
        pair
        for each in (given.kids if given is not None else ())
        for pair in _object(engine, each)
        if pair.kind == "pair"
    ]
    return {
        engine.module.text(key).strip("\"'"): engine.module.text(value)
        for pair in pairs
        if (key := pair.get("key")) is not None and (value := pair.get("value")) is not None
    }


def _object(engine: Engine, node: Node) -> list[Node]:
    """Return the pairs of an object, or of the one that a variable is declared as."""
    if node.kind == "identifier":
        node = engine.module.declared_as(node) or node
    return node.kids if node.kind == "object" else []
