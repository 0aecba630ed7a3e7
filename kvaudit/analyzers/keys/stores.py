"""How answers are put into a store: how long they stay, and under which key."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from kvaudit.analyzers.keys.lookups import WRITES, Lookup, lookups_of, model_calls
from kvaudit.analyzers.keys.scopes import Scope, core
from kvaudit.analyzers.keys.seen import seen_at, short
from kvaudit.analyzers.naming import snake_case
from kvaudit.core.document import Observation

_REMOTE = re.compile(r"(\w+_)?(redis|rdb|valkey|memcached?)(_\w+)?|r|rc")
_LIFE = frozenset(
    ("ex", "px", "exat", "pxat", "ttl", "expire", "timeout", "expiry", "time", "keepttl")
)


def store_faults(scope: Scope) -> Iterator[Observation]:
    """Yield writes to a cache of answers that nothing ends, or that no read finds."""
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
    yield from _endless(scope, writes)
    yield from _other_key(scope, asked, writes)


def _endless(scope: Scope, writes: Sequence[ast.Call]) -> Iterator[Observation]:
    if any(getattr(call.func, "attr", "") in ("expire", "pexpire") for call in scope.calls()):
        return
    for call in writes:
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
            yield seen_at(
                scope, call, "no-expiry", f"{short(scope, call)} keeps an answer for ever"
            )


def _other_key(
    scope: Scope, asked: Sequence[Lookup], writes: Sequence[ast.Call]
) -> Iterator[Observation]:
    reads = [core(scope, one.keys[0]) for one in asked]
    for call in writes:
        written = core(scope, call.args[0])
        alike = [read for read in reads if _same_maker(read, written)]
        if alike and all(ast.dump(read) != ast.dump(written) for read in alike):
            yield seen_at(
                scope,
                call.args[0],
                "read-write-mismatch",
                f"written under {short(scope, written)}, looked up under {short(scope, alike[0])}",
            )


def _same_maker(read: ast.expr, written: ast.expr) -> bool:
    if isinstance(read, ast.Call) and isinstance(written, ast.Call):
        return ast.dump(read.func) == ast.dump(written.func)
    return isinstance(read, ast.JoinedStr) and isinstance(written, ast.JoinedStr)
