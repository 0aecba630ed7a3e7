"""From promptfoo's configuration to one document a prompt.

A prompt is text, or messages as JSON inside of it. JSON in a block scalar is scanned where it
stands in the file, so that its places are exact.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.reader import Project, Unreadable
from kvaudit.analyzers.template.messages.builder import PromptBuilder
from kvaudit.analyzers.template.messages.read import document_of
from kvaudit.analyzers.template.messages.shapes import body_of
from kvaudit.analyzers.template.structure.json_scan import scan_json
from kvaudit.analyzers.template.structure.node import Kind, Node
from kvaudit.analyzers.template.structure.yaml_events import scan_yaml
from kvaudit.core.document import Document, Position
from kvaudit.core.sources import Source, Span

MAX_PROMPTS = 200
_FILE = "file://"
_TEXT_FILES = (".txt", ".md", ".njk")


def read_config(source: Source, project: Project) -> list[Document]:
    """Return a document for every prompt of a configuration. Raises `Unreadable`."""
    found: list[Document] = []
    for root in scan_yaml(source.text):
        given = root.get("prompts")
        for node, name in [] if given is None else _prompts(given):
            for document in _documents(source, node, name, project):
                if len(found) < MAX_PROMPTS:
                    found.append(document)
    return found


def _prompts(given: Node) -> Iterator[tuple[Node, str]]:
    """Yield the texts of prompts with their names."""
    if given.kind is Kind.MAP:  # file to label
        yield from (
            (key, item.text or str(key.value))
            for key, item in zip(given.keys, given.items, strict=True)
        )
        return
    for number, item in enumerate(given.items if given.kind is Kind.LIST else [given]):
        if item.kind is Kind.TEXT:
            yield item, f"prompts.{number}"
        elif item.kind is Kind.MAP:
            text = item.get("raw", "id", "prompt")
            if text is not None and text.kind is Kind.TEXT:
                yield text, item.word("label", "display") or f"prompts.{number}"


def _documents(source: Source, node: Node, name: str, project: Project) -> Iterator[Document]:
    text = node.text or ""
    if text.startswith(_FILE) or _names_a_file(text):
        yield from _of_file(source, text.removeprefix(_FILE).strip(), name, project)
        return
    builder = PromptBuilder(source, "promptfoo", project.variables)
    document = _messages(source, node, name, builder)
    if document is None:
        document = _plain(node, name, builder)
    if document is not None:
        yield document


def _names_a_file(text: str) -> bool:
    return "\n" not in text and " " not in text.strip() and text.strip().endswith(_TEXT_FILES)


def _of_file(source: Source, path: str, name: str, project: Project) -> Iterator[Document]:
    """Read a text file; JSON and YAML beside it have readers of their own."""
    file = project.sibling(source, path) if path.lower().endswith(_TEXT_FILES) else None
    if file is None or not file.text.strip():
        return
    at = 0
    for part in file.text.split("\n---\n"):
        node = Node(Kind.TEXT, Span(at, at + len(part)), part)
        found = _plain(node, name, PromptBuilder(file, "promptfoo", project.variables))
        if found is not None:
            yield found
        at += len(part) + len("\n---\n")


def _messages(source: Source, node: Node, name: str, builder: PromptBuilder) -> Document | None:
    """Read messages that stand as JSON in a block scalar."""
    text = (node.text or "").strip()
    if text[:1] not in ("[", "{") or source.text[node.span.start] not in "|>":
        return None
    begin = source.text.find(text[0], node.span.start)
    try:
        body = body_of(scan_json(source.text, begin, node.span.end))
    except Unreadable:
        return None
    if body is None:
        return None
    return document_of(body, name, builder, multi_turn="_conversation" in text)


def _plain(node: Node, name: str, builder: PromptBuilder) -> Document | None:
    """Read a text; providers of chats get it as the user's message."""
    builder.next_block()
    builder.add(node, Position.NEWEST)
    return builder.document(
        name, provider=None, model=None, multi_turn="_conversation" in (node.text or "")
    )
