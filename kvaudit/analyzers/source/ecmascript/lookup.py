"""What a name, a parameter or a member stands for."""

from __future__ import annotations

from dataclasses import replace

from kvaudit.analyzers.source.ecmascript import evaluate as values
from kvaudit.analyzers.source.ecmascript import members, pieces
from kvaudit.analyzers.source.ecmascript.bindings import Binding
from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.syntax import CLASSES, FUNCTIONS, LOOPS, function_around
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import (
    NOTHING,
    Code,
    Shape,
    Value,
    all_hazards,
    changed,
    kept,
)
from kvaudit.analyzers.source.ecmascript.writes import applied, written
from kvaudit.analyzers.source.parts import Part
from kvaudit.core.document import Evidence, Origin

_SAYS_NOTHING = frozenset((
    "input", "str", "s", "text", "value", "template", "content", "data", "source", "raw",
))  # fmt: skip
"""Names of parameters that say less than what a caller passes."""
_MODEL_CALLS = frozenset((
    "create", "generateText", "streamText", "generateObject", "streamObject", "invoke",
    "stream", "complete", "chat", "completion", "createMessage", "sendMessage",
    "generateContent", "completions", "messages", "respond", "callModel", "callLLM", "run",
))  # fmt: skip


def name(engine: Engine, frame: Frame, node: Node) -> Value:
    """Return what an identifier stands for."""
    text = frame.module.text(node)
    binding = frame.module.resolve(node, text)
    if binding is None:
        return pieces.unknown(engine, frame, node, text)
    return bound(engine, frame, node, binding)


def bound(engine: Engine, frame: Frame, node: Node, binding: Binding) -> Value:
    """Return what a binding stands for where it is used."""
    if binding.kind in ("function", "class"):
        return Value(code=Code(frame.module, binding.node, frame), shape=Shape.CODE)
    if binding.kind == "import":
        return _imported(engine, frame, node, binding)
    if binding.kind == "param":
        return _param(engine, frame, node, binding)
    if binding.kind == "each":
        return _element(engine, frame, node, binding)
    if binding.kind == "counter":
        return _counted(engine, frame, node, binding)
    return _variable(engine, frame, node, binding)


def _imported(engine: Engine, frame: Frame, node: Node, binding: Binding) -> Value:
    link = frame.module.imports[binding]
    other = engine.file(frame.module, link.path)
    if other is not None and link.name is not None:
        found = engine.exported(other, link.name)
        if found is not None:
            return declared(engine, *found)
    return pieces.unknown(engine, frame, node, binding.name)


def declared(engine: Engine, module: Module, node: Node) -> Value:
    """Return what is exported from a file: a name's value, or an expression's."""
    frame = engine.root(module)
    if node.kind in FUNCTIONS or node.kind in CLASSES:
        return Value(code=Code(module, node, frame), shape=Shape.CODE)
    if node.kind in ("identifier", "type_identifier"):
        binding = module.resolve(module.root, module.text(node))
        return NOTHING if binding is None else bound(engine, frame, module.root, binding)
    return values.evaluate(engine, node, frame)


def _param(engine: Engine, frame: Frame, node: Node, binding: Binding) -> Value:
    holder = frame.of(binding.scope)
    value = holder.args.get(binding.name) if holder is not None else None
    guess = pieces.unknown(engine, frame, node, binding.name)
    if value is not None and value is not NOTHING:
        # A caller's value of which nothing is known says less than the parameter's own name.
        sole = value.sole
        if sole is None or sole.origin is not Origin.UNKNOWN or binding.name in _SAYS_NOTHING:
            return written(engine, frame, node, binding, value)
    if binding.default is not None:
        default = values.evaluate(engine, binding.default, frame)
        if default.printed or default.code:
            return written(engine, frame, node, binding, default)
    return written(engine, frame, node, binding, guess)


def _element(engine: Engine, frame: Frame, node: Node, binding: Binding) -> Value:
    turn = engine.turns.get(binding.node)
    if turn is not None:
        return members.taken(engine, frame, node, turn, binding.path)
    right = binding.node.get("right")
    rows = values.evaluate(engine, right, frame) if right is not None else NOTHING
    hazards = tuple(all_hazards(rows, 1))
    listed = [item for item in rows.items or () if item.printed and not item.spread]
    if listed:
        each = [members.taken(engine, frame, node, item, binding.path) for item in listed[:20]]
        return replace(values.richest(each), hazards=hazards)
    guess = pieces.unknown(engine, frame, node, binding.name)
    return replace(guess, hazards=hazards)


def _counted(engine: Engine, frame: Frame, node: Node, binding: Binding) -> Value:
    if binding.node.kind in LOOPS and asks_model(frame.module, binding.node):
        return pieces.arisen(frame, node, Origin.COUNTER, "counts the steps")
    return pieces.constant(frame, node)


def asks_model(module: Module, loop: Node) -> bool:
    """Whether a model is called in a loop."""
    return any(
        n.kind == "call_expression"
        and module.dotted(n.get("function")).rsplit(".", 1)[-1] in _MODEL_CALLS
        for n in loop.walk()
    )


def _variable(engine: Engine, frame: Frame, node: Node, binding: Binding) -> Value:
    owner = function_around(binding.node)
    home = (
        engine.root(frame.module)
        if owner is None
        else frame.of(owner) or Frame(frame.module, owner, depth=frame.depth)
    )
    so_far = engine.folding.get((binding, home))
    if so_far is not None:
        return so_far
    writes = _before(binding, node, owner)
    key = (binding, home, len(writes))
    value = engine.known.get(key)
    if value is None:
        engine.folding[binding, home] = NOTHING
        value = _folded(engine, home, binding, writes)
        del engine.folding[binding, home]
        if owner is None and not frame.module.is_script:
            value = kept(value, at_import=not _is_lazy(binding, writes))
        drawn = any(part.origin is Origin.RANDOM for part in value.parts)
        if drawn and _is_key(frame.module, binding):
            value = changed(value, _of_an_entry)
        engine.known[key] = value
    engine.touched.add(binding.node)
    if value is NOTHING or not (
        value.printed or value.code or value.fields is not None or value.items is not None
    ):
        return pieces.unknown(engine, frame, node, binding.name)
    sole = value.sole
    if sole is not None and sole.origin is Origin.UNKNOWN and sole.evidence is Evidence.NAME:
        # What a function makes of something says less than what its result is called.
        guess = pieces.unknown(engine, frame, node, binding.name)
        return replace(guess, hazards=value.hazards)
    return value


def _is_key(module: Module, binding: Binding) -> bool:
    """Whether something is kept under a name: ``kept[id] = ...``, to be found by it again."""
    return any(
        module.text(key) == binding.name and module.resolve(key, binding.name) is binding
        for key in module.keys
    )


def _of_an_entry(part: Part) -> Part:
    """Return a drawn value that something is kept under: a mark to be replaced, or an old id."""
    return replace(part, evidence=Evidence.NAME) if part.origin is Origin.RANDOM else part


def _is_lazy(binding: Binding, writes: list[Node]) -> bool:
    """Whether a name of the file is given its value later, by a function."""
    return any(function_around(write) is not None for write in writes)


def _before(binding: Binding, node: Node, owner: Node | None) -> list[Node]:
    """Return the writes that a use of a name sees: those above it, or in other functions."""
    if function_around(node) is not owner:
        return binding.writes
    return [w for w in binding.writes if w.end <= node.start or function_around(w) is not owner]


def _folded(engine: Engine, frame: Frame, binding: Binding, writes: list[Node]) -> Value:
    value = NOTHING
    first = binding.node.get("value")
    if first is not None:
        value = values.evaluate(engine, first, frame)
        if binding.path or binding.default is not None:
            value = members.taken(engine, frame, binding.node, value, binding.path, binding)
    return applied(engine, frame, binding, writes, value)
