"""The walk that Go and Rust share: from a file to the prompts that its functions build."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from kvaudit.analyzers.reader import Project
from kvaudit.analyzers.source.ecmascript.documents import document
from kvaudit.analyzers.source.ecmascript.named import draft_of
from kvaudit.analyzers.source.ecmascript.names import called
from kvaudit.analyzers.source.ecmascript.tree import Node, parse
from kvaudit.analyzers.source.ecmascript.values import NOTHING, Value, list_of, text_of
from kvaudit.analyzers.source.parts import Part
from kvaudit.analyzers.source.walking.language import Language
from kvaudit.analyzers.source.walking.state import MAX_DEPTH, MAX_STEPS, Walk
from kvaudit.core.document import Document
from kvaudit.core.sources import Source


def read_functions(source: Source, project: Project, language: Language) -> Sequence[Document]:
    """Return the prompts that a file's functions build. Raises `Unreadable`."""
    functions: dict[str, list[Node]] = defaultdict(list)
    constants: dict[str, Node] = {}
    for node in _looked_at(parse(source.text, language.grammar), source, language):
        name, value = node.get("name"), node.get("value")
        if name is None:
            continue
        text = source.text[name.start : name.end]
        if node.kind in language.functions:
            functions[text].append(node)
        elif node.kind in language.constants and value is not None:
            constants.setdefault(text, value)
    walk = Walk(source, language, functions, constants, project.variables)
    return [made for made in _documents(walk) if made.segments]


def _looked_at(root: Node, source: Source, language: Language) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        if not language.ignored(source, node):
            yield node
            stack.extend(reversed(node.kids))


def _documents(walk: Walk) -> Iterator[Document]:
    """Yield the documents of the texts that functions named like prompts give."""
    for name, nodes in walk.functions.items():
        what = called(name)
        for node in nodes if what is not None else ():
            assert what is not None
            walk.steps[0] = MAX_STEPS
            for draft in draft_of(name, node, result(walk, node, []), what):
                yield document(walk.source, walk.language.grammar, draft)


def result(walk: Walk, function: Node, args: Sequence[Value]) -> Value:
    """Return what a function gives."""
    if walk.depth > MAX_DEPTH:
        return NOTHING
    inner = walk.inside(walk.language.owner(walk.source, function))
    for index, (name, kind) in enumerate(walk.language.parameters(function)):
        text = walk.text(name)
        if kind is not None and walk.language.is_map(walk.text(kind)):
            inner.maps.add(text)
        if index < len(args) and args[index] is not NOTHING:
            inner.names[text] = args[index]
    body = function.get("body")
    if body is not None:
        walk.language.follow(inner, body)
    return inner.returned


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
    if text in walk.constants and walk.depth < MAX_DEPTH:
        return evaluate(walk.inside(), walk.constants[text])
    return walk.unknown(node, text)


def last_inside(walk: Walk, node: Node) -> Value:
    """Return the value of what only wraps another expression."""
    return evaluate(walk, node.kids[-1]) if node.kids else NOTHING


def arisen(walk: Walk, node: Node, dotted: str) -> Value | None:
    """Return the value of what changes by itself, by the language's table; None for others."""
    row = walk.language.arising("call", dotted)
    return None if row is None or row.origin is None else walk.arisen(node, row.origin, row.label)
