"""Which links of the proof of a finding about a key are not seen in its file.

A finding about a key holds where the key is seen to be asked for or filled, what is kept under it
is seen to come from a model, a field said to be missing is seen to reach that very call from
outside, and no part of the key is unknown that might hold it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kvaudit.analyzers.keys.answers import File
from kvaudit.analyzers.keys.clocks import is_bucket, is_bypass
from kvaudit.analyzers.keys.digests import digests_of, hashes_tokens
from kvaudit.analyzers.keys.forms import parts_of
from kvaudit.analyzers.keys.kept import Kept
from kvaudit.analyzers.keys.scopes import Scope, values_given, walk, words
from kvaudit.analyzers.keys.vocabulary import CONTEXT, MODEL
from kvaudit.analyzers.keys.whole import is_whole
from kvaudit.core.document import Evidence, Observation
from kvaudit.core.doubt import Doubt

_VALUES = 200


def held_to(found: Iterable[Observation], kept: Kept) -> Iterator[Observation]:
    """Yield what is wrong with how a key is made, with the links of its use that are missing."""
    for one in found:
        yield replace(one, unseen=(*one.unseen, *uses(kept)))


def uses(kept: Kept) -> Iterator[Doubt]:
    """Yield the links of a key's use that are missing."""
    if not (kept.asked or kept.filled):
        yield Doubt.NO_CACHE
    if not (kept.answers or kept.named):
        yield Doubt.OTHER_KEPT if kept.made_here else Doubt.NO_ANSWER


def of_form(scope: Scope, one: Observation, kept: Kept) -> Observation:
    """Return what a key is made of with the links that its kind needs beside the key's use."""
    unseen = list(uses(kept))
    if one.kind == "builtin-hash-in-process" and kept.lasting:
        one = replace(one, kind="builtin-hash", evidence=Evidence.DATAFLOW)
    if one.kind == "volatile-key":
        if not kept.asked:
            unseen.append(Doubt.NO_CACHE)
        if one.detail.endswith("is another with every request"):
            unseen.append(Doubt.NAMED)
        elif is_bucket(scope, one) or is_bypass(scope, one):
            unseen.append(Doubt.STAYS)
    elif one.kind in ("unsorted-key-json", "object-in-key"):
        unseen += [] if _is_spread(scope, one) else [Doubt.STAYS]
    elif one.kind == "builtin-hash":
        # It finds nothing in a store of many processes, whatever is kept there.
        unseen = [Doubt.NO_CACHE] * (not kept.asked) if kept.lasting else [*unseen, Doubt.STAYS]
    elif one.kind in ("ambiguous-join", "folded-key") and not _is_told_apart(scope, one, kept):
        unseen.append(Doubt.NOT_GIVEN)
    elif one.kind == "untagged-optional" and _is_of_blocks(kept):
        unseen = []
    return replace(one, unseen=(*one.unseen, *dict.fromkeys(unseen)))


def _is_told_apart(scope: Scope, one: Observation, kept: Kept) -> bool:
    """Whether the model is sent what the key makes equal, as far as is seen what it is sent."""
    if one.kind == "folded-key":
        return _is_sent_whole(scope, one, kept)
    return not kept.filled or _reach_apart(scope, one, kept)


def _is_sent_whole(scope: Scope, one: Observation, kept: Kept) -> bool:
    """Whether the model is sent the text of which a key holds a folded or cut form.

    What another function sends is taken for it, unless that is given the same form.
    """
    node = scope.at(one.span)
    whole = _of_which(node)
    given = [
        inner
        for where, call in kept.answers
        if where is scope
        for value in values_given(call)
        for inner in parts_of(scope, value)
    ]
    if not given or whole is None:
        return True
    return not any(inner is node for inner in given) and any(
        ast.unparse(inner) == whole for inner in given if isinstance(inner, ast.expr)
    )


def _of_which(node: ast.AST | None) -> str | None:
    """Return the text that is folded or cut: ``prompt`` in ``prompt.lower()``."""
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return ast.unparse(node.func.value)
    return None


def _is_of_blocks(kept: Kept) -> bool:
    """Whether a key goes into the digest of a block of tokens."""
    return any(hashes_tokens(one, digest) for one in kept.scopes for digest in digests_of(one))


def _is_spread(scope: Scope, one: Observation) -> bool:
    """Whether what is written in any order are keyword arguments, as each caller orders them."""
    node = scope.at(one.span)
    spread = scope.node.args.kwarg.arg if scope.node and scope.node.args.kwarg else None
    return node is not None and any(
        isinstance(inner, ast.Name) and inner.id == spread for inner in ast.walk(node)
    )


def _reach_apart(scope: Scope, one: Observation, kept: Kept) -> bool:
    """Whether parts that a key joins are seen to reach the model as values of their own.

    Where the model is sent the joined text, equal keys are equal prompts.
    """
    node = scope.at(one.span)
    parts = words(scope, node) if node is not None else set()
    if not kept.answers:
        # A cache that is told of an answer only. A model is no part of the text that it is sent,
        # and who joins instructions and a question for it gives the cache one text.
        apart = (MODEL, CONTEXT["system prompt"])
        return any(field.fullmatch(word) for word in parts for field in apart)
    return any(
        sum(bool(words(where, value) & parts) for value in _values(where, call)) > 1
        or _is_given_whole(scope, node, call)
        for where, call in kept.answers
    )


def _is_given_whole(scope: Scope, key: ast.expr | None, call: ast.Call) -> bool:
    """Whether two parts of a key are fields of one object that the model is given as it is."""
    fields = [
        inner.value.id
        for inner in (walk(scope.module, key) if key is not None else ())
        if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name)
    ]
    given = {arg.id for arg in call.args if isinstance(arg, ast.Name)} - {"self", "cls"}
    return any(fields.count(name) > 1 for name in given)


def _values(scope: Scope, call: ast.Call) -> Iterator[ast.expr]:
    """Yield what a call is given, each message and each field of one for itself."""
    stack = values_given(call)
    for _ in range(_VALUES):
        if not stack:
            return
        value = stack.pop()
        made = scope.given(value.id) if isinstance(value, ast.Name) else ()
        inside = [value, *made] if isinstance(value, ast.Name) else [value]
        lists = [one for one in inside if isinstance(one, ast.List | ast.Tuple | ast.Dict)]
        for one in lists:
            stack += one.values if isinstance(one, ast.Dict) else one.elts
        if not lists:
            yield value


@dataclass(frozen=True, slots=True)
class Proof:
    """What is seen of one key that a function asks a cache with, before it asks a model."""

    scope: Scope
    keys: Sequence[ast.expr]
    kept: Kept
    file: File
    maker: Scope | None = None
    """The function in which the key is made, where it is another."""
    hidden: bool = False
    """The cache is asked by a method of another file, which may add to the key."""

    def of_missing(self, one: Observation, names: Sequence[str]) -> Observation:
        """Return that fields are said to be missing, with the links that are not seen."""
        unseen = list(uses(self.kept))
        here = [call for where, call in self.kept.answers if where is self.scope]
        if not here:
            unseen.append(Doubt.NO_ANSWER)
        for name in names:
            values = [value for call in here for value in _given_as(self.scope, call, name)]
            if not values or one.kind == "key-without-known-tenant":
                unseen.append(Doubt.NOT_GIVEN)
            elif not any(_varies(self.scope, value, self.kept) for value in values):
                unseen.append(Doubt.STAYS)
        if self.hidden or not self._is_whole():
            unseen.append(Doubt.PARTLY)
        return replace(one, unseen=tuple(dict.fromkeys(unseen)))

    def of_helper(self, one: Observation, call: ast.Call) -> Observation:
        """Return what a function that is called for the answer takes from the object."""
        unseen = list(uses(self.kept))
        if not any(answer is call for _, answer in self.kept.answers):
            unseen.append(Doubt.NO_ANSWER)
        if not self.kept.lasting:
            unseen.append(Doubt.STAYS)
        if self.hidden or not self._is_whole():
            unseen.append(Doubt.PARTLY)
        return replace(one, unseen=tuple(dict.fromkeys(unseen)))

    def _is_whole(self) -> bool:
        return all(is_whole(self.maker or self.scope, key, self.file) for key in self.keys)

    def of_call(self, one: Observation, call: ast.Call) -> Observation:
        """Return what is said of a call, whose answer is to be the one that is kept."""
        unseen = list(uses(self.kept))
        if not any(answer is call for _, answer in self.kept.answers):
            unseen.append(Doubt.NO_ANSWER)
        return replace(one, unseen=tuple(dict.fromkeys(unseen)))


def _given_as(scope: Scope, call: ast.Call, name: str) -> Iterator[ast.expr]:
    """Yield the values that a call is given as, or by, a name."""
    for word in call.keywords:
        spread = word.arg is None and f"**{getattr(word.value, 'id', '')}" == name
        if spread or word.arg == name or scope.module.written(word.value) == name:
            yield word.value
    seen: set[str] = set()
    stack = values_given(call)
    while stack:
        for node in walk(scope.module, stack.pop()):
            if isinstance(node, ast.Attribute) and scope.module.written(node) == name:
                yield node
            elif isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                stack += scope.assigned.get(node.id, ())
                if node.id == name:
                    yield node


def _varies(scope: Scope, value: ast.expr, kept: Kept) -> bool:
    """Whether a value comes from a parameter, or from the object where the store outlives it."""
    for node in walk(scope.module, value):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if _is_parameter(scope, node.id):
                return True
            given = scope.assigned.get(node.id, ())
            if any(isinstance(one, ast.Name | ast.BoolOp | ast.IfExp) for one in given) and any(
                _varies(scope, one, kept) for one in given if one is not value
            ):
                return True
            if node.id == "self" and kept.lasting:
                return True
    return False


def _is_parameter(scope: Scope, name: str) -> bool:
    """Whether a name is a parameter of a function, or of one around it."""
    around: Scope | None = scope
    while around is not None:
        if name in around.params:
            return True
        if name in around.assigned:
            return False
        around = around.outer
    return False
