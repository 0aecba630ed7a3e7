"""From a file to the request bodies in it, and from each to a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from kvaudit.analyzers.reader import Project
from kvaudit.analyzers.template.messages.builder import PromptBuilder
from kvaudit.analyzers.template.messages.directives import observe_directives
from kvaudit.analyzers.template.messages.rendered import render
from kvaudit.analyzers.template.messages.shapes import Body, body_of
from kvaudit.analyzers.template.structure.holes import syntax_of
from kvaudit.analyzers.template.structure.json_scan import scan_json
from kvaudit.analyzers.template.structure.node import Kind, Node
from kvaudit.analyzers.template.structure.yaml_events import scan_yaml
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

MAX_BODIES = 200
"""A file with more of them is a data set, whose bodies say nothing new."""
MAX_LEVELS = 8
MAX_NODES = 50_000


def read_messages(source: Source, project: Project) -> list[Document]:
    """Return a document for each request body in a file. Raises `Unreadable`."""
    found: list[Document] = []
    said_to_be = "prompt" in source.path.lower()
    for body, name in _bodies(roots_of(source)):
        syntax = syntax_of(source.text[slice(*body.node.span)], named=said_to_be)
        builder = PromptBuilder(source, "messages", project.variables, syntax=syntax)
        document = document_of(body, name, builder)
        if document is not None:
            found.append(document)
            if len(found) == MAX_BODIES:
                break
    return found


def roots_of(source: Source) -> Sequence[Node]:
    """Return the values of a file, as JSON or YAML by its name."""
    if PurePosixPath(source.path).suffix.lower() in (".yaml", ".yml"):
        return scan_yaml(source.text)
    return [scan_json(source.text)]


def document_of(
    body: Body, name: str, builder: PromptBuilder, *, multi_turn: bool | None = None
) -> Document | None:
    """Return the document of a body; a single one is taken for the beginning of a conversation."""
    goes_on = render(body, builder)
    observe_directives(body, builder)
    return builder.document(
        name or PurePosixPath(builder.source.path).name,
        provider=body.provider,
        model=body.model,
        multi_turn=True if multi_turn is None else multi_turn or goes_on,
    )


def _bodies(roots: Sequence[Node]) -> Iterator[tuple[Body, str]]:
    """Yield every body in a tree with the path to it, in order; none inside another."""
    waiting: list[tuple[Node, str, int]] = [(root, "", 0) for root in reversed(roots)]
    seen: set[int] = set()
    while waiting and len(seen) < MAX_NODES:
        node, name, level = waiting.pop()
        if id(node) in seen or node.kind not in (Kind.MAP, Kind.LIST):
            continue
        seen.add(id(node))
        body = body_of(node)
        if body is not None:
            yield body, name
        elif level < MAX_LEVELS:
            waiting += [
                (item, f"{name}.{key}".strip("."), level + 1)
                for key, item in reversed(list(_below(node)))
            ]


def _below(node: Node) -> Iterator[tuple[str, Node]]:
    if node.kind is Kind.MAP:
        yield from node.pairs()
    else:
        yield from ((str(index), item) for index, item in enumerate(node.items))
