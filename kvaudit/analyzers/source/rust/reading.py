"""Rust as a language of the common walk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from kvaudit.analyzers.reader import Project
from kvaudit.analyzers.source.arising import lookup_in
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import Shape
from kvaudit.analyzers.source.rust.expressions import EXPRESSIONS
from kvaudit.analyzers.source.rust.statements import FUNCTIONS, body, is_map
from kvaudit.analyzers.source.walking.follow import read_functions
from kvaudit.analyzers.source.walking.language import Language
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_WRITTEN = re.compile(r"&\s*('\w+\s+)?mut\s+(String|(impl|dyn)\s+(\w+::)*Write)")


def read_rust(source: Source, project: Project) -> Sequence[Document]:
    """Return the prompts that a file builds. Raises `Unreadable`."""
    return read_functions(source, project, _RUST)


def _parameters(function: Node) -> Iterator[tuple[Node, Node | None]]:
    listed = function.get("parameters")
    for declared in listed.kids if listed is not None else ():
        name = declared.get("pattern") if declared.kind == "parameter" else None
        if name is not None:
            yield name, declared.get("type")


def _implemented(source: Source, function: Node) -> str:
    """Return the type whose ``impl`` a function stands in."""
    around = function.above("impl_item", "trait_item")
    kind = around.get("type", "name") if around is not None else None
    return source.text[kind.start : kind.end] if kind is not None else ""


def _trait(source: Source, function: Node) -> str:
    """Return the trait that a method is written for: ``PromptSection`` of ``impl X for Y``."""
    around = function.above("impl_item")
    kind = around.get("trait") if around is not None else None
    if kind is None:
        return ""
    return source.text[kind.start : kind.end].partition("<")[0].rpartition("::")[2]


def _of_tests(source: Source, node: Node) -> bool:
    name = node.get("name") if node.kind == "mod_item" else None
    return name is not None and source.text[name.start : name.end] in ("tests", "test")


def _crate(source: Source, project: Project, name: str) -> Iterator[Source]:
    """Yield the files of the modules that a name is of: ``crate::prompts::BASE``, or by a ``use``.

    A module lies in a file of its name, or in a folder of its name as ``mod.rs``.
    """
    path = re.split(r"\.|::", name)
    if len(path) == 1:
        used = _USED.format(name=re.escape(name))
        found = re.search(used, source.text)
        path = [*re.split(r"::", found[1]), name] if found is not None else path
    modules = [part for part in path[:-1] if part not in ("crate", "super", "self")]
    if not modules or not all(re.fullmatch(r"\w+", module) for module in modules):
        return
    for places in ("/".join(modules), f"src/{'/'.join(modules)}", modules[-1]):
        for candidate in (f"{places}.rs", f"{places}/mod.rs"):
            other = project.sibling(source, candidate)
            if other is not None:
                yield other


_USED = r"\buse\s+([\w:]+)::(?:\{{[^}}]*\b)?{name}\b"

_RUST = Language(
    grammar="rust",
    functions=FUNCTIONS,
    constants=frozenset(("const_item", "static_item")),
    arising=lookup_in(Path(__file__).with_name("sources.toml"), Shape),
    owner=_implemented,
    parameters=_parameters,
    is_map=is_map,
    is_written=lambda kind: _WRITTEN.fullmatch(kind) is not None,
    follow=body,
    package=_crate,
    declares=lambda name: rf"\b(fn|const|static)\s+{name}\b",
    expressions=EXPRESSIONS,
    interface=_trait,
    ignored=_of_tests,
)
