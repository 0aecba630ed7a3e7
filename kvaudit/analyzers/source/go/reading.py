"""Go as a language of the common walk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from kvaudit.analyzers.reader import Project
from kvaudit.analyzers.source.arising import lookup_in
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import Shape
from kvaudit.analyzers.source.go.expressions import EXPRESSIONS
from kvaudit.analyzers.source.go.statements import FUNCTIONS, is_map, statement
from kvaudit.analyzers.source.walking.follow import read_functions
from kvaudit.analyzers.source.walking.language import Language
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_WRITTEN = re.compile(r"\*(strings\.Builder|bytes\.Buffer)|io\.(String)?Writer")


def read_go(source: Source, project: Project) -> Sequence[Document]:
    """Return the prompts that a file builds. Raises `Unreadable`."""
    return read_functions(source, project, _GO)


def _parameters(function: Node) -> Iterator[tuple[Node, Node | None]]:
    listed = function.get("parameters")
    for declared in listed.kids if listed is not None else ():
        for name in declared.kids:
            if name.kind == "identifier":
                yield name, declared.get("type")


def _receiver(source: Source, function: Node) -> str:
    """Return the type of a method's receiver: ``Agent`` of ``(a *Agent)``."""
    listed = function.get("receiver")
    kind = listed.kids[0].get("type") if listed is not None and listed.kids else None
    return source.text[kind.start : kind.end].lstrip("*") if kind is not None else ""


def _package(source: Source, project: Project, name: str) -> Iterator[Source]:
    """Yield the files of a file's own package, or of the one before a name: ``prompts.Base``."""
    package, dot, _ = name.partition(".")
    folders = ["."]
    if dot:
        imported = re.findall(rf'"([\w./-]*/{re.escape(package)})"', source.text)
        # The module's own name stands before the path, and how much of it is not known.
        folders = ["/".join(imported[0].split("/")[at:]) for at in range(9)] if imported else []
    for folder in filter(None, folders):
        found = [one for one in project.folder(source, folder, ".go") if not _is_test(one)]
        if found:
            yield from found
            return


def _is_test(source: Source) -> bool:
    return source.path.endswith("_test.go")


_GO = Language(
    grammar="go",
    functions=FUNCTIONS,
    constants=frozenset(("const_spec", "var_spec")),
    arising=lookup_in(Path(__file__).with_name("sources.toml"), Shape),
    owner=_receiver,
    parameters=_parameters,
    is_map=is_map,
    is_written=lambda kind: _WRITTEN.fullmatch(kind) is not None,
    follow=statement,
    package=_package,
    declares=lambda name: (
        rf"^(const|var)\s+{name}\b|^func\s+(\([^)]*\)\s*)?{name}\(|^\t{name}\s+(\w+\s+)?="
    ),
    expressions=EXPRESSIONS,
)
