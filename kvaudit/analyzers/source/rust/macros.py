"""Rust's macros that write text; a grammar sees only tokens in them, so they are parsed again."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.source.ecmascript.tree import Node, parse
from kvaudit.analyzers.source.ecmascript.values import NOTHING, Value, list_of, text_of
from kvaudit.analyzers.source.parts import Part
from kvaudit.analyzers.source.walking.follow import evaluate, items
from kvaudit.analyzers.source.walking.state import Walk
from kvaudit.core.sources import Span

COMMENTS = ("line_comment", "block_comment")
MAX_CHARACTERS = 200_000
"""Longer macros are data."""
_HOLE = re.compile(r"(?<!\{)\{(?P<name>[a-z_]\w*)?\d*(:[^{}]*)?\}")


def macro_name(walk: Walk, node: Node) -> str:
    """Return what a macro is called, without its path."""
    return walk.text(node.fields["macro"]).rsplit("::", 1)[-1]


def macro(walk: Walk, node: Node) -> Value:
    """Return the text that a macro makes."""
    name = macro_name(walk, node)
    args = arguments(walk, node)
    if name in ("format", "indoc", "formatdoc", "concat") and args:
        return formatted(walk, args)
    if name == "vec":
        return list_of(items(walk, args))
    if name == "include_str":
        return _included(walk, args) or walk.unknown(node, "static_text")
    return NOTHING


def _included(walk: Walk, args: Sequence[Node]) -> Value | None:
    """Return the text of a file of the project that is compiled in."""
    name = walk.text(args[0]).strip('"') if args else ""
    found = walk.files.project.sibling(walk.source, name) if name else None
    if found is None:
        return None
    return text_of((Part(found, Span(0, len(found.text)), text=found.text),))


def formatted(walk: Walk, args: Sequence[Node]) -> Value:
    """Return a format filled with the arguments that follow it."""
    form = args[0]
    if form.kind not in ("string_literal", "raw_string_literal"):
        return evaluate(walk, form)
    given = []
    for arg in args[1:]:
        if arg.kind == "assignment_expression" and {"left", "right"} <= arg.fields.keys():
            right = arg.fields["right"]
            walk.names[walk.text(arg.fields["left"])] = evaluate(walk, right)
        else:
            given.append((arg, evaluate(walk, arg)))
    inner = [kid for kid in form.kids if kid.kind == "string_content"]
    if not inner:
        return text_of(())
    return walk.filled(inner[0].start, form.kids[-1].end, _HOLE, given)


def arguments(walk: Walk, macro: Node) -> list[Node]:
    """Return the arguments of a macro."""
    tokens = next((kid for kid in macro.kids if kid.kind == "token_tree"), None)
    if tokens is None or tokens.end - tokens.start > MAX_CHARACTERS:
        return []
    start, end = tokens.start + 1, tokens.end - 1
    head = "fn f(){g("
    try:
        root = parse(f"{head}{walk.source.text[start:end]});}}", "rust", fragment=True)
    except Unreadable:
        return []
    call = next((n for n in root.walk() if n.kind == "call_expression"), None)
    listed = call.get("arguments") if call is not None else None
    if listed is None:
        return []
    for node in listed.walk():
        node.start += start - len(head)
        node.end += start - len(head)
    return [kid for kid in listed.kids if kid.kind not in COMMENTS]
