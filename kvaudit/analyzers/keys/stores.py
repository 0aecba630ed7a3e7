"""How answers are put into a store: how long they stay, and under which key."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kvaudit.analyzers.keys.answers import File
from kvaudit.analyzers.keys.forms import is_fresh
from kvaudit.analyzers.keys.kept import kept_under
from kvaudit.analyzers.keys.lookups import (
    WRITES,
    Lookup,
    key_words,
    lookups_of,
    made_of,
    model_calls,
)
from kvaudit.analyzers.keys.proof import held_to
from kvaudit.analyzers.keys.scopes import Scope, core
from kvaudit.analyzers.keys.seen import seen_at, short
from kvaudit.analyzers.keys.vocabulary import WHOLE
from kvaudit.analyzers.naming import snake_case
from kvaudit.core.document import Observation

_REMOTE = re.compile(r"(\w+_)?(redis|rdb|valkey|memcached?)(_\w+)?|r|rc")
_KEPT = re.compile(r"redis|valkey|memcache|diskcache|sqlite|shelve|Cache\(directory", re.IGNORECASE)
_VERSION = re.compile(
    r"(\w+_)?(version|revision|schema|template(_digest|_hash)|release|commit)(_\w+)?|v\d+"
)
_VERSIONED = re.compile(r"(^|\W)v\d")
_LIFE = frozenset(
    ("ex", "px", "exat", "pxat", "ttl", "expire", "timeout", "expiry", "time", "keepttl")
)


def store_faults(scope: Scope, file: File) -> Iterator[Observation]:
    """Yield writes to a cache of answers that nothing ends, no read finds, or no release parts."""
    asked = lookups_of(scope)
    if not asked or not model_calls(scope, asked):
        return
    writes = [
        call
        for call in scope.calls()
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in WRITES
        and call.args
        and any(ast.dump(call.func.value) == one.store for one in asked)
    ]
    reads = _Reads.of(scope, asked)
    ends = any(getattr(call.func, "attr", "") in ("expire", "pexpire") for call in scope.calls())
    for call in writes:
        if found := [*(() if ends else _endless(scope, call)), *reads.other_key(scope, call)]:
            yield from held_to(found, kept_under(scope, call.args[0], file))
    yield from _unversioned(scope, asked[0], file.every)


def _endless(scope: Scope, call: ast.Call) -> Iterator[Observation]:
    assert isinstance(call.func, ast.Attribute)
    name = getattr(call.func.value, "id", getattr(call.func.value, "attr", ""))
    given = {word.arg for word in call.keywords}
    if (
        call.func.attr == "set"
        and _REMOTE.fullmatch(snake_case(name))
        and len(call.args) < 3
        and not given & _LIFE
        and None not in given
    ):
        yield seen_at(scope, call, "no-expiry", f"{short(scope, call)} keeps an answer for ever")


def _unversioned(scope: Scope, lookup: Lookup, every: Sequence[Scope]) -> Iterator[Observation]:
    """Yield keys of a store that outlives the program, with nothing that changes with its code."""
    if not _outlives(scope, lookup):
        return
    places = made_of(scope, lookup, every)
    known = key_words(scope, lookup.keys, every)
    if known & WHOLE or any(_VERSION.fullmatch(word) for word in known):
        return
    for _, made in places:
        for node in ast.walk(made):
            if isinstance(node, ast.Constant) and _VERSIONED.search(str(node.value)):
                return
    yield seen_at(
        scope,
        places[0][1],
        "key-without-version",
        f"{short(scope, places[0][1])} stays the same when the prompt's text, the parser of the "
        "answer or the form of the key changes",
    )


def _outlives(scope: Scope, lookup: Lookup) -> bool:
    """Whether the store that is asked keeps what it holds when the program ends."""
    node = lookup.node
    asked = (
        node.func.value
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        else None
    )
    name = snake_case(getattr(asked, "id", getattr(asked, "attr", "")))
    if _REMOTE.fullmatch(name):
        return True
    made: list[ast.AST] = [*scope.given(name), *scope.module.assigned.get(name, ())]
    return any(_KEPT.search(scope.module.written(one)) for one in made)


@dataclass(slots=True)
class _Reads:
    """The keys that a function looks up, by what makes them."""

    first: dict[str, ast.expr] = field(default_factory=dict)
    written: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, scope: Scope, asked: Sequence[Lookup]) -> _Reads:
        reads = cls()
        for one in asked:
            read = core(scope, one.keys[0])
            maker = _maker(read)
            if maker is not None:
                reads.first.setdefault(maker, read)
                reads.written.setdefault(maker, set()).add(ast.dump(read))
        return reads

    def other_key(self, scope: Scope, call: ast.Call) -> Iterator[Observation]:
        """Yield that what is written under a key is looked up under another one.

        What is kept under a new id is a record, and no answer to what was looked up.
        """
        written = core(scope, call.args[0])
        maker = _maker(written)
        names = [node.id for node in ast.walk(written) if isinstance(node, ast.Name)]
        if any(is_fresh(scope, value) for name in names for value in scope.given(name)):
            return
        if maker in self.first and ast.dump(written) not in self.written[maker]:
            yield seen_at(
                scope,
                call.args[0],
                "read-write-mismatch",
                f"written under {short(scope, written)}, looked up under "
                f"{short(scope, self.first[maker])}",
            )


def _maker(key: ast.expr) -> str | None:
    """Return what makes a key: the function that is called for it, or how its f-string begins."""
    if isinstance(key, ast.Call):
        return ast.dump(key.func)
    if not isinstance(key, ast.JoinedStr):
        return None
    first = key.values[0] if key.values else None
    return f"f-string {first.value!r}" if isinstance(first, ast.Constant) else "f-string"
