"""What a key in JavaScript is made of: a clock, folded text, few characters, no fixed order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kvaudit.analyzers.keys.ecmascript.digests import NAMES, given
from kvaudit.analyzers.keys.ecmascript.joins import ambiguity
from kvaudit.analyzers.keys.ecmascript.seen import seen_at, short
from kvaudit.analyzers.keys.strength import CUT_BITS
from kvaudit.analyzers.keys.vocabulary import FREE_TEXT, MAPPING, VOLATILE_NAME
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.core.document import Observation

_VOLATILE = re.compile(
    r"(Date\.now|performance\.now|crypto\.randomUUID|randomUUID|uuid(v4|v7)?|v4|nanoid|Math\.random)"
)
_CUT = frozenset(("slice", "substring", "substr"))
_SHORT_CHARACTERS, _TINY_CHARACTERS = 16, 8


def form_faults(module: Module, call: Node, fed: Sequence[Node]) -> Iterator[Observation]:
    """Yield what in a key differs for equal requests, or is equal for others."""
    for root in (given(module, one) for one in fed):
        why = ambiguity(module, root)
        if why:
            yield seen_at(module, root, "ambiguous-join", f"{short(module, root)} {why}")
        for node in root.walk():
            if node.kind == "call_expression":
                yield from _of_call(module, node)
            elif (
                node.kind in NAMES
                and not _is_called(node)
                and VOLATILE_NAME.fullmatch(snake_case(module.text(node)))
            ):
                yield seen_at(
                    module,
                    node,
                    "volatile-key",
                    f"{short(module, node)} is another with every request",
                )
    yield from _cut(module, call)


def _of_call(module: Module, node: Node) -> Iterator[Observation]:
    called = module.dotted(node.get("function"))
    if _VOLATILE.fullmatch(called):
        yield seen_at(
            module, node, "volatile-key", f"{short(module, node)} differs with every request"
        )
    elif called.endswith(("toLowerCase", "toUpperCase")):
        yield seen_at(
            module,
            node,
            "folded-key",
            f"{short(module, node)} makes prompts equal that ask for different things",
        )
    elif called.endswith(tuple(f".{cut}" for cut in _CUT)) and _is_beginning(module, node):
        yield seen_at(
            module,
            node,
            "folded-key",
            f"{short(module, node)} makes prompts equal that differ behind it",
        )
    elif called == "JSON.stringify" and _is_from_outside(module, node):
        yield seen_at(
            module,
            node,
            "unsorted-key-json",
            f"{short(module, node)} keeps the order in which keys were set",
        )


def _is_beginning(module: Module, node: Node) -> bool:
    """Whether a call gives the first characters of a text that is called a free one."""
    arguments, text = node.get("arguments"), called_on(module, node)
    if arguments is None or len(arguments.kids) != 2 or text is None:
        return False
    name = text.rpartition(".")[2]
    first, last = map(module.text, arguments.kids)
    is_first = first == "0" and last.replace("_", "a").isalnum()
    return is_first and FREE_TEXT.fullmatch(snake_case(name)) is not None


def called_on(module: Module, node: Node) -> str | None:
    """Return what a method is called on: ``prompt`` in ``prompt.slice(0, 100)``."""
    function = node.get("function")
    inner = function.get("object") if function is not None else None
    return module.text(inner) if inner is not None else None


def _is_from_outside(module: Module, node: Node) -> bool:
    """Whether JSON is of a whole mapping that somebody else made, with no list of its keys."""
    arguments = node.get("arguments")
    if arguments is None or len(arguments.kids) != 1 or arguments.kids[0].kind != "identifier":
        return False
    name = module.text(arguments.kids[0])
    bound = module.resolve(node, name)
    is_given = bound is not None and bound.kind == "param"
    return is_given and MAPPING.fullmatch(snake_case(name)) is not None


def _is_called(node: Node) -> bool:
    """Whether a name is that of a method that is called: ``now`` in ``Date.now()``."""
    member = node.parent
    call = member.parent if member is not None and member.kind == "member_expression" else None
    return call is not None and call.get("function") is member


def _cut(module: Module, call: Node) -> Iterator[Observation]:
    """Yield a digest of which a few characters are kept."""
    for around in call.ancestors():
        if around.kind in FUNCTIONS or around.kind.endswith("statement"):
            return
        function = around.get("function") if around.kind == "call_expression" else None
        name = function.get("property") if function is not None else None
        if name is None or module.text(name) not in _CUT:
            continue
        arguments = around.get("arguments")
        numbers = [module.text(kid) for kid in arguments.kids] if arguments is not None else []
        if len(numbers) == 2 and numbers[0] == "0" and numbers[1].isdigit():
            kept = int(numbers[1])
            if kept < _SHORT_CHARACTERS:
                yield seen_at(
                    module,
                    around,
                    "short-digest" if kept * 4 < CUT_BITS else "cut-digest",
                    f"{short(module, around)} keeps {kept * 4} bits, if it is hexadecimal",
                    graver=kept < _TINY_CHARACTERS,
                )
            return
