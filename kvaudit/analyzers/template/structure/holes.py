"""Where a template's engine fills in text: ``{{ now }}`` of Jinja, nunjucks and Mustache.

Only what is printed counts. Control tags and comments give no text of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kvaudit.analyzers.template.values import CONSTANT, Value, named, named_call
from kvaudit.core.document import Origin

MUSTACHE = re.compile(
    r"\{\{\{(?P<raw>[^{}]{1,300})\}\}\}|\{\{-?(?P<hole>[^{}]{1,300}?)-?\}\}"
    r"|\{%.{0,300}?%\}|\{#.{0,1000}?#\}",
    re.DOTALL,
)
"""Jinja, nunjucks, Handlebars and Mustache."""
FORMAT = re.compile(
    r"\{\{|\}\}|\{(?P<hole>[A-Za-z_][\w.\[\]]{0,100})(?:![rsa])?(?::(?!\s)[^{}]{0,40})?\}"
)
"""``str.format``."""

_CONTROL = re.compile(r"[#/^!>&]|else\b|elif\b")
_OBJECT = re.compile(r"\s*(?:[\"'][^\"']*[\"']\s*:|[\"']?\.\.\.)")
_LITERAL = re.compile(r"""(?:"[^"]*"|'[^']*'|-?\d+(?:\.\d+)?)""")
_NAME = re.compile(r"[$@]?[A-Za-z_][\w$]*(?:\s*\.\s*[A-Za-z_]\w*|\[\s*[\"']?\w+[\"']?\s*\])*")


class Piece(NamedTuple):
    """A run of characters of a text: fixed, or an expression."""

    start: int
    end: int
    expression: str | None = None


def pieces(text: str, syntax: re.Pattern[str] = MUSTACHE) -> Iterator[Piece]:
    """Cut a text at its holes; control tags and comments fall away."""
    at = 0
    for found in syntax.finditer(text):
        inner = next((found[name] for name in ("raw", "hole") if _group(found, name)), None)
        if inner is None and syntax is FORMAT:
            continue  # {{ and }} are braces
        if inner is not None and _OBJECT.match(inner):
            continue  # an object of JSON, its braces doubled for another engine
        if found.start() > at:
            yield Piece(at, found.start())
        at = found.end()
        if inner is not None and not _CONTROL.match(inner.strip()):
            yield Piece(found.start(), found.end(), found[0])
    if at < len(text):
        yield Piece(at, len(text))


def syntax_of(text: str, *, named: bool) -> re.Pattern[str]:
    """Tell how a text's holes are written.

    Single braces are holes where double ones only stand for single ones, or where the file's
    name says that it is a prompt (``named``); elsewhere they are the braces of some code.
    """
    doubled = "{{" in text and "}}" in text
    if has_holes(text) or not (doubled or named):
        return MUSTACHE
    return FORMAT if has_holes(text, FORMAT) else MUSTACHE


def _group(found: re.Match[str], name: str) -> bool:
    return name in found.re.groupindex and found[name] is not None


def has_holes(text: str, syntax: re.Pattern[str] = MUSTACHE) -> bool:
    """Whether a text has an expression that is printed."""
    return any(piece.expression is not None for piece in pieces(text, syntax))


def value_of(expression: str, said: Mapping[str, Origin]) -> Value:
    """Return what an expression's name says of it; ``said`` is the user's configuration."""
    inner = expression.strip("{}- \t\r\n")
    if _LITERAL.fullmatch(inner):
        return CONSTANT
    name = _NAME.search(inner)
    path = [] if name is None else re.findall(r"\w+", name[0])
    called = name is not None and inner[name.end() :].lstrip().startswith("(")
    return named_call(path, said) if called else named(path, said)
