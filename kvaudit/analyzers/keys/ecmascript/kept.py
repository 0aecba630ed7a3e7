"""What is looked up and kept under a key in JavaScript: the uses of it that are seen in its file.

As in ``keys/kept.py``, a key is followed through local names and to the callers of the function
that returns it, where a cache is asked or filled and a model answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kvaudit.analyzers.keys.ecmascript.digests import NAMES
from kvaudit.analyzers.keys.entries import SAVES
from kvaudit.analyzers.keys.lookups import LOOKS_UP
from kvaudit.analyzers.keys.vocabulary import ANSWER
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS, function_around
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.core.doubt import Doubt

_READS = frozenset(("get", "has", "getItem", "match", "lookup", "fetch", "hget", "mget"))
_WRITES = frozenset(("set", "put", "setItem", "setex", "setEx", "store", "hset", "save"))
_MODELS = re.compile(
    r"(.*\.)?(completions\.(create|parse)|(messages|responses|embeddings)\.(create|parse)"
    r"|generate(Text|Object|Content)|streamText|embed(Many|Query|Documents|Content)"
    r"|(llm|model|chain|openai|anthropic|ai|client)\.(invoke|generate|complete|chat|call|embed|create))"
)
_ADDRESS = re.compile(
    r"/chat/completions|/v1/(messages|completions|embeddings|responses)|generateContent|api\.openai"
    r"|/api/(generate|chat|embed)|/embeddings|openrouter\.ai"
)
_STORE = re.compile(r"(\w+_)?(cache|caches|redis|kv|store|memo|lru|storage)(_\w+)?")
_TEXTS = ("template_string", "binary_expression")
_ROUNDS = 3


@dataclass(slots=True)
class Kept:
    """What was seen of a key."""

    asked: bool = False
    made_here: bool = False
    """Something is kept that a function of the file makes, and is not given."""
    named: bool = False
    """What is kept comes from the caller, who calls it an answer."""
    answers: list[tuple[Node, Node]] = field(default_factory=list)
    """Functions, and the calls in them of which the answer is kept under the key."""


def kept_under(module: Module, call: Node) -> Kept:
    """Return what is seen to be asked and filled under a digest."""
    kept = Kept()
    todo, seen = [call], set[int]()
    while todo and len(seen) < _ROUNDS:
        key = todo.pop()
        around = function_around(key)
        if around is None or around.start in seen:
            continue
        seen.add(around.start)
        names = _names_of_key(module, key, around)
        _enter(module, around, key, names, kept)
        if any(_holds(module, one, key, names) for one in module.returned(around)):
            todo += _callers(module, around)
    return kept


def _names_of_key(module: Module, key: Node, around: Node) -> set[str]:
    names: set[str] = set()
    for _ in range(_ROUNDS):
        for node in around.walk():
            value = node.get("value") if node.kind == "variable_declarator" else None
            name = node.get("name")
            if value is None or name is None or name.kind != "identifier":
                continue
            if value.kind not in FUNCTIONS and _holds(module, value, key, names):
                names.add(module.text(name))
    return names


def _holds(module: Module, value: Node, key: Node, names: set[str]) -> bool:
    """Whether a value holds the key, and is not what was found under it.

    Written once for asking and once for filling, a text is the same key.
    """
    written = module.text(key) if key.kind in _TEXTS else None
    stack = [value]
    while stack:
        node = stack.pop()
        if node is key or (node.kind == key.kind and module.text(node) == written):
            return True
        if node.kind in NAMES and module.text(node) in names:
            return True
        if node.kind == "subscript_expression" or (
            node.kind == "call_expression" and _asks_cache(module, node)
        ):
            continue
        stack += node.kids
    return False


def _method(module: Module, node: Node) -> str:
    function = node.get("function") if node.kind == "call_expression" else None
    name = function.get("property") if function is not None else None
    return module.text(name) if name is not None else ""


def _called(module: Module, call: Node) -> str:
    """Return the last name of what is called: ``get_cached`` of ``this.store.getCached(...)``."""
    return snake_case(module.dotted(call.get("function")).rpartition(".")[2])


def _asks_cache(module: Module, node: Node) -> bool:
    """Whether a call gives what is kept under its first argument."""
    looks_up = LOOKS_UP.fullmatch(_called(module, node)) is not None
    return looks_up or _method(module, node) in _READS


def _fills_cache(module: Module, node: Node) -> bool:
    saves = SAVES.fullmatch(_called(module, node)) is not None
    return saves or _method(module, node) in _WRITES


def asked_with(module: Module, call: Node) -> Node | None:
    """Return what a cache is asked with; None where a call asks none."""
    arguments = call.get("arguments")
    if arguments is None or not arguments.kids:
        return None
    asks = _asks_store(module, call) or LOOKS_UP.fullmatch(_called(module, call)) is not None
    return arguments.kids[0] if asks else None


def _enter(module: Module, around: Node, key: Node, names: set[str], kept: Kept) -> None:
    for node in around.walk():
        arguments = node.get("arguments") if node.kind == "call_expression" else None
        given = arguments.kids if arguments is not None else []
        if given and _holds(module, given[0], key, names):
            kept.asked |= _asks_cache(module, node)
            if _fills_cache(module, node) and len(given) > 1:
                kept.asked = True
                _fill(module, around, given[1], kept)
        elif node.kind == "subscript_expression":
            index = node.get("index")
            if index is None or not _holds(module, index, key, names):
                continue
            kept.asked = True
            written = node.parent
            if written is not None and written.get("left") is node:
                value = written.get("right")
                if value is not None:
                    _fill(module, around, value, kept)


def _fill(module: Module, around: Node, value: Node, kept: Kept) -> None:
    """Note a value that is kept, and the answers in it."""
    answers = list(_answers(module, value))
    kept.answers += ((around, one) for one in answers)
    names = [node for node in value.walk() if node.kind in NAMES]
    bound = [module.resolve(node, module.text(node)) for node in names]
    params = [one for one in bound if one is not None and one.kind == "param"]
    kept.made_here |= not params
    kept.named |= any(
        ANSWER.fullmatch(snake_case(module.text(node)))
        for node, one in zip(names, bound, strict=True)
        if one in params
    )


def _answers(module: Module, value: Node) -> Iterator[Node]:
    """Yield the calls of models that a value is made of, through local names and functions."""
    todo, seen = [value], set[int]()  # each once: names given each other make ways without end
    while todo:
        for node in todo.pop().walk():
            if node.kind == "call_expression" and _asks(module, node):
                yield node
            elif node.kind == "identifier":
                made = [one for one in _given_to(module, node) if one.start not in seen]
                seen.update(one.start for one in made)
                todo += made


def _given_to(module: Module, name: Node) -> Iterator[Node]:
    """Yield what a name is given, where it is declared and later, but for functions."""
    bound = module.resolve(name, module.text(name))
    if bound is None:
        return
    declared = bound.node.get("value") if bound.kind == "variable" else None
    for one in (declared, *(write.get("right") for write in bound.writes)):
        if one is not None and one.kind not in FUNCTIONS:
            yield one


def _asks(module: Module, call: Node, depth: int = 2) -> bool:
    name = module.dotted(call.get("function"))
    if _MODELS.fullmatch(name):
        return True
    around = function_around(call)
    if name.endswith(("fetch", "axios.post")) and around is not None:
        return _ADDRESS.search(module.text(around)) is not None
    bound = module.resolve(call, name) if depth and name.isidentifier() else None
    made = bound.node if bound is not None else None
    made = made.get("value") if made is not None and made.kind == "variable_declarator" else made
    if made is None or made.kind not in FUNCTIONS:
        return False
    return any(
        _asks(module, inner, depth - 1) for inner in made.walk() if inner.kind == "call_expression"
    )


def shown_in(module: Module) -> Iterator[Doubt]:
    """Yield the links that a file shows for any key, as ``keys/shown.py`` does in Python."""
    if any(_asks_store(module, call) for call in module.calls):
        yield Doubt.NO_CACHE
    if any(_asks(module, call) for call in module.calls):
        yield Doubt.NO_ANSWER


def _asks_store(module: Module, call: Node) -> bool:
    store, _, method = module.dotted(call.get("function")).rpartition(".")
    name = snake_case(store.rpartition(".")[2])
    return method in _READS and _STORE.fullmatch(name) is not None


def _callers(module: Module, function: Node) -> list[Node]:
    named = function.get("name")
    if named is None and function.parent is not None:
        named = function.parent.get("name")
    if named is None:
        return []
    name = module.text(named)
    return [
        call
        for call in module.calls
        if module.dotted(call.get("function")) in (name, f"this.{name}")
        and function_around(call) is not function
    ]
