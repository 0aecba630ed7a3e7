"""By which name a value in a key goes, and whether that is the name of a text."""

from __future__ import annotations

import ast
import re

from kvaudit.analyzers.keys.vocabulary import FIXED_LENGTH, FREE_TEXT, TEXT
from kvaudit.analyzers.naming import snake_case

_CLEANS = re.compile(r"_?(normali[sz]e|clean|strip|trim|canonical(i[sz]e)?|preprocess|sanitize)\w*")
"""Functions that leave a text a text, by their names."""


def label_of(node: ast.expr) -> str:
    """Return the name a value goes by, in snake case; what only cleans it is looked through."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in ("encode", "strip", "lower", "upper", "casefold"):
            return snake_case(node.func.attr)
        node = node.func.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id in ("str", "repr") and node.args:
            return label_of(node.args[0])
        name = snake_case(node.func.id)
        return label_of(node.args[0]) if _CLEANS.fullmatch(name) and node.args else name
    if isinstance(node, ast.Attribute):
        return snake_case(node.attr)
    if isinstance(node, ast.BoolOp):
        return label_of(node.values[0])
    if isinstance(node, ast.Subscript):
        key = node.slice
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return snake_case(key.value)
        return label_of(node.value)
    return snake_case(node.id) if isinstance(node, ast.Name) else ""


def may_be_text(node: ast.expr) -> bool:
    """Whether a value is no literal and of no length that is always the same."""
    if isinstance(node, ast.Constant | ast.JoinedStr | ast.List | ast.Tuple | ast.Dict):
        return False
    if isinstance(node, ast.Name) and node.id.isupper():
        return False
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "dumps":
        return False  # JSON says itself where it begins and ends
    return not FIXED_LENGTH.fullmatch(label_of(node))


def is_text(node: ast.expr) -> bool:
    """Whether a value is called a text of any length."""
    return TEXT.fullmatch(label_of(node)) is not None


def is_free(node: ast.expr) -> bool:
    """Whether a value is called a text that somebody wrote, which may hold any character."""
    return FREE_TEXT.fullmatch(label_of(node)) is not None
