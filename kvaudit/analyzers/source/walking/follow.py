"""The walk that Go and Rust share: from a file to the prompts that its functions build."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence

from kvaudit.analyzers.reader import Project
from kvaudit.analyzers.source.ecmascript.documents import document
from kvaudit.analyzers.source.ecmascript.named import draft_of
from kvaudit.analyzers.source.ecmascript.names import called
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import NOTHING, Value, list_of, text_of
from kvaudit.analyzers.source.parts import Part
from kvaudit.analyzers.source.prompt_names import Called
from kvaudit.analyzers.source.walking.file import Declared, Files
from kvaudit.analyzers.source.walking.language import Language
from kvaudit.analyzers.source.walking.state import MAX_DEPTH, MAX_STEPS, Walk
from kvaudit.core.document import Document
from kvaudit.core.sources import Source


def read_functions(source: Source, project: Project, language: Language) -> Sequence[Document]:
    """Return the prompts that a file's functions build. Raises `Unreadable`."""
    files = Files(source, project, language)
    walk = Walk(files.own, language, files, project.variables)
    return [made for made in _documents(walk) if made.segments]


def _documents(walk: Walk) -> Iterator[Document]:
    """Yield the documents of the texts that functions named like prompts give."""
    for name, nodes in walk.file.functions.items():
        named = called(name)
        for node in nodes:
            what = named or _part_of_prompt(walk, node)
            if what is None:
                continue
            walk.steps[0] = MAX_STEPS
            for draft in draft_of(name, node, _built(walk, node), what):
                yield document(walk.source, walk.language.grammar, draft)


def _built(walk: Walk, function: Node) -> Value:
    """Return the text that a function gives, or else writes into a text that it is given."""
    language = walk.language
    taken = {
        walk.text(name)
        for name, kind in language.parameters(function)
        if kind is not None and language.is_written(walk.text(kind))
    }
    inner = _followed(walk, Declared(walk.file, function), [], taken)
    if inner is None:
        return NOTHING
    written = (inner.names.get(name, NOTHING) for name in sorted(taken))
    return inner.returned if inner.returned.printed else next(written, inner.returned)


def _part_of_prompt(walk: Walk, function: Node) -> Called | None:
    """Return what a method gives where its interface is one of prompts: ``PromptSection``."""
    interface = walk.language.interface(walk.source, function)
    return Called.CONTEXT if interface and called(interface) is not None else None


def result(walk: Walk, function: Declared, args: Sequence[Value]) -> Value:
    """Return what a function gives."""
    inner = _followed(walk, function, args)
    return inner.returned if inner is not None else NOTHING


def written_into(walk: Walk, function: Declared, args: Sequence[Node]) -> bool:
    """Follow a call of a function that writes into a text it is given; False where none does."""
    language = walk.language
    taken = [
        (function.file.text(name), arg)
        for (name, kind), arg in zip(language.parameters(function.node), args, strict=False)
        if kind is not None and language.is_written(function.file.text(kind))
    ]
    if not taken:
        return False
    inner = _followed(walk, function, [evaluate(walk, arg) for arg in args], {n for n, _ in taken})
    for name, arg in taken if inner is not None else ():
        assert inner is not None
        target = re.sub(r"^&(mut\b)?\s*", "", walk.text(arg))
        walk.add(target, inner.names.get(name, NOTHING).printed)
    return True


def _followed(
    walk: Walk, function: Declared, args: Sequence[Value], empty: Container[str] = ()
) -> Walk | None:
    """Return the walk of a function at its end; None where calls are nested too deeply.

    Parameters in ``empty`` hold no text yet, whatever the caller's do.
    """
    if walk.depth > MAX_DEPTH:
        return None
    inner = walk.inside(function.file, walk.language.owner(function.file.source, function.node))
    for index, (name, kind) in enumerate(walk.language.parameters(function.node)):
        text = inner.text(name)
        if kind is not None and walk.language.is_map(inner.text(kind)):
            inner.maps.add(text)
        if text in empty:
            inner.names[text] = text_of(())
        elif index < len(args) and args[index] is not NOTHING:
            inner.names[text] = args[index]
    body = function.node.get("body")
    if body is not None:
        walk.language.follow(inner, body)
    return inner


def evaluate(walk: Walk, node: Node) -> Value:
    """Return what is known of an expression."""
    handler = walk.language.expressions.get(node.kind)
    return handler(walk, node) if handler is not None and walk.spend() else NOTHING


def evaluate_all(walk: Walk, nodes: Sequence[Node]) -> list[Value]:
    """Return what is known of each of several expressions."""
    return [evaluate(walk, node) for node in nodes]


def printed(walk: Walk, node: Node) -> tuple[Part, ...]:
    """Return the text of an expression, at the place where it is written."""
    return walk.placed(node, evaluate(walk, node))


def changing(walk: Walk, node: Node) -> list[Part]:
    """Return the parts of an expression's text that are not fixed."""
    return [part for part in printed(walk, node) if part.text is None]


def items(walk: Walk, nodes: Sequence[Node]) -> list[Value]:
    """Return texts as the elements of a list."""
    return [text_of(printed(walk, node)) for node in nodes]


def elements(walk: Walk, node: Node) -> Value:
    """Return a list that is written out."""
    return list_of(items(walk, node.kids))


def joined(value: Value) -> Value:
    """Return the elements of a list as one text."""
    return text_of(part for item in value.items or () for part in item.printed)


def total(walk: Walk, node: Node) -> Value:
    """Return texts that are added; a long row of them is no deep nest."""
    operands: list[Node] = []
    at: Node | None = node
    while at is not None and at.kind == "binary_expression":
        right = at.get("right")
        operands += [right] if right is not None else []
        at = at.get("left")
    operands += [at] if at is not None else []
    return text_of(part for operand in reversed(operands) for part in printed(walk, operand))


def variable(walk: Walk, node: Node) -> Value:
    """Return what a name holds."""
    text = walk.text(node)
    if text in walk.names:
        return walk.names[text]
    return declared(walk, text) or walk.unknown(node, text)


def declared(walk: Walk, name: str) -> Value | None:
    """Return the text of a constant of this file or of one that it uses; None for others."""
    found = walk.constant(name) if walk.depth < MAX_DEPTH else None
    if found is None:
        return None
    value = evaluate(walk.inside(found.file), found.node)
    return value if value.printed else None


def last_inside(walk: Walk, node: Node) -> Value:
    """Return the value of what only wraps another expression."""
    return evaluate(walk, node.kids[-1]) if node.kids else NOTHING


def arisen(walk: Walk, node: Node, dotted: str) -> Value | None:
    """Return the value of what changes by itself, by the language's table; None for others."""
    row = walk.language.arising("call", dotted)
    return None if row is None or row.origin is None else walk.arisen(node, row.origin, row.label)
