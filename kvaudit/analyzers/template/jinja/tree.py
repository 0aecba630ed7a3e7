"""The tags of a Jinja template as a tree: what stands in which loop, branch, block or macro.

Unknown tags are kept: with a body where the file holds their end tag, else without. So
templates of frameworks that add tags of their own are read too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from kvaudit.analyzers.template.jinja.scan import Kind, ScanError, Token

MAX_DEPTH = 150
"""Blocks nested deeper than this were not written by hand."""

_WORD = re.compile(r"\s*(\w+)")
_ASSIGNMENT = re.compile(r"set\b[^=]*(?<![=!<>])=(?!=)", re.DOTALL)
_BRANCHES = {"elif": ("if",), "else": ("if", "for", "trans"), "pluralize": ("trans",)}
_ALWAYS_BLOCKS = frozenset({"if", "for", "macro", "call", "filter", "block", "with"})


@dataclass(slots=True)
class Body:
    """One arm of a block: the tag that opens it, and what stands in it."""

    tag: Token
    name: str
    nodes: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Block:
    """A tag with a body, or several (``if`` with ``else``); without any, a lone tag."""

    name: str
    tag: Token
    bodies: list[Body] = field(default_factory=list)


Node = Token | Block


def build(text: str, tokens: Sequence[Token]) -> list[Node]:
    """Return the tree of a template; raises `ScanError`."""
    names = [_name(text, token) if token.kind is Kind.TAG else None for token in tokens]
    closers = {name for name in names if name and name.startswith("end")}
    root: list[Node] = []
    open_blocks: list[Block] = []
    for token, name in zip(tokens, names, strict=True):
        into = open_blocks[-1].bodies[-1].nodes if open_blocks else root
        if name is None:
            into.append(token)
        elif open_blocks and open_blocks[-1].name in _BRANCHES.get(name, ()):
            open_blocks[-1].bodies.append(Body(token, name))
        elif name.startswith("end") and name[3:] in {block.name for block in open_blocks[-1:]}:
            open_blocks.pop()
        elif name.startswith("end"):
            raise ScanError(f"{name} closes nothing that is open", token.span.start)
        else:
            block = Block(name, token)
            into.append(block)
            if _has_body(text, token, name, closers):
                block.bodies.append(Body(token, name))
                open_blocks.append(block)
        if len(open_blocks) > MAX_DEPTH:
            raise ScanError(f"blocks are nested more than {MAX_DEPTH} deep", token.span.start)
    if open_blocks:
        raise ScanError(f"{open_blocks[-1].name} is never closed", open_blocks[-1].tag.span.start)
    return root


def _name(text: str, token: Token) -> str:
    word = _WORD.match(text, *token.inner)
    return word[1] if word else ""


def _has_body(text: str, token: Token, name: str, closers: set[str]) -> bool:
    if name == "set":
        return _ASSIGNMENT.match(arguments(text, token, with_name=True)) is None
    if name == "raw":
        return True
    return name in _ALWAYS_BLOCKS or f"end{name}" in closers


def arguments(text: str, token: Token, *, with_name: bool = False) -> str:
    """Return what stands behind a tag's name."""
    word = _WORD.match(text, *token.inner)
    start = token.inner.start if word is None else word.start(1) if with_name else word.end(1)
    return text[start : token.inner.end].strip()
