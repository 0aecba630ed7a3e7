"""Which links of the proof of a finding about a key in JavaScript are not seen in its file.

The same links as in ``keys/proof.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kvaudit.analyzers.keys.ecmascript.digests import NAMES, given, words_in
from kvaudit.analyzers.keys.ecmascript.forms import called_on
from kvaudit.analyzers.keys.ecmascript.kept import Kept
from kvaudit.analyzers.keys.vocabulary import PROMPT
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS, function_around
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.core.document import Observation
from kvaudit.core.doubt import Doubt

_KNOWN = re.compile(
    r"JSON\.stringify|String|Buffer\.from|Object\.(keys|entries|values|fromEntries)|Array\.from"
    r"|(.*\.)?(createHash.*|update|digest|join|map|sort|trim|toLowerCase|toString|slice|encode|concat"
    r"|filter|replace|hash|sha256|md5|stableStringify|localeCompare)"
)
_OPAQUE = re.compile(
    r"(\w+_)?(hash|digest|fingerprint|signature|key|prefix|suffix|namespace|salt|scope)|version|id"
)
_CUT_TIME = re.compile(r"Math\.floor|toISOString\(\)\.(slice|split|substring)|toDateString")


def held_to(
    module: Module, fed: Sequence[Node], found: Sequence[Observation], kept: Kept
) -> Iterator[Observation]:
    """Yield what is wrong with a key, with the links that are not seen."""
    for one in found:
        unseen = [] if kept.asked else [Doubt.NO_CACHE]
        if not (kept.answers or kept.named):
            unseen.append(Doubt.OTHER_KEPT if kept.made_here else Doubt.NO_ANSWER)
        unseen += _of_kind(module, fed, one, kept)
        yield replace(one, unseen=tuple(dict.fromkeys(unseen)))


def _of_kind(module: Module, fed: Sequence[Node], one: Observation, kept: Kept) -> Iterator[Doubt]:
    if one.kind == "volatile-key":
        if one.detail.endswith("is another with every request"):
            yield Doubt.NAMED
        if any(_CUT_TIME.search(module.text(root)) for root in fed):
            yield Doubt.STAYS
    elif one.kind == "unsorted-key-json":
        yield Doubt.STAYS
    elif (
        one.kind == "folded-key" and not _is_sent_whole(module, fed, one, kept)
    ) or one.kind == "key-without-known-tenant":
        yield Doubt.NOT_GIVEN
    elif one.kind == "ambiguous-join":
        parts = set().union(*(words_in(module, root) for root in fed))
        if kept.answers and not any(_reach_apart(module, call, parts) for _, call in kept.answers):
            yield Doubt.NOT_GIVEN
    elif one.kind.startswith("key-without"):
        names = one.detail.split(" reach")[0].split(", ")
        for name in names if kept.answers else ():
            yield from _of_field(module, name, kept)
        if not all(_is_whole(module, root) for root in fed):
            yield Doubt.PARTLY


def _reach_apart(module: Module, call: Node, parts: set[str]) -> bool:
    """Whether two parts of a key are fields or arguments of a call of their own."""
    arguments = call.get("arguments")
    values = [
        pair.get("value") or pair
        for body in (arguments.walk() if arguments is not None else ())
        if body.kind == "object"
        for pair in body.kids
    ]
    return sum(bool(words_in(module, value) & parts) for value in values) > 1


def _is_sent_whole(module: Module, fed: Sequence[Node], one: Observation, kept: Kept) -> bool:
    """Whether a model is sent the text of which the key holds a folded or cut form.

    What another function sends is taken for it.
    """
    inside = (node for root in fed for node in given(module, root).walk())
    folded = next((node for node in inside if node.span == one.span), None)
    text = called_on(module, folded) if folded is not None else None
    around = function_around(folded) if folded is not None else None
    here = [call for where, call in kept.answers if where is around]
    if text is None or not here:
        return True
    sent = [node for call in here for node in _sent_nodes(module, call)]
    return any(
        module.text(node) == text and not _is_folded_again(node)
        for node in sent
        if node.kind in ("identifier", "shorthand_property_identifier", "member_expression")
    )


def _sent_nodes(module: Module, call: Node, depth: int = 2) -> Iterator[Node]:
    """Yield what a call is given, and what its local names were given."""
    for node in call.walk():
        yield node
        if node.kind in ("identifier", "shorthand_property_identifier") and depth:
            value = module.declared_as(node)
            if value is not None and value.kind not in FUNCTIONS:
                yield from _sent_nodes(module, value, depth - 1)


def _is_folded_again(node: Node) -> bool:
    """Whether a method is called on a text, which may give another one."""
    member = node.parent
    return member is not None and member.get("object") is node


def _of_field(module: Module, name: str, kept: Kept) -> Iterator[Doubt]:
    """Yield what is not seen of a field: that it is given to the call that is kept, and varies."""
    for around, call in kept.answers:
        for pair in call.walk():
            key = pair.get("key") if pair.kind == "pair" else pair
            if key is None or module.text(key) != name or key.kind not in (*NAMES, "string"):
                continue
            value = pair.get("value") or pair
            given = [node for node in value.walk() if node.kind in NAMES]
            bound = [module.resolve(node, module.text(node)) for node in given]
            own = [one for one in bound if one is not None and one.kind == "param"]
            if not any(function_around(one.node) is around for one in own):
                yield Doubt.STAYS
            return
    yield Doubt.NOT_GIVEN


def _is_whole(module: Module, root: Node, depth: int = 4) -> bool:
    """Whether each part of what is hashed is seen for what it is."""
    for node in root.walk():
        if node.kind == "call_expression":
            if not _KNOWN.fullmatch(module.dotted(node.get("function"))):
                return False
        elif node.kind == "identifier":
            name = snake_case(module.text(node))
            if _OPAQUE.fullmatch(name) and not PROMPT.fullmatch(name):
                return False
            value = module.declared_as(node)
            if value is None or value.start <= node.start < value.end or value.kind in FUNCTIONS:
                continue
            if not depth or not _is_whole(module, value, depth - 1):
                return False
    return True
