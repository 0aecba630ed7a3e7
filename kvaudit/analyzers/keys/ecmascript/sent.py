"""What a file of JavaScript sends to a model, or knows of who asks, beside what it hashes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from kvaudit.analyzers.keys.ecmascript.digests import words_in
from kvaudit.analyzers.keys.ecmascript.joins import LITERAL
from kvaudit.analyzers.keys.ecmascript.seen import seen_at, short
from kvaudit.analyzers.keys.vocabulary import (
    CONTEXT,
    MODEL,
    PARAMETERS,
    TENANT_IN_KEY,
    TENANT_SEEN,
    WHOLE,
)
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS, function_around, parameters
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.core.document import Observation

_ASKS = re.compile(
    r"(.*\.)?(create|generate(Text|Object|Content)?|stream(Text|Object)?|complete|completion|invoke"
    r"|chat|api|fetch\w*|call\w*|send\w*|ask\w*|request)"
)
_WHOLE = WHOLE - {"fields", "data"}


def missing_fields(module: Module, call: Node, fed: Sequence[Node]) -> Iterator[Observation]:
    """Yield what the file sends to a model beside what it hashes."""
    known = set().union(*(words_in(module, root) for root in fed))
    place = fed[0]
    system = _added_system(module, known)
    if system is not None:
        yield seen_at(
            module,
            place,
            "key-without-context",
            f"{short(module, system)} is put before the messages, and is not in the key",
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
            yield seen_at(
                module, place, kind, f"{listed} {verb} the model and not the key, "
                f"{short(module, place)}"
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
    for sender, fields in _bodies(module):
        if sender is not call:
            for name in fields:
                found.setdefault(snake_case(name), name)
    return found


@lru_cache(maxsize=1)
def _bodies(module: Module) -> Sequence[tuple[Node, list[str]]]:
    """Return the calls that send a body to a model, and its fields that vary, for all keys."""
    found = []
    for body in module.objects:
        arguments = body.parent
        sender = arguments.parent if arguments is not None else None
        if sender is None or arguments is None or arguments.kind != "arguments":
            continue
        if not _ASKS.fullmatch(module.dotted(sender.get("function"))):
            continue
        fields = {module.text(key): pair for pair in body.kids if (key := _key(pair)) is not None}
        if {"messages", "prompt", "tools", "model", "input"} & set(fields):
            values = {name: pair.get("value") for name, pair in fields.items()}
            named = [n for n, value in values.items() if value is None or value.kind not in LITERAL]
            found.append((sender, named))
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
        if spread and value.kind not in LITERAL:
            return value
    return None


def tenant_missing(module: Module, call: Node, fed: Sequence[Node]) -> Iterator[Observation]:
    """Yield a key that is made where a tenant is known, and holds nothing of it."""
    known = set().union(*(words_in(module, root) for root in fed))
    if any(TENANT_IN_KEY.fullmatch(word) for word in known):
        return
    maker = function_around(call)
    for place, around in _used(module, call, maker):
        held = words_in(module, place)
        seen = [name for name in _parameters(module, around) if TENANT_SEEN.fullmatch(name)]
        if seen and not any(TENANT_IN_KEY.fullmatch(word) for word in held):
            yield seen_at(
                module,
                place,
                "key-without-known-tenant",
                f"{seen[0]} is known here and not in the key, {short(module, place)}, so that one "
                "is answered with what was said to another",
            )
            return


def _used(module: Module, call: Node, maker: Node | None) -> Iterator[tuple[Node, Node]]:
    """Yield where a key is used: its call, or the calls of the function that makes it."""
    if maker is None:
        return
    yield call, maker
    named = maker.get("name")
    if named is None and maker.parent is not None and maker.parent.kind == "variable_declarator":
        named = maker.parent.get("name")
    if named is None:
        return
    name = module.text(named)
    for other in module.calls:
        around = function_around(other)
        if (
            around is not None
            and around is not maker
            and module.dotted(other.get("function")) == name
        ):
            yield other, around


def _parameters(module: Module, function: Node) -> list[str]:
    return [
        snake_case(module.text(node))
        for given in parameters(function)
        for node in given.walk()
        if node.kind == "identifier" and node.above(*FUNCTIONS) is function
    ]
