"""What the members of objects, of files and of classes stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kvaudit.analyzers.source.ecmascript import evaluate as values
from kvaudit.analyzers.source.ecmascript import lookup, pieces
from kvaudit.analyzers.source.ecmascript.bindings import Binding
from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.origins import arising
from kvaudit.analyzers.source.ecmascript.syntax import CLASSES, function_around
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import NOTHING, Code, Shape, Value, kept
from kvaudit.analyzers.source.prompt_names import called
from kvaudit.core.document import Evidence, Origin

_CARRIED = (
    Origin.HEADER, Origin.LIVE_STATE, Origin.RETRIEVED, Origin.IDENTITY, Origin.RANDOM,
    Origin.DEPLOY, Origin.HOST,
)  # fmt: skip


def member(engine: Engine, frame: Frame, node: Node) -> Value:
    """Return what an object's member is."""
    dotted = frame.module.dotted(node)
    row = arising("attribute", dotted)
    if row is not None and row.origin is not None:
        return pieces.arisen(frame, node, row.origin, row.label)
    target, key = node.get("object"), node.get("property")
    if target is None or key is None:
        return pieces.unknown(engine, frame, node, dotted)
    text = frame.module.text(key)
    if text == "length":
        return pieces.constant(frame, node)
    if target.kind == "this":
        return _own_member(engine, frame, node, text)
    space = _of_namespace(engine, frame, target, text)
    if space is not None:
        return space
    return taken(engine, frame, node, values.evaluate(engine, target, frame), (text,))


def _of_namespace(engine: Engine, frame: Frame, target: Node, key: str) -> Value | None:
    if target.kind != "identifier":
        return None
    binding = frame.module.resolve(target, frame.module.text(target))
    if (
        binding is None
        or binding.kind != "import"
        or frame.module.imports[binding].name is not None
    ):
        return None
    other = engine.file(frame.module, frame.module.imports[binding].path)
    found = engine.exported(other, key) if other is not None else None
    return lookup.declared(engine, *found) if found is not None else None


def taken(
    engine: Engine,
    frame: Frame,
    node: Node,
    value: Value,
    path: Sequence[str],
    binding: Binding | None = None,
) -> Value:
    """Return what stands at a path of keys in a value."""
    known = True
    for key in path:
        if value.fields is not None and key in value.fields:
            value = value.fields[key]
        elif value.items is not None and key.isdigit() and int(key) < len(value.items):
            value = value.items[int(key)]
        else:
            known = False
            break
    if known and value is not NOTHING:
        return value
    sole = value.sole
    if sole is not None and sole.evidence is not Evidence.NAME:
        piece = sole.origin in (Origin.CLOCK, Origin.DATE) and path[-1].isdigit()
        told = sole.origin is Origin.LIVE_STATE and called(path[-1]) is not None
        if piece or (sole.origin in _CARRIED and not told):
            # A prompt that another service keeps is no state of its own.
            return pieces.again(frame, node, value)
    if binding is not None and binding.default is not None:
        return values.evaluate(engine, binding.default, frame)
    label = binding.name if binding is not None else frame.module.dotted(node)
    guess = pieces.unknown(engine, frame, node, label)
    inner = tuple(h for h in value.hazards if value.items is not None)
    return replace(guess, hazards=inner)


def _own_member(engine: Engine, frame: Frame, node: Node, key: str) -> Value:
    """Return a member of the class a function belongs to."""
    around = node.above(*CLASSES)
    body = around.get("body") if around is not None else None
    for kid in body.kids if body is not None else ():
        named = kid.get("name", "property")
        if named is None or frame.module.text(named) != key:
            continue
        if kid.kind == "method_definition":
            code = Code(frame.module, kid, Frame(frame.module))
            if frame.module.source.text.startswith("get ", kid.start):
                return values.result(engine, frame, code, [])
            return Value(code=code, shape=Shape.CODE)
        value_node = kid.get("value")
        if value_node is not None:
            value = values.evaluate(engine, value_node, Frame(frame.module, depth=frame.depth))
            if value.code is not None:
                return value
            if value.printed and not _is_reassigned(frame.module, around, key):
                return kept(value, at_import=False)
    return _assigned_member(engine, frame, around, key) or pieces.unknown(
        engine, frame, node, frame.module.dotted(node)
    )


def _assignments_to(module: Module, around: Node | None, key: str) -> list[Node]:
    written = f"this.{key}"
    return [
        n
        for n in module.assignments
        if n.get("left") is not None
        and module.text(n.fields["left"]) == written
        and n.above(*CLASSES) is around
    ]


def _is_reassigned(module: Module, around: Node | None, key: str) -> bool:
    return bool(_assignments_to(module, around, key))


def _assigned_member(engine: Engine, frame: Frame, around: Node | None, key: str) -> Value | None:
    """Return what a class keeps under a name: what its constructor, or the only place, writes."""
    places = _assignments_to(frame.module, around, key)
    if len(places) != 1 or places[0].get("right") is None:
        return None
    owner = function_around(places[0])
    if places[0] in engine.members:
        return None
    engine.members.add(places[0])
    value = values.evaluate(
        engine, places[0].fields["right"], Frame(frame.module, owner, depth=frame.depth + 1)
    )
    engine.members.discard(places[0])
    return kept(value, at_import=False) if value.printed or value.fields is not None else None
