"""YAML with places, built from the parser's events.

PyYAML's own composer recurses, and an alias stands for its whole target; here the tree is built
with a stack, and an alias shares the node it names, so that neither depth nor aliases of aliases
cost anything. Walkers bound themselves by what a request looks like.
"""

from __future__ import annotations

import re
from typing import Any

from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.template.giants import refuse_giants
from kvaudit.analyzers.template.structure.node import MAX_DEPTH, Kind, Node
from kvaudit.core.sources import Span

_WORDS = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False}
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
MAX_NODES = 400_000


def scan_yaml(text: str) -> list[Node]:
    """Return the value of every document in a YAML file. Raises `Unreadable`."""
    import yaml

    refuse_giants(len(text))
    try:
        return _documents(text, text)
    except yaml.YAMLError as first:
        # A tab between the tokens of JSON inside YAML is refused; a blank has the same width.
        if "\t" in text:
            try:
                return _documents(text, text.replace("\t", " "))
            except yaml.YAMLError:
                pass
        raise Unreadable(f"it is not YAML: {_reason(first)}") from None


def _reason(error: Exception) -> str:
    problem = getattr(error, "problem", None) or "it cannot be parsed"
    mark = getattr(error, "problem_mark", None)
    return f"{problem} in line {mark.line + 1}" if mark is not None else str(problem)


def _documents(text: str, parsed: str) -> list[Node]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder(text)
    for event in yaml.parse(parsed, Loader=loader):
        builder.take(event)
    return builder.roots


class _Builder:
    """Takes events one by one; open maps and lists lie on a stack."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.roots: list[Node] = []
        self._open: list[tuple[Node, str | None]] = []
        self._keys: list[Node | None] = []
        self._anchors: dict[str, Node] = {}
        self._count = 0

    def take(self, event: Any) -> None:
        """Add what an event says."""
        name = type(event).__name__
        if name == "ScalarEvent":
            node = self._scalar(event)
            self._remember(event.anchor, node)
            self._add(node)
        elif name in ("MappingStartEvent", "SequenceStartEvent"):
            kind = Kind.MAP if name[0] == "M" else Kind.LIST
            node = Node(kind, Span(event.start_mark.index, event.end_mark.index))
            self._remember(event.anchor, node)
            self._open.append((node, event.anchor))
            self._keys.append(None)
            if len(self._open) > MAX_DEPTH:
                raise Unreadable(f"it is nested more than {MAX_DEPTH} levels deep")
        elif name in ("MappingEndEvent", "SequenceEndEvent"):
            node, _ = self._open.pop()
            self._keys.pop()
            self._add(self._closed(node, event.end_mark.index))
        elif name == "AliasEvent":
            target = self._anchors.get(event.anchor)
            if target is None or any(target is node for node, _ in self._open):
                raise Unreadable(f"the alias *{event.anchor} has no target before it")
            self._add(target)
        elif name == "DocumentStartEvent":
            self._anchors.clear()

    def _remember(self, anchor: str | None, node: Node) -> None:
        self._count += 1
        if self._count > MAX_NODES:
            raise Unreadable(f"it has more than {MAX_NODES:,} values, which no prompt has")
        if anchor:
            self._anchors[anchor] = node

    def _add(self, node: Node) -> None:
        if not self._open:
            self.roots.append(node)
            return
        parent, _ = self._open[-1]
        if parent.kind is Kind.LIST:
            parent.items.append(node)
        elif self._keys[-1] is None:
            self._keys[-1] = node
        else:
            parent.keys.append(self._keys[-1])
            parent.items.append(node)
            self._keys[-1] = None

    def _closed(self, node: Node, end: int) -> Node:
        """Give a map or list its end: of a block style one, the end of its last value."""
        if node.items and self.text[node.span.start : node.span.start + 1] not in ("{", "["):
            end = node.items[-1].span.end
        node.span = Span(node.span.start, max(end, node.span.start))
        if self.text.startswith("{{", node.span.start):  # a hole reads as a map in a map
            return Node(Kind.HOLE, node.span, self.text[node.span.start : node.span.end])
        return node

    def _scalar(self, event: Any) -> Node:
        start, end = event.start_mark.index, event.end_mark.index
        raw = self.text[start:end]
        trimmed = raw.rstrip()
        span = Span(start, start + len(trimmed)) if event.style in ("|", ">") else Span(start, end)
        value: str = event.value
        if event.style is None or event.style == "":
            lower = value.lower()
            if lower in _WORDS:
                return Node(Kind.FLAG, span, _WORDS[lower])
            if lower in ("", "~", "null"):
                return Node(Kind.NULL, span)
            if _NUMBER.fullmatch(value):
                return Node(Kind.NUMBER, span, float(value.replace("_", "")))
        return Node(Kind.TEXT, span, value, escaped=value not in self.text[span.start : span.end])
