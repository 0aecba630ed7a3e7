"""Keys in JavaScript that are no digests, but written out: ``cache:${model}:${prompt}``.

A text is taken for a key where it is called one, or stands where a cache is asked, and holds what a
model is asked. What is not seen to be asked for and filled with an answer is told nothing of: such
texts are labels of elements on a page as often.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.keys.ecmascript.digests import is_digest, words_in
from kvaudit.analyzers.keys.ecmascript.forms import form_faults
from kvaudit.analyzers.keys.ecmascript.kept import asked_with, kept_under
from kvaudit.analyzers.keys.ecmascript.proof import held_to
from kvaudit.analyzers.keys.ecmascript.sent import missing_fields, tenant_missing
from kvaudit.analyzers.keys.vocabulary import KEY_NAME, KEYS_OF_DATA, MEASURE, NOT_KEYS, PROMPT
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.core.document import Observation
from kvaudit.core.doubt import Doubt

_JOINS = ("JSON.stringify", "join")


def written_keys(module: Module) -> Iterator[Node]:
    """Yield the texts that are keys of what a model is asked."""
    for named in (*module.declarators, *module.functions):
        name = named.get("name")
        if name is None or not _is_called_key(module.text(name)):
            continue
        value = named.get("value") or named
        texts = module.returned(value) if value.kind in FUNCTIONS else [value]
        yield from (text for text in texts if _is_text(module, text))
    for call in module.calls:
        place = asked_with(module, call)
        if place is not None and _is_text(module, place):
            yield place


def written_faults(module: Module, key: Node) -> list[Observation]:
    """Return what is wrong with a written key that an answer is seen to be kept under."""
    words = words_in(module, key)
    if not any(PROMPT.fullmatch(word) and not MEASURE.fullmatch(word) for word in words):
        return []
    kept = kept_under(module, key)
    if not kept.asked or not (kept.answers or kept.named):
        return []
    faults = [
        *form_faults(module, key, [key]),
        *missing_fields(module, key, [key]),
        *tenant_missing(module, key, [key]),
    ]
    held = held_to(module, [key], faults, kept)
    # What other functions of the file send says nothing of this key.
    return [one for one in held if not (_is_of_field(one) and Doubt.NOT_GIVEN in one.unseen)]


def _is_of_field(one: Observation) -> bool:
    return one.kind.startswith("key-without") and one.kind != "key-without-known-tenant"


def _is_called_key(name: str) -> bool:
    said = snake_case(name)
    of_others = NOT_KEYS.fullmatch(said) or KEYS_OF_DATA.fullmatch(said)
    return "key" in said and KEY_NAME.fullmatch(said) is not None and of_others is None


def _is_text(module: Module, node: Node) -> bool:
    """Whether a value is a text made of others, and no digest is in it, which counts by itself."""
    if node.kind == "call_expression":
        made = module.dotted(node.get("function")).endswith(_JOINS)
    else:
        made = node.kind == "template_string" or (
            node.kind == "binary_expression" and "+" in module.text(node)
        )
    return made and not any(
        inner.kind == "call_expression" and is_digest(module, inner) for inner in node.walk()
    )
