"""Syntax trees with character offsets.

tree-sitter counts bytes of UTF-8, the linter counts characters; the tree is copied once into
plain nodes that know their characters, their fields and their parent.
"""

from __future__ import annotations

import gc
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.source.ecmascript.stand_ins import stood_in
from kvaudit.core.extras import load
from kvaudit.core.sources import Span

MAX_CHARACTERS = 1_500_000
"""A longer file was not written by a person."""
MAX_NODES = 400_000
MAX_DEPTH = 1_000
"""Deeper nesting than this is generated, or hostile."""
_MINIFIED_LINE = 5_000
LARGEST_ERROR = 500
"""Bytes that may be in no tree: a parser drops less than that where it does not know a new word
of a language, and more where a file is broken."""
SMALL_ERROR = 100
_LARGEST_SHARE, _LARGEST_SHARE_OF_SHORT = 50, 5
"""One byte in so many, likewise; in a file where that would be less than a small error, more."""
_CLOSING = frozenset(("}", "`", '"', "'"))
"""What is open up to the end of the file, or of the line, takes code for text."""
_CONFLICT = re.compile(r"^<{7} ", re.MULTILINE)
_KEPT_TOKENS = frozenset(("operator", "kind"))
_OPAQUE = frozenset((
    "string", "comment", "regex", "type_annotation", "type_arguments", "type_parameters",
    "interface_declaration", "type_alias_declaration", "enum_declaration",
    "ambient_declaration",
))  # fmt: skip
"""Nodes of which nothing below is asked for; types alone are a third of a TypeScript file."""
_DROPPED = frozenset(("string_fragment", "escape_sequence", "jsx_text"))

_GRAMMARS = {
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
}


class Node:
    """One named node of a syntax tree."""

    __slots__ = ("end", "fields", "kids", "kind", "parent", "start")

    def __init__(self, kind: str, start: int, end: int, parent: Node | None) -> None:
        """Take the kind and the characters; children are added as they are met."""
        self.kind = kind
        self.start = start
        self.end = end
        self.parent = parent
        self.kids: list[Node] = []
        self.fields: dict[str, Node] = {}

    @property
    def span(self) -> Span:
        """Its characters in the file."""
        return Span(self.start, self.end)

    def get(self, *names: str) -> Node | None:
        """Return the first field that it has."""
        for name in names:
            if name in self.fields:
                return self.fields[name]
        return None

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, in the order of the file."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.kids))

    def above(self, *kinds: str) -> Node | None:
        """Return the nearest node around this one that is of one of the kinds."""
        node = self.parent
        while node is not None and node.kind not in kinds:
            node = node.parent
        return node

    def ancestors(self) -> Iterator[Node]:
        """Yield the nodes around this one, from near to far."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


def missing_grammar(language: str) -> str | None:
    """Return why a language cannot be parsed here, or None."""
    import importlib.util

    for module in ("tree_sitter", _GRAMMARS[language][0]):
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed; install it with: pip install 'kvaudit[source]'"
    return None


def parse(text: str, language: str, *, fragment: bool = False) -> Node:
    """Return the root of a text's tree. Raises `Unreadable`.

    A parser goes on behind what it does not know. Of a file that is readable only in part it
    would be wrong to say that it was checked; of a ``fragment`` any part will do.
    """
    if len(text) > MAX_CHARACTERS:
        raise Unreadable(f"it is longer than {MAX_CHARACTERS:,} characters")
    if _is_minified(text):
        raise Unreadable("it is minified")
    data, tree = _parsed(text, language)
    if tree.root_node.has_error and not fragment:
        try:
            _check_readable(text, tree.root_node, len(data))
        except Unreadable:
            known = text if language in ("go", "rust") else stood_in(text)
            if known == text:
                raise
            data, tree = _parsed(known, language)
            _check_readable(text, tree.root_node, len(data))
            text = known
    with collector_paused():
        return _copied(tree.walk(), _offsets(text, len(data)))


def _parsed(text: str, language: str) -> tuple[bytes, Any]:
    data = text.encode("utf-8", "surrogatepass")
    return data, _parser(language).parse(data)


def _check_readable(text: str, root: Any, length: int) -> None:
    """Raise `Unreadable` where too much of a file is in no tree. Counts bytes."""
    lost, line = 0, 0
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "ERROR":
            lost += node.end_byte - node.start_byte
            line = line or node.start_point[0] + 1
            if b"`" in node.text:
                raise Unreadable(f"tree-sitter cannot parse it: an unpaired ` at line {line}")
        elif node.is_missing and node.type in _CLOSING:
            raise Unreadable(f"tree-sitter cannot parse it: a closing {node.type} is missing")
        else:
            stack.extend(child for child in reversed(node.children) if child.has_error)
    if lost and _CONFLICT.search(text):
        raise Unreadable("it holds a conflict of a merge")
    small = min(SMALL_ERROR, length // _LARGEST_SHARE_OF_SHORT)
    if lost > min(LARGEST_ERROR, max(small, length // _LARGEST_SHARE)):
        raise Unreadable(f"tree-sitter cannot parse it at line {line}")


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the collector out while many small objects are made, none of which is garbage.

    It would look at all that is alive again and again: two thirds of the time of a large file.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@cache
def _parser(language: str) -> Any:
    binding = load("tree_sitter", extra="source")
    module, function = _GRAMMARS[language]
    grammar = load(module, extra="source")
    return binding.Parser(binding.Language(getattr(grammar, function)()))


def _is_minified(text: str) -> bool:
    if len(text) < 2 * _MINIFIED_LINE:
        return False
    lines = text.count("\n") + 1
    # Long lines of data occur in written code; a whole file of them does not.
    return len(text) / lines > _MINIFIED_LINE / 10


def _offsets(text: str, length: int) -> Callable[[int], int]:
    """Return the function from byte offsets to characters."""
    if len(text) == length:
        return lambda at: at
    bytes_at: list[int] = [0]
    surplus_at: list[int] = [0]
    surplus = 0
    for found in re.finditer(r"[^\x00-\x7f]", text):
        surplus += len(found[0].encode("utf-8", "surrogatepass")) - 1
        bytes_at.append(found.end() + surplus)
        surplus_at.append(surplus)
    return lambda at: at - surplus_at[bisect_right(bytes_at, at) - 1]


def _copied(cursor: Any, offset: Callable[[int], int]) -> Node:
    """Copy a tree: named nodes, and the tokens that say which operator stands there."""
    here = cursor.node
    root = parent = Node(here.type, offset(here.start_byte), offset(here.end_byte), None)
    depth = count = 0
    descending = cursor.goto_first_child()
    while descending:
        here = cursor.node
        field = cursor.field_name
        node = parent
        kind = here.type
        if (here.is_named and kind not in _DROPPED) or field in _KEPT_TOKENS:
            node = Node(kind, offset(here.start_byte), offset(here.end_byte), parent)
            parent.kids.append(node)
            if field is not None:
                parent.fields.setdefault(field, node)
            count += 1
        if node is not parent and kind not in _OPAQUE and cursor.goto_first_child():
            parent = node
            depth += 1
            if depth > MAX_DEPTH or count > MAX_NODES:
                raise Unreadable(
                    "it is nested too deeply" if depth > MAX_DEPTH else "it is generated"
                )
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent() or parent.parent is None:
                descending = False
                break
            parent = parent.parent
            depth -= 1
    return root
