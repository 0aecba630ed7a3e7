"""Look-ups of one's own in JavaScript and TypeScript, held to what ``own_lookups`` asks in Python.

A function embeds a question, searches a store with it and compares a score with a limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from kvaudit.analyzers.keys.ecmascript.digests import NAMES, words_in
from kvaudit.analyzers.keys.ecmascript.seen import seen_at, short
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.semantic.lookup_lacks import lacks_of_limit, lacks_of_search
from kvaudit.analyzers.semantic.lookup_words import (
    BEST,
    CACHE,
    EMBEDS,
    FOUND_ANSWER,
    LOOKS_NEAR,
    SCORE,
    SEARCHES,
    THRESHOLD,
)
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.syntax import CLASSES, own_nodes
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.core.document import Observation

_COMPARES = frozenset(("<", "<=", ">", ">="))


def lookup_faults(module: Module) -> Iterator[Observation]:
    """Yield what the look-ups of a file leave out."""
    for function in module.functions:
        nodes = list(own_nodes(function))
        search = next((node for node in nodes if _is_search(module, node)), None)
        compared = next((node for node in nodes if _compares(module, node)), None)
        if search is None or compared is None or not _is_lookup(module, function, nodes):
            continue
        around = _class(function) or function
        words, given = _names(module, around), _names(module, search)
        asked = module.dotted(search.get("function"))
        of_object = asked.startswith("this.")
        given_to_it = of_object and not _is_made_in(module, around, asked.split(".")[1])
        for lack in lacks_of_search(
            short(module, search),
            given,
            words,
            of_object=of_object,
            from_outside=given_to_it,
        ):
            yield replace(seen_at(module, search, lack.kind, lack.detail), unseen=lack.unseen)
        what, names = short(module, compared), _names(module, compared)
        for lack in lacks_of_limit(what, names, words, module.text(around)):
            found = seen_at(module, compared, lack.kind, lack.detail)
            yield replace(found, unseen=lack.unseen)


def _is_made_in(module: Module, around: Node, name: str) -> bool:
    """Whether a class makes what it keeps under a name: ``this.store = new Store()``."""
    named = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    return re.search(rf"{named}[^;\n]*=\s*new\b", module.text(around)) is not None


def _is_search(module: Module, node: Node) -> bool:
    function = node.get("function") if node.kind == "call_expression" else None
    name = function.get("property") if function is not None else None
    arguments = node.get("arguments")
    if name is None or arguments is None or snake_case(module.text(name)) not in SEARCHES:
        return False
    return any(
        EMBEDS.fullmatch(word) for given in arguments.kids for word in words_in(module, given)
    )


def _compares(module: Module, node: Node) -> bool:
    left, right = node.get("left"), node.get("right")
    if node.kind != "binary_expression" or left is None or right is None:
        return False
    sign = module.text(node)[left.end - node.start : right.start - node.start].strip()
    names = _names(module, node)
    is_limit = any(map(THRESHOLD.fullmatch, names))
    is_score = any(map(SCORE.fullmatch, names)) and not any(map(BEST.fullmatch, names))
    return sign in _COMPARES and (is_limit or is_score)


def _names(module: Module, root: Node) -> set[str]:
    """Return the names and the short texts in a node, in snake case."""
    found = {snake_case(module.text(n)) for n in root.walk() if n.kind in NAMES}
    return found | {snake_case(module.string(n)) for n in root.walk() if n.kind == "string"}


def _is_lookup(module: Module, function: Node, nodes: list[Node]) -> bool:
    """Whether a function or its class is called a cache's, or gives a stored answer."""
    about = {word for word in (_name(module, function), _name(module, _class(function))) if word}
    properties = {snake_case(module.text(n)) for n in nodes if n.kind == "property_identifier"}
    gives_answer = any(FOUND_ANSWER.fullmatch(word) for word in properties)
    if any("semantic" in word for word in about):
        return True
    if any(CACHE.fullmatch(word) for word in about):
        return gives_answer or any("cached" in word for word in properties)
    return gives_answer and any(LOOKS_NEAR.fullmatch(word) for word in about)


def _class(node: Node) -> Node | None:
    return node.above(*CLASSES)


def _name(module: Module, node: Node | None) -> str:
    """Return the name of a function or class, also by the variable that holds it."""
    named = node.get("name") if node is not None else None
    if named is None and node is not None and node.parent is not None:
        named = node.parent.get("name") or node.parent.get("key")
    return snake_case(module.text(named)) if named is not None else ""
