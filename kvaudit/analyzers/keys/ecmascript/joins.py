"""Two inputs, one key: texts that JavaScript joins without a border."""

from __future__ import annotations

from itertools import pairwise

from kvaudit.analyzers.keys.ecmascript.digests import NAMES, given, is_rest
from kvaudit.analyzers.keys.vocabulary import FIXED_LENGTH, FREE_TEXT
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.tree import Node

LITERAL = frozenset(("string", "number", "true", "false", "null", "undefined"))
_NOTHING = "joins them with nothing between them"
_SEPARATED = "joins free texts with a separator that they may hold themselves"


def ambiguity(module: Module, root: Node) -> str | None:
    """Return why two inputs may give one text; None where they do not."""
    if root.kind == "call_expression":
        return _of_join(module, root)
    if root.kind == "template_string":
        holes = [kid for kid in root.kids if kid.kind == "template_substitution"]
        touching = any(
            one.end == other.start and _may_be_text(module, one) and _may_be_text(module, other)
            for one, other in pairwise(holes)
        )
        parts = holes
    elif root.kind == "binary_expression" and "+" in module.text(root):
        parts = _sum(root)
        touching = any(
            _may_be_text(module, one) and _may_be_text(module, other)
            for one, other in pairwise(parts)
        )
    else:
        return None
    if touching:
        return _NOTHING
    return _SEPARATED if sum(_is_free(module, part) for part in parts) > 1 else None


def _of_join(module: Module, call: Node) -> str | None:
    """Return the same of ``texts.join("_")``, for the texts of a list or of all arguments."""
    function, arguments = call.get("function"), call.get("arguments")
    name = function.get("property") if function is not None else None
    joined = function.get("object") if function is not None else None
    if name is None or joined is None or module.text(name) != "join":
        return None
    separator = arguments.kids[0] if arguments is not None and arguments.kids else None
    text = "," if separator is None else module.string(separator)
    if len(text) > 2 or text.startswith("\\"):
        return None
    joined = given(module, joined)
    texts = sum(_is_free(module, kid) for kid in joined.kids) if joined.kind == "array" else 0
    if is_rest(module, joined) or texts > 1:
        return _SEPARATED if text else _NOTHING
    return None


def _sum(root: Node) -> list[Node]:
    """Return the operands of a sum, from left to right."""
    parts: list[Node] = []
    node: Node | None = root
    while node is not None and node.kind == "binary_expression":
        right = node.get("right")
        parts += [right] if right is not None else []
        node = node.get("left")
    parts += [node] if node is not None else []
    return parts[::-1]


def _label(module: Module, node: Node) -> str:
    names = [inner for inner in node.walk() if inner.kind in NAMES]
    return snake_case(module.text(names[-1])) if names else ""


def _is_json(module: Module, node: Node) -> bool:
    """Whether a value is JSON, which says itself where it begins and ends."""
    inner = node.kids[0] if node.kind == "template_substitution" and node.kids else node
    return module.dotted(inner.get("function")) == "JSON.stringify"


def _may_be_text(module: Module, node: Node) -> bool:
    if _is_json(module, node):
        return False
    return node.kind not in LITERAL and not FIXED_LENGTH.fullmatch(_label(module, node))


def _is_free(module: Module, node: Node) -> bool:
    return FREE_TEXT.fullmatch(_label(module, node)) is not None and not _is_json(module, node)
