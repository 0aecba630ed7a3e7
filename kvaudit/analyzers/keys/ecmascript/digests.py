"""Where JavaScript and TypeScript make a digest that is a key, and what is fed into it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from kvaudit.analyzers.keys.vocabulary import ABOUT_MODELS, KEY_NAME, NOT_KEYS, PROMPT, WHOLE
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS
from kvaudit.analyzers.source.ecmascript.tree import Node

_HASHES = re.compile(
    r"(\w+\.)*(createHash(\.update)*|hash|sha1|sha256|sha512|md5|xxhash\w*|xxh\w+|murmur\w*"
    r"|objectHash|hashObject|stableHash|subtle\.digest)(\.update)*"
)
_ENCODES = re.compile(r"(.*\.)?(encode|from|TextEncoder)")
"""Text to bytes: ``new TextEncoder().encode(text)``, ``Buffer.from(text)``."""
NAMES = frozenset((
    "identifier", "property_identifier", "shorthand_property_identifier",
    "shorthand_property_identifier_pattern",
))  # fmt: skip
_ABOUT = 3
"""So often must a file speak of models before what it hashes is taken for what they are asked."""


def is_digest(module: Module, call: Node) -> bool:
    """Whether a call hashes something, and is the last of its chain that is given anything."""
    if not _HASHES.fullmatch(module.dotted(call.get("function"))) or not fed_into(call):
        return False
    return call.parent is None or not _HASHES.fullmatch(_dotted_of_chain(module, call))


def is_key(module: Module, call: Node) -> bool:
    """Whether a call hashes what a model is asked, and is called a key."""
    if not is_digest(module, call):
        return False
    names = {snake_case(name) for name in names_of(module, call)}
    if not any(KEY_NAME.fullmatch(n) for n in names) or any(NOT_KEYS.fullmatch(n) for n in names):
        return False
    words = words_in(module, call)
    if any(PROMPT.fullmatch(word) for word in words):
        return True
    spread = any(is_rest(module, one) for fed in fed_into(call) for one in fed.walk())
    whole = words & WHOLE and any("cache" in name for name in names)
    spoken = islice(ABOUT_MODELS.finditer(module.source.text), _ABOUT)
    return bool(spread or whole) and sum(1 for _ in spoken) == _ABOUT


def is_rest(module: Module, node: Node) -> bool:
    """Whether a name is that of all arguments: ``(...texts) =>``."""
    if node.kind != "identifier":
        return False
    bound = module.resolve(node, module.text(node))
    if bound is None or bound.kind != "param":
        return False
    return any(inner.kind == "rest_pattern" for inner in bound.node.walk())


def _dotted_of_chain(module: Module, call: Node) -> str:
    """Return the name of the call that goes on with this one, such as a second ``update``."""
    member = call.parent
    above = member.parent if member is not None and member.kind == "member_expression" else None
    return module.dotted(above.get("function")) if above is not None else ""


def fed_into(call: Node) -> list[Node]:
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
    texts = [arg for arg in found if arg.kind != "string"]
    # An object beside something else says how it is hashed; one alone is what is hashed.
    return [arg for arg in texts if arg.kind != "object"] or texts


def names_of(module: Module, node: Node) -> Iterator[str]:
    """Yield the names that a value goes by: variables and functions around it."""
    for around in node.ancestors():
        name = around.get("name") if around.kind in (*FUNCTIONS, "variable_declarator") else None
        if name is not None:
            yield module.text(name)
        elif around.kind == "pair" and (key := around.get("key")) is not None:
            yield module.text(key).strip("\"'")


def words_in(module: Module, root: Node, depth: int = 2) -> set[str]:
    """Return the names in an expression, and in what local names in it were given."""
    found: set[str] = set()
    for node in root.walk():
        if node.kind not in NAMES:
            continue
        found.add(snake_case(module.text(node)))
        given = module.declared_as(node) if depth else None
        if given is not None and given.kind not in FUNCTIONS and root.start != given.start:
            found |= words_in(module, given, depth - 1)
    return found


def given(module: Module, node: Node) -> Node:
    """Return what a local name was given, or what is only turned to bytes, or the node itself."""
    for _ in range(4):
        called = module.dotted(node.get("function")) if node.kind == "call_expression" else ""
        arguments = node.get("arguments")
        if called and _ENCODES.fullmatch(called) and arguments is not None and arguments.kids:
            node = arguments.kids[0]
            continue
        value = module.declared_as(node) if node.kind == "identifier" else None
        if value is None or value.kind in FUNCTIONS:
            break
        node = value
    return node
