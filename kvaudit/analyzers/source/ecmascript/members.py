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
from kvaudit.analyzers.source.ecmascript.syntax import (
    CLASSES,
    function_around,
    heritage,
    parameters,
)
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import NOTHING, Code, Shape, Value, kept
from kvaudit.analyzers.source.prompt_names import called
from kvaudit.core.document import Evidence, Origin

MAX_LEVELS = 3
"""Classes above a class that are looked into."""
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
    if value.code is not None and value.code.node.kind in CLASSES and len(path) == 1:
        found = class_member(engine, value.code, path[0], frame.depth)
        if found is not None:
            return found
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
    code = Code(frame.module, around) if around is not None else None
    found = class_member(engine, code, key, frame.depth) if code is not None else None
    return found or pieces.unknown(engine, frame, node, frame.module.dotted(node))


def class_member(
    engine: Engine, code: Code, key: str, depth: int, levels: int = MAX_LEVELS
) -> Value | None:
    """Return a member of a class, or of those that it extends; None where it has none known."""
    module, around = code.module, code.node
    body = around.get("body")
    for kid in body.kids if body is not None else ():
        named = kid.get("name", "property")
        if named is None or module.text(named) != key:
            continue
        if kid.kind == "method_definition":
            method = Code(module, kid, Frame(module))
            if module.source.text.startswith("get ", kid.start):
                return values.result(engine, Frame(module, depth=depth), method, [])
            return Value(code=method, shape=Shape.CODE)
        value_node = kid.get("value")
        if value_node is not None:
            value = values.evaluate(engine, value_node, Frame(module, depth=depth))
            if value.code is not None:
                return value
            if value.printed and not _is_reassigned(module, around, key):
                return kept(value, at_import=False)
    found = _assigned_member(engine, Frame(module, depth=depth), around, key)
    found = found or _typed_member(engine, Frame(module, depth=depth), around, key)
    if found is not None or levels == 0:
        return found
    above = _extended(engine, code)
    return class_member(engine, above, key, depth, levels - 1) if above is not None else None


def _extended(engine: Engine, code: Code) -> Code | None:
    """Return the class that another one extends."""
    named = heritage(code.node)
    if named is None:
        return None
    above = values.evaluate(engine, named, Frame(code.module)).code
    return above if above is not None and above.node.kind in CLASSES else None


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
    if value.code is not None:
        return value
    return kept(value, at_import=False) if value.printed or value.fields is not None else None


def _typed_member(engine: Engine, frame: Frame, around: Node, key: str) -> Value | None:
    """Return the class of the project that a member is declared to be an object of."""
    module, body = frame.module, around.get("body")
    for kid in body.kids if body is not None else ():
        declared = [kid] if kid.kind == "public_field_definition" else []
        if kid.kind == "method_definition" and module.text(kid.fields["name"]) == "constructor":
            given = parameters(kid)
            declared = [p for p in given if any(k.kind == "accessibility_modifier" for k in p.kids)]
        for one in declared:
            name, said = one.get("name", "pattern"), one.get("type")
            if name is None or said is None or module.text(name) != key:
                continue
            binding = module.resolve(around, module.text(said).lstrip(": "))
            value = lookup.bound(engine, frame, around, binding) if binding is not None else None
            is_class = value is not None and value.code and value.code.node.kind in CLASSES
            return value if is_class else None
    return None
