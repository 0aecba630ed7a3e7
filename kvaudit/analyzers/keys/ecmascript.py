"""Cache keys in JavaScript and TypeScript: what is hashed, against what the file sends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from kvaudit.analyzers.keys.vocabulary import (
    CONTEXT,
    FIXED_LENGTH,
    FREE_TEXT,
    KEY_NAME,
    MODEL,
    NOT_KEYS,
    PARAMETERS,
    PROMPT,
    VOLATILE_NAME,
    WHOLE,
)
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.ecmascript.module import Module, module_of
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.core.document import Document, Observation
from kvaudit.core.sources import Source

_HASHES = re.compile(
    r"(\w+\.)*(createHash(\.update)*|hash|sha1|sha256|sha512|md5|xxhash\w*|xxh\w+|murmur\w*"
    r"|objectHash|hashObject|stableHash)(\.update)*"
)
_ASKS = re.compile(
    r"(.*\.)?(create|generate(Text|Object|Content)?|stream(Text|Object)?|complete|completion|invoke"
    r"|chat|api|fetch\w*|call\w*|send\w*|ask\w*|request)"
)
_VOLATILE = re.compile(
    r"(Date\.now|performance\.now|crypto\.randomUUID|randomUUID|uuid(v4|v7)?|v4|nanoid|Math\.random)"
)
_NAMES = frozenset((
    "identifier", "property_identifier", "shorthand_property_identifier",
    "shorthand_property_identifier_pattern",
))  # fmt: skip
_LITERAL = frozenset(("string", "number", "true", "false", "null", "undefined"))
_WHOLE = WHOLE - {"fields", "data"}
_CUT = frozenset(("slice", "substring", "substr"))
_SHORT_CHARACTERS, _TINY_CHARACTERS = 16, 8


def key_documents(source: Source, kind: str) -> list[Document]:
    """Return a document for each key of prompts that something is to be said of."""
    module = module_of(source)
    made = []
    for call in module.calls:
        if not is_key(module, call):
            continue
        fed = _fed(call)
        found = [*_forms(module, call, fed), *_missing(module, call, fed)]
        if found:
            made.append(
                Document(source=source, kind=kind, name=_owner(module, call), observations=found)
            )
    return made


def is_key(module: Module, call: Node) -> bool:
    """Whether a call hashes what a model is asked, and is called a key."""
    if not _HASHES.fullmatch(module.dotted(call.get("function"))) or not _fed(call):
        return False
    if call.parent is not None and _HASHES.fullmatch(_dotted_of_chain(module, call)):
        return False
    names = {snake_case(name) for name in names_of(module, call)}
    if not any(KEY_NAME.fullmatch(n) for n in names) or any(NOT_KEYS.fullmatch(n) for n in names):
        return False
    words = _words(module, call)
    return any(PROMPT.fullmatch(word) for word in words)


def _dotted_of_chain(module: Module, call: Node) -> str:
    """Return the name of the call that goes on with this one, such as a second ``update``."""
    member = call.parent
    above = member.parent if member is not None and member.kind == "member_expression" else None
    return module.dotted(above.get("function")) if above is not None else ""


def _fed(call: Node) -> list[Node]:
    """Return the arguments of a digest, those of ``update`` in its chain before the others."""
    found: list[Node] = []
    node: Node | None = call
    while node is not None and node.kind == "call_expression":
        function = node.get("function")
        given = node.get("arguments")
        name = function.get("property") if function is not None else None
        if given is not None and not (name is None and function is not None and node is not call):
            found = [kid for kid in given.kids if kid.kind != "comment"] + found
        node = function.get("object") if function is not None else None
    return [arg for arg in found if arg.kind != "string"]


def names_of(module: Module, node: Node) -> Iterator[str]:
    """Yield the names that a value goes by: variables and functions around it."""
    for around in node.ancestors():
        name = around.get("name") if around.kind in (*FUNCTIONS, "variable_declarator") else None
        if name is not None:
            yield module.text(name)
        elif around.kind == "pair" and (key := around.get("key")) is not None:
            yield module.text(key).strip("\"'")


def _owner(module: Module, node: Node) -> str:
    return next(names_of(module, node), module.source.path)


def _words(module: Module, root: Node, depth: int = 2) -> set[str]:
    """Return the names in an expression, and in what local names in it were given."""
    found: set[str] = set()
    for node in root.walk():
        if node.kind not in _NAMES:
            continue
        found.add(snake_case(module.text(node)))
        bound = module.resolve(node, module.text(node)) if depth else None
        given = bound.node.get("value") if bound is not None and bound.kind == "variable" else None
        if given is not None and given.kind not in FUNCTIONS and root.start != given.start:
            found |= _words(module, given, depth - 1)
    return found


def _given(module: Module, node: Node) -> Node:
    """Return what a local name was given, or the node itself."""
    bound = module.resolve(node, module.text(node)) if node.kind == "identifier" else None
    value = bound.node.get("value") if bound is not None and bound.kind == "variable" else None
    return node if value is None or value.kind in FUNCTIONS else value


def _seen(
    module: Module, node: Node, kind: str, detail: str, *, graver: bool = False
) -> Observation:
    return Observation(
        kind=kind, source=module.source, span=node.span, detail=detail, graver=graver
    )


def _short(module: Module, node: Node) -> str:
    flat = " ".join(module.text(node).split())
    return flat if len(flat) <= 60 else f"{flat[:59]}…"


def _forms(module: Module, call: Node, fed: list[Node]) -> Iterator[Observation]:
    for root in (_given(module, one) for one in fed):
        why = _ambiguity(module, root)
        if why:
            yield _seen(module, root, "ambiguous-join", f"{_short(module, root)} {why}")
        for node in root.walk():
            called = module.dotted(node.get("function", "constructor"))
            if node.kind == "call_expression" and _VOLATILE.fullmatch(called):
                yield _seen(
                    module,
                    node,
                    "volatile-key",
                    f"{_short(module, node)} differs with every request",
                )
            elif (
                node.kind in _NAMES
                and not _is_called(node)
                and VOLATILE_NAME.fullmatch(snake_case(module.text(node)))
            ):
                yield _seen(
                    module,
                    node,
                    "volatile-key",
                    f"{_short(module, node)} is another with every request",
                )
            elif node.kind == "call_expression" and called.endswith(("toLowerCase", "toUpperCase")):
                yield _seen(
                    module,
                    node,
                    "folded-key",
                    f"{_short(module, node)} makes prompts equal that ask for different things",
                )
    yield from _cut(module, call)


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
        given = around.get("arguments")
        numbers = [module.text(kid) for kid in given.kids] if given is not None else []
        if len(numbers) == 2 and numbers[0] == "0" and numbers[1].isdigit():
            kept = int(numbers[1])
            if kept < _SHORT_CHARACTERS:
                yield _seen(
                    module,
                    around,
                    "short-digest",
                    f"{_short(module, around)} keeps {kept * 4} bits, if it is hexadecimal",
                    graver=kept < _TINY_CHARACTERS,
                )
            return


def _ambiguity(module: Module, root: Node) -> str | None:
    if root.kind == "template_string":
        holes = [kid for kid in root.kids if kid.kind == "template_substitution"]
        touching = any(
            one.end == other.start and _may_be_text(module, one) and _may_be_text(module, other)
            for one, other in pairwise(holes)
        )
        parts = holes
    elif root.kind == "binary_expression" and "+" in module.text(root):
        parts = _sum(root)
        touching = any(
            _may_be_text(module, one) and _may_be_text(module, other)
            for one, other in pairwise(parts)
        )
    else:
        return None
    if touching:
        return "joins them with nothing between them"
    if sum(FREE_TEXT.fullmatch(_label(module, part)) is not None for part in parts) > 1:
        return "joins free texts with a separator that they may hold themselves"
    return None


def _sum(root: Node) -> list[Node]:
    if root.kind != "binary_expression":
        return [root]
    left, right = root.get("left"), root.get("right")
    return [*(_sum(left) if left else []), *([right] if right else [])]


def _label(module: Module, node: Node) -> str:
    names = [inner for inner in node.walk() if inner.kind in _NAMES]
    return snake_case(module.text(names[-1])) if names else ""


def _may_be_text(module: Module, node: Node) -> bool:
    return node.kind not in _LITERAL and not FIXED_LENGTH.fullmatch(_label(module, node))


def _missing(module: Module, call: Node, fed: list[Node]) -> Iterator[Observation]:
    """Yield what the file sends to a model beside what it hashes."""
    known = set().union(*(_words(module, root) for root in fed))
    place = fed[0]
    system = _added_system(module, known)
    if system is not None:
        yield _seen(
            module,
            place,
            "key-without-context",
            f"{_short(module, system)} is put before the messages, and is not in the key",
        )
    if known & _WHOLE:
        return
    given = _sent(module, call)
    kinds = {
        "key-without-model": [n for n in given if n == "model" and not _any(MODEL, known)],
        "key-without-parameters": [n for n in given if _lacks(n, PARAMETERS, known)],
        "key-without-context": [n for n in given if _lacks(n, CONTEXT, known)],
    }
    for kind, names in kinds.items():
        if names:
            listed = ", ".join(given[name] for name in names)
            verb = "reaches" if len(names) == 1 else "reach"
            yield _seen(
                module, place, kind, f"{listed} {verb} the model and not the key, "
                f"{_short(module, place)}"
            )  # fmt: skip


def _any(pattern: re.Pattern[str], words: set[str]) -> bool:
    return any(pattern.fullmatch(word) for word in words)


def _lacks(name: str, table: dict[str, re.Pattern[str]], known: set[str]) -> bool:
    if "messages" in known and name in ("system", "history"):
        return False
    return any(field.fullmatch(name) and not _any(field, known) for field in table.values())


def _sent(module: Module, call: Node) -> dict[str, str]:
    """Return the fields of the bodies that the file sends to a model, by name in snake case."""
    found: dict[str, str] = {}
    for body in module.objects:
        arguments = body.parent
        if arguments is None or arguments.kind != "arguments" or arguments.parent is None:
            continue
        sender = module.dotted(arguments.parent.get("function"))
        if arguments.parent is call or not _ASKS.fullmatch(sender):
            continue
        fields = {module.text(key): pair for pair in body.kids if (key := _key(pair)) is not None}
        if not ({"messages", "prompt", "tools", "model", "input"} & set(fields)):
            continue
        for name, pair in fields.items():
            value = pair.get("value")
            if value is None or value.kind not in _LITERAL:
                found.setdefault(snake_case(name), name)
    return found


def _key(pair: Node) -> Node | None:
    if pair.kind == "pair":
        return pair.get("key")
    return pair if pair.kind == "shorthand_property_identifier" else None


def _added_system(module: Module, known: set[str]) -> Node | None:
    """Return a system text that the file puts before messages that are hashed without it."""
    if "messages" not in known or any(_any(CONTEXT["system prompt"], {word}) for word in known):
        return None
    for body in module.objects:
        if body.parent is None or body.parent.kind != "array":
            continue
        fields = {module.text(key): pair for pair in body.kids if (key := _key(pair)) is not None}
        role, content = fields.get("role"), fields.get("content")
        if role is None or content is None or module.string(role.get("value")) != "system":
            continue
        value = content.get("value") or content
        spread = any(
            "messages" in module.text(kid)
            for kid in body.parent.kids
            if kid.kind == "spread_element"
        )
        if spread and value.kind not in _LITERAL:
            return value
    return None
