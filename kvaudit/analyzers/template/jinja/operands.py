"""The operands of ``a ~ 'text' + b``: what each is, and where in the expression it stands.

Jinja's syntax tree knows no columns; its lexer gives every token's text, so offsets add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kvaudit.core.sources import Span

if TYPE_CHECKING:
    from jinja2 import nodes

_OPEN = "{{"
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")


def operands(tree: nodes.Expr | None) -> list[nodes.Expr | None]:
    """Return the parts of a concatenation, in order; a lone part where no text is in it."""
    from jinja2 import nodes

    if isinstance(tree, nodes.Concat):
        return [part for one in tree.nodes for part in operands(one)]
    if isinstance(tree, nodes.Add):
        parts = [*operands(tree.left), *operands(tree.right)]
        if any(isinstance(p, nodes.Const) and isinstance(p.value, str) for p in parts):
            return parts
    return [tree]


def places(expression: str, count: int) -> Sequence[Span | None]:
    """Return where each of ``count`` operands stands; None for all where their number differs."""
    found = list(_cut(expression, Span(0, len(expression))))
    return found if len(found) == count else [None] * count


def _cut(expression: str, part: Span) -> Iterator[Span]:
    for start, end in _between_operators(expression[slice(*part)]):
        inner = _trimmed(expression, part.start + start, part.start + end)
        if _is_one_bracket(expression[slice(*inner)]):
            yield from _cut(expression, Span(inner.start + 1, inner.end - 1))
        else:
            yield inner


def _is_one_bracket(text: str) -> bool:
    return text[:1] == "(" and 0 not in [depth for _, _, depth in _tokens(text)][:-1]


def _between_operators(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for at, token, depth in _tokens(text):
        if depth == 0 and token in ("~", "+"):
            yield start, at
            start = at + len(token)
    yield start, len(text)


def _tokens(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield each token's place, text and, once it is read, the brackets open around it."""
    from jinja2 import Environment

    at, depth = -len(_OPEN), 0
    for _, kind, token in Environment(autoescape=False).lex(_OPEN + text + "\n}}"):
        if kind == "operator":
            depth += (token in _OPENING) - (token in _CLOSING)
        if kind not in ("variable_begin", "variable_end", "whitespace"):
            yield at, token if kind == "operator" else "", depth
        at += len(token)


def _trimmed(expression: str, start: int, end: int) -> Span:
    part = expression[start:end]
    start += len(part) - len(part.lstrip())
    return Span(start, start + len(part.strip()))
