"""Functions that ask a cache first and a model else: what each of the two is given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvaudit.analyzers.keys.scopes import Scope, core, values_given, words
from kvaudit.analyzers.naming import snake_case

_STORE = re.compile(
    r"(\w+_)?(cache|caches|redis|rdb|memo|memcached?|valkey|kv_store|cached|lru|cache_(db|store|client)"
    r"|response_store|answers|hashing_kv|kv|store)|r|rc"
)
_HASHED = re.compile(r"(\w+_)?(cache|caches|memo|cached|answers)")
"""What may be a dictionary that is a cache."""
_STEPS = 2
"""Names that a found value goes through before it is returned."""
READS = frozenset((
    "get", "lookup", "aget", "alookup", "fetch", "get_cache", "async_get_cache", "get_by_id",
    "hgetall", "hget", "has_key", "exists", "get_item",
))  # fmt: skip
WRITES = frozenset((
    "set", "put", "aset", "setex", "set_cache", "update", "store", "aupdate", "upsert", "set_item",
))  # fmt: skip
LOOKS_UP = re.compile(
    r"_?(check|get|look_?up|read|load|fetch|query|find|try)_?(from_|in_)?(the_)?(\w+_)?cached?"
    r"(_(response|completion|result|answer|value|entry|output))?|_?cache_(get|lookup|check|fetch)"
)
"""What asks a cache by its name, wherever that is written."""
_ASKS = re.compile(
    r"(.*\.)?(\w*(client|llm|model|lm)\.(create(_stream)?|stream|acreate|call|acall)"
    r"|(use_)?(llm|model)_(func|fn|function|model_func)|converse(_stream)?|invoke_model"
    r"|(chat\.)?completions\.(create|parse)|(responses|messages|embeddings)\.create|a?completion"
    r"|generate(_content|_content_async|_text|_response|_answer)?|a?generate|a?invoke|_a?call"
    r"|call_(llm|model|api|openai|anthropic|claude|gpt)|(ask|query|prompt)_(llm|model|gpt|claude|ai)"
    r"|\w*(agent|llm|lm|chat_model)\.(classify|summari[sz]e|translate|extract|answer|respond|reply"
    r"|relevance|score|judge|grade|rate|rank|rerank|evaluate|a?run)"
    r"|complete|chat|converse|predict|embed(_query|_documents|_text)?)"
)
_CLIENT = re.compile(
    r"llm|model|client|openai|anthropic|agent|chain|completion|gen|chat|embed|ask|call|self|bedrock"
)


@dataclass(slots=True)
class Lookup:
    """A read of a cache."""

    node: ast.AST
    store: str
    """The store as its syntax tree is written."""
    keys: list[ast.expr]
    maker: Scope | None = None
    """The function that was called for it, and that makes the key of what it is given."""


Helpers = dict[str, list[tuple[Scope, str]]]
"""Functions by name that ask a cache for others, each with the store that it asks."""


def lookups_of(scope: Scope) -> list[Lookup]:
    """Return where a function asks a cache."""
    found = []
    for node in scope.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if isinstance(node.args[0], ast.Constant):
                continue  # a field of a mapping, and the name of a setting
            if node.func.attr in READS and _is_store(node.func.value, _STORE):
                found.append(Lookup(node, ast.dump(node.func.value), _keys(node)))
            elif LOOKS_UP.fullmatch(node.func.attr):
                found.append(Lookup(node, ast.dump(node.func), node.args[:1]))
            continue
        item = _item(node)
        if item is not None:
            found.append(Lookup(node, ast.dump(item[0]), [item[1]]))
    return found


def lookup_helpers(every: Sequence[Scope]) -> Helpers:
    """Return the functions that ask a cache for others: they read, and give what they found."""
    found: Helpers = {}
    for scope in every:
        asked = lookups_of(scope) if scope.name else []
        if (
            asked
            and not model_calls(scope, asked)
            and not _writes(scope, asked[0].store)
            and _gives_what_it_found(scope, asked[0])
        ):
            found.setdefault(scope.name, []).append((scope, asked[0].store))
    return found


def lookups_through(scope: Scope, helpers: Helpers) -> list[Lookup]:
    """Return where a function asks a cache through another function of the file."""
    found = []
    for call in scope.calls() if helpers else ():
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        for other, store in helpers.get(name, ()):
            keys = values_given(call)
            if other is not scope and keys and _is_ours(scope, call, other):
                found.append(Lookup(call, store, keys, other))
    return found


def _gives_what_it_found(scope: Scope, lookup: Lookup) -> bool:
    """Whether a function returns what it read, or a part of it."""
    held: set[str] = set()
    for _ in range(_STEPS):
        for name, values in scope.assigned.items():
            inside = {id(n) for value in values for n in ast.walk(value)}
            names = {n.id for value in values for n in ast.walk(value) if isinstance(n, ast.Name)}
            if id(lookup.node) in inside or names & held:
                held.add(name)
    given = [node for returned in scope.returned() for node in ast.walk(returned)]
    return any(node is lookup.node for node in given) or any(
        isinstance(node, ast.Name) and node.id in held for node in given
    )


def _writes(scope: Scope, store: str) -> bool:
    """Whether a function fills the store that it asks, and so makes itself what it did not find."""
    for node in scope.nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            filled = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            filled = node.func.value if node.func.attr in WRITES else node
        else:
            continue
        if ast.dump(filled) == store:
            return True
    return False


def _is_ours(scope: Scope, call: ast.Call, other: Scope) -> bool:
    """Whether a call may be of a function of the file: a plain one, or a method of one class."""
    if isinstance(call.func, ast.Name):
        return other.owner is None
    root = getattr(call.func, "value", None)
    own = isinstance(root, ast.Name) and root.id in ("self", "cls")
    return own and other.owner is not None and other.owner is scope.owner


def _item(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return the dictionary and the key of ``cache[key]`` and ``key in cache``."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        store, key = node.value, node.slice
    elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        store, key = node.comparators[0], node.left
    else:
        return None
    fixed = isinstance(key, ast.Slice | ast.Constant)
    return (store, key) if _is_store(store, _HASHED) and not fixed else None


def _keys(node: ast.Call) -> list[ast.expr]:
    """Return what of a read is key: of ``lookup(prompt, settings)`` all, of ``get`` the first."""
    assert isinstance(node.func, ast.Attribute)
    rest = [*node.args[1:], *(word.value for word in node.keywords)]
    # A mapping is asked with a key and perhaps what to give instead; a cache with a whole request.
    asks_with_all = len(rest) > 1 or any(isinstance(one, ast.Name | ast.Attribute) for one in rest)
    if "lookup" in node.func.attr or asks_with_all:
        return [node.args[0], *rest]
    return node.args[:1]


def _is_store(node: ast.expr, names: re.Pattern[str]) -> bool:
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
    return names.fullmatch(snake_case(name)) is not None


def model_calls(scope: Scope, asked: Sequence[Lookup]) -> list[ast.Call]:
    """Return the calls in a function that ask a model."""
    reads = {id(one.node) for one in asked}
    found = []
    for call in scope.calls():
        name = scope.module.dotted(call.func)
        if id(call) in reads or not _ASKS.fullmatch(name):
            continue
        if (call.args or call.keywords) and _CLIENT.search(name.lower()):
            found.append(call)
    return found


def key_words(scope: Scope, keys: Sequence[ast.expr], every: Sequence[Scope]) -> set[str]:
    """Return the names that reach a key, also inside a function of the file that makes it.

    Its parameters are left out: what they stand for is what it is called with.
    """
    found: set[str] = set()
    for key in keys:
        found |= words(scope, key)
        for maker in makers(scope, key, every):
            own = {snake_case(name) for name in maker.params}
            for returned in maker.returned():
                found |= words(maker, returned) - own
    return found


def makers(scope: Scope, key: ast.expr, every: Sequence[Scope]) -> Iterator[Scope]:
    """Yield the functions of the file that a key is made by."""
    made = core(scope, key)
    for node in ast.walk(made):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
            yield from (one for one in every if one.name and one.name == name and one is not scope)


def made_of(scope: Scope, lookup: Lookup, every: Sequence[Scope]) -> list[tuple[Scope, ast.expr]]:
    """Return what a look-up's key is made of, here and in functions of the file that make it."""
    places = [(scope, core(scope, key)) for key in lookup.keys]
    for maker in makers(scope, lookup.keys[0], every):
        places += [(maker, core(maker, returned)) for returned in maker.returned()]
    return places
