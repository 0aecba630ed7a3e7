"""One file of a walked language: its functions and constants, and those of the files it uses."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from kvaudit.analyzers.reader import Project, Unreadable
from kvaudit.analyzers.source.ecmascript.tree import Node, parse
from kvaudit.core.sources import Source

if TYPE_CHECKING:
    from kvaudit.analyzers.source.walking.language import Language

MAX_FILES = 16
"""Other files that one file's names are looked up in."""


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """A parsed file, with what it declares by name."""

    source: Source
    functions: Mapping[str, Sequence[Node]]
    """By name; methods of several types may share one."""
    constants: Mapping[str, Node]

    def text(self, node: Node) -> str:
        """Return a node as it is written."""
        return self.source.text[node.start : node.end]


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """A function, or a constant's value, and the file it is declared in."""

    file: File
    node: Node


class Files:
    """The files that names of one file are looked up in; each is parsed once it is needed."""

    def __init__(self, source: Source, project: Project, language: Language) -> None:
        """Parse the file itself. Raises `Unreadable`."""
        self.project = project
        self._language = language
        self._others: dict[str, File | None] = {}
        self.own = declarations(source, language)

    def near(self, file: File, name: str) -> Iterator[File]:
        """Yield files that may declare what a file means by a name, with its path before it.

        A file without a line that declares it cannot, and is not parsed.
        """
        last = last_part(name)
        declares = re.compile(self._language.declares(re.escape(last)), re.MULTILINE)
        for source in self._language.package(file.source, self.project, name):
            if source.path != file.source.path and declares.search(source.text):
                found = self._parsed(source)
                if found is not None:
                    yield found

    def _parsed(self, source: Source) -> File | None:
        if source.path == self.own.source.path:
            return self.own
        if source.path not in self._others:
            self._others[source.path] = None
            if len(self._others) <= MAX_FILES:
                with suppress(Unreadable):
                    self._others[source.path] = declarations(source, self._language)
        return self._others[source.path]


def last_part(name: str) -> str:
    """Return a name without its path: ``BASE`` of ``crate::prompts::BASE``."""
    return re.split(r"[.:]", name)[-1]


@lru_cache(maxsize=64)
def declarations(source: Source, language: Language) -> File:
    """Return what a file declares; the last ones are kept, since the files of a package meet."""
    functions: dict[str, list[Node]] = defaultdict(list)
    constants: dict[str, Node] = {}
    for node in _looked_at(parse(source.text, language.grammar), source, language.ignored):
        name, value = node.get("name"), node.get("value")
        if name is None:
            continue
        text = source.text[name.start : name.end]
        if node.kind in language.functions:
            functions[text].append(node)
        elif node.kind in language.constants and value is not None:
            constants.setdefault(text, value)
    return File(source, functions, constants)


def _looked_at(
    root: Node, source: Source, ignored: Callable[[Source, Node], bool]
) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        if not ignored(source, node):
            yield node
            stack.extend(reversed(node.kids))
