"""The keys of answers that a JavaScript or TypeScript file builds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvaudit.analyzers.keys.ecmascript import is_key
from kvaudit.analyzers.keys.sourced.ecmascript_flow import Flow
from kvaudit.analyzers.keys.sourced.fields import is_called_a_key, is_of_a_question, whole_calls
from kvaudit.analyzers.keys.sourced.reference import BuiltKey
from kvaudit.analyzers.keys.vocabulary import PLAIN_KEY, PROMPT, TEXT
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.ecmascript.module import Module, module_of
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS, function_around
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.core.sources import Source

_NAMING = frozenset((
    "variable_declarator", "pair", "assignment_expression", "public_field_definition",
    "field_definition",
))  # fmt: skip


def built_keys(source: Source) -> list[BuiltKey]:
    """Return the keys that a file builds, in its order. Raises `Unreadable`."""
    module = module_of(source)
    flow = Flow(module)
    found = []
    for at, name, exprs in _keys(module):
        references = whole_calls(flow.into(exprs))
        if is_of_a_question(references):
            line = source.place(at.start).line
            found.append(BuiltKey(source=source, line=line, function=name, references=references))
    return sorted(found, key=lambda one: one.line)


def _keys(module: Module) -> Iterator[tuple[Node, str, Sequence[Node]]]:
    """Yield what each key is made of, where it stands, and the function it stands in."""
    makers = {function: name for function in module.functions if (name := _maker(module, function))}
    for function, name in makers.items():
        yield function, name, module.returned(function)
    for call in module.calls:
        around = function_around(call)
        if around in makers or not is_key(module, call):
            continue
        held = next(
            (
                node
                for node in call.ancestors()
                if node.kind == "variable_declarator" and node.get("value") is not None
            ),
            None,
        )
        value = held.get("value") if held is not None else None
        name = _name(module, around) if around is not None else ""
        yield call, name, [call if value is None or value.kind in FUNCTIONS else value]


def _maker(module: Module, function: Node) -> str:
    """Return the name of a function that returns a key of what a model is asked; else nothing."""
    name = snake_case(_name(module, function))
    if not is_called_a_key(name):
        return ""
    returned = module.returned(function)
    spoken = {snake_case(module.text(node)) for node in function.walk() if not node.kids}
    topic = TEXT if PLAIN_KEY.fullmatch(name) else PROMPT
    if not returned or not any(topic.fullmatch(word) for word in spoken):
        return ""
    return _name(module, function)


def _name(module: Module, function: Node) -> str:
    around = function.parent
    named = function.get("name")
    if named is None and around is not None:
        # What is inside of a key's value is no key: the functions of its loops, say.
        named = around.get("name", "key", "left") if around.kind in _NAMING else None
    return "" if named is None else module.text(named).rsplit(".", 1)[-1].strip("\"'")
