"""Two inputs, one key: texts joined without a border, and optional fields without a tag."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from kvaudit.analyzers.keys.digests import Digest
from kvaudit.analyzers.keys.labels import is_free, is_text, label_of, may_be_text
from kvaudit.analyzers.keys.scopes import Scope, core, walk
from kvaudit.analyzers.keys.seen import seen_at, short
from kvaudit.analyzers.keys.vocabulary import (
    CONTEXT,
    FREE_TEXT,
    IDENTITY,
    PARAMETERS,
    PROMPT,
)
from kvaudit.core.document import Observation

_OPTIONAL = 2
"""One optional field at the end coincides with nothing; two do with each other."""


def join_faults(scope: Scope, digest: Digest) -> Iterator[Observation]:
    """Yield texts that are joined such that another pair of texts gives the same."""
    for fed in digest.fed:
        yield from text_faults(scope, fed)
        yield from growing_faults(scope, fed)
    for first, second in pairwise(digest.updates):
        one, other = core(scope, first.args[0]), core(scope, second.args[0])
        if may_be_text(one) and may_be_text(other) and (is_text(one) or is_text(other)):
            yield seen_at(
                scope,
                second,
                "ambiguous-join",
                f"{short(scope, first)} and {short(scope, second)} have no border between them",
            )
            return


@lru_cache(maxsize=1)
def _loops(scope: Scope) -> list[ast.AST]:
    return [n for n in scope.nodes if isinstance(n, ast.For | ast.AsyncFor | ast.While)]


def growing_faults(scope: Scope, fed: ast.expr) -> Iterator[Observation]:
    """Yield a text that a loop makes longer by a field at a time, with no border after a value."""
    grown = {inner.id for inner in walk(scope.module, fed) if isinstance(inner, ast.Name)}
    for loop in _loops(scope):
        for node in walk(scope.module, loop):
            if (
                isinstance(node, ast.AugAssign)
                and isinstance(node.op, ast.Add)
                and isinstance(node.target, ast.Name)
                and node.target.id in grown
                and _ends_open(scope, node.value)
            ):
                yield seen_at(
                    scope,
                    node.value,
                    "ambiguous-join",
                    f"{short(scope, node.value)} runs into what is added next, so that a value can "
                    "hold the next field",
                )
                return


def _ends_open(scope: Scope, added: ast.expr) -> bool:
    """Whether a text ends in a value of any length, and says nowhere how long it is."""
    if isinstance(added, ast.JoinedStr):
        pieces = scope.module.formatted(added)
        fields = [piece for piece in pieces if isinstance(piece, ast.expr)]
        measured = any(getattr(getattr(f, "func", None), "id", "") == "len" for f in fields)
        last = pieces[-1] if pieces else None
        return isinstance(last, ast.expr) and may_be_text(last) and not measured
    return isinstance(added, ast.Name | ast.Attribute | ast.Call) and is_text(added)


def text_faults(scope: Scope, expr: ast.expr) -> Iterator[Observation]:
    """Yield the same of one expression that becomes a key."""
    made = core(scope, expr)
    why = _ambiguity(scope, made)
    if why is not None:
        yield seen_at(scope, made, "ambiguous-join", f"{short(scope, made)} {why}")


def _ambiguity(scope: Scope, made: ast.expr) -> str | None:
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Add):
        return _of_sum(made)
    if isinstance(made, ast.JoinedStr):
        return _of_fields(scope, made)
    if isinstance(made, ast.Call) and getattr(made.func, "attr", "") == "format":
        return _of_format(made)
    if (
        isinstance(made, ast.Call)
        and isinstance(made.func, ast.Attribute)
        and made.func.attr == "join"
        and isinstance(made.func.value, ast.Constant)
        and made.args
    ):
        return _of_join(scope, str(made.func.value.value), made.args[0])
    return None


def _of_sum(made: ast.BinOp) -> str | None:
    parts = _flat(made)
    for one, other in pairwise(parts):
        if may_be_text(one) and may_be_text(other) and (is_text(one) or is_text(other)):
            return "joins them with nothing between them"
    separators = [p for p in parts if isinstance(p, ast.Constant)]
    if separators and sum(is_free(part) for part in parts) > 1:
        return "joins free texts with a separator that they may hold themselves"
    return None


def _of_fields(scope: Scope, made: ast.JoinedStr) -> str | None:
    pieces = scope.module.formatted(made)
    fields = [piece if isinstance(piece, ast.expr) else None for piece in pieces]
    for one, other in pairwise(fields):
        if one is not None and other is not None and may_be_text(one) and may_be_text(other):
            return "joins them with nothing between them"
    if sum(field is not None and is_free(field) for field in fields) > 1:
        return "joins free texts with a separator that they may hold themselves"
    return None


def _of_format(made: ast.Call) -> str | None:
    """Return the same of ``"{}{}".format(one, other)``, where its fields are in order."""
    template = getattr(getattr(made.func, "value", None), "value", None)
    if not isinstance(template, str) or not re.fullmatch(r"[^{}]*(\{\}[^{}]*)+", template):
        return None
    borders = template.split("{}")[1:-1]
    for border, (one, other) in zip(borders, pairwise(made.args), strict=False):
        if not border and may_be_text(one) and may_be_text(other):
            return "joins them with nothing between them"
    free = sum(is_free(one) for one in made.args)
    return "joins free texts with a separator that they may hold themselves" if free > 1 else None


def _of_join(scope: Scope, separator: str, given: ast.expr) -> str | None:
    given = core(scope, given)
    if isinstance(given, ast.List | ast.Tuple):
        free = sum(is_free(core(scope, item)) or is_free(item) for item in given.elts)
        if not separator and len(given.elts) > 1 and free:
            return "joins them with nothing between them"
        if len(separator) < 3 and separator != "\0" and free > 1:
            return "joins free texts with a separator that they may hold themselves"
        return None
    if isinstance(given, ast.Name):
        put_in = {label_of(value) for value in scope.given(given.id) if value not in scope.iterated}
        free = sum(FREE_TEXT.fullmatch(label) is not None for label in put_in)
        return (
            "joins free texts with a separator that they may hold themselves"
            if len(separator) < 3 and separator != "\0" and free > 1
            else None
        )
    if not separator and any(is_free(n) for n in ast.walk(given) if isinstance(n, ast.expr)):
        return "joins them with nothing between them"
    return None


def _flat(made: ast.expr) -> list[ast.expr]:
    """Return the operands of a sum, from left to right."""
    parts: list[ast.expr] = []
    stack = [made]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            stack += (node.right, node.left)
        else:
            parts.append(node)
    return parts


def untagged(scope: Scope) -> Iterator[Observation]:
    """Yield fields that are put into a list only where there are any, without saying which."""
    added: dict[str, list[tuple[ast.AST, str]]] = {}
    for node in scope.nodes:
        if isinstance(node, ast.If) and not node.orelse and len(node.body) == 1:
            match node.body[0]:
                case ast.Expr(ast.Call(ast.Attribute(filled, "append"), [value, *_]) as call):
                    _note(added, node.test, call, filled, value)
        elif (
            isinstance(node, ast.AugAssign)
            and isinstance(node.op, ast.Add)
            and isinstance(node.value, ast.IfExp)
            and isinstance(node.value.body, ast.List | ast.Tuple)
            and len(node.value.body.elts) == 1
        ):
            _note(added, node.value.test, node.value, node.target, node.value.body.elts[0])
    yield from _summed(scope)
    for places in added.values():
        # What is a key itself is no field of one, but another way to find the same.
        if any(name.endswith("key") for _, name in places):
            continue
        of_requests = any(_decides(name) for _, name in places)
        if len({name for _, name in places}) >= _OPTIONAL and of_requests:
            names = " and ".join(dict.fromkeys(name for _, name in places))
            yield seen_at(
                scope,
                places[0][0],
                "untagged-optional",
                f"{names} are added only where set, so that the one alone looks like the other",
            )


def _note(
    added: dict[str, list[tuple[ast.AST, str]]],
    test: ast.expr,
    place: ast.AST,
    target: ast.expr,
    value: ast.expr,
) -> None:
    name = label_of(value)
    tested = {label_of(n) for n in ast.walk(test) if isinstance(n, ast.Name | ast.Attribute)}
    if name and name in tested and isinstance(value, ast.Name | ast.Attribute | ast.Subscript):
        added.setdefault(ast.dump(target).replace("Store()", "Load()"), []).append((place, name))


def _decides(name: str) -> bool:
    """Whether a name is of what decides an answer, or whose blocks are shared."""
    fields = (IDENTITY, PROMPT, *PARAMETERS.values(), *CONTEXT.values())
    return any(field.fullmatch(name) for field in fields)


def _summed(scope: Scope) -> Iterator[Observation]:
    """Yield a sum of lists of which each holds one field or none, without saying which."""
    for node in scope.nodes:
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)):
            continue
        parts = [part for part in _flat(node) if _is_optional(scope, part)]
        if len(parts) >= _OPTIONAL:
            names = " and ".join(short(scope, part) for part in parts)
            yield seen_at(
                scope,
                node,
                "untagged-optional",
                f"{names} hold a field or nothing, so that the one alone looks like the other",
            )
            return


def _is_optional(scope: Scope, part: ast.expr) -> bool:
    """Whether an operand is a list of one field that is no pair, or else an empty one."""
    given = core(scope, part)
    if isinstance(given, ast.IfExp):
        choices = [given.body, given.orelse]
    elif isinstance(given, ast.Call) and isinstance(given.func, ast.Name):
        made = scope.module.functions.get(given.func.id)
        choices = [
            node.value
            for node in (ast.walk(made) if made is not None else ())
            if isinstance(node, ast.Return) and node.value is not None
        ]
    else:
        return False
    lists = [one for one in choices if isinstance(one, ast.List)]
    return (
        len(lists) == len(choices) > 1
        and any(not one.elts for one in lists)
        and any(len(one.elts) == 1 and not isinstance(one.elts[0], ast.Tuple) for one in lists)
    )
