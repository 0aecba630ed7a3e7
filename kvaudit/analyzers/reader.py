"""What a reader is: how it knows its files, and how it turns one into documents.

A reader is one module (or package) in ``kvaudit/analyzers/template``, ``kvaudit/analyzers/source``
or ``kvaudit/analyzers/engine`` that defines ``READER``; the folders are the list. Nothing of an
audited project is ever executed: readers parse.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Protocol

from kvaudit.analyzers import engine as engine_readers
from kvaudit.analyzers import source as source_readers
from kvaudit.analyzers import template as template_readers
from kvaudit.core.document import Document, Origin
from kvaudit.core.sources import Source


class Sniffed(IntEnum):
    """How sure a reader is that a file is its own; content counts before the name."""

    NO = 0
    NAME = 1
    """The suffix or folder says so, and the content does not speak against it."""
    CONTENT = 2
    """The content has the marks of this kind."""
    CERTAIN = 3
    """The content cannot be another kind."""


class Unreadable(Exception):
    """A file that its reader cannot parse; the text says why, as a phrase."""


class Project(Protocol):
    """The other files of the audited project, read when they are asked for."""

    variables: Mapping[str, Origin]
    """What the user said about names, in ``[tool.kvaudit.variables]``."""

    def sibling(self, source: Source, name: str) -> Source | None:
        """Return the file that ``source`` refers to by a relative name or a template name.

        Looks beside it, then upwards to the project's root; never outside the root.
        """

    def folder(self, source: Source, name: str, ending: str) -> Sequence[Source]:
        """Return the files of a folder that ``source`` refers to by a relative name, by ending.

        Looks as `sibling` does.
        """

    def module(self, source: Source, dotted: str) -> Source | None:
        """Return the file of the Python module that ``source`` imports as ``dotted``.

        Leading dots mean a relative import. None for modules outside the project.
        """

    def mentions(self, source: Source, name: str, *, elsewhere: bool = False) -> bool:
        """Whether Python code of the project, tests left out, names a function of ``source``.

        With ``elsewhere`` its own file is left out. Also where the project is too large to tell.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One kind of file that holds prompts."""

    name: str
    """In kebab case; what rules list under ``inputs``, and documents carry as their kind."""
    title: str
    """One line for documentation."""
    suffixes: Sequence[str]
    """File names that are worth opening, as endings in lower case: ``.j2``, ``modelfile``."""
    sniff: Callable[[Source], Sniffed]
    read: Callable[[Source, Project], Sequence[Document]]
    """Raises `Unreadable`."""
    beside: bool = False
    """Whether it reads files of other readers as well: what it looks for stands among other things,
    such as a semantic cache in the configuration of a gateway that also routes."""
    missing: Callable[[], str | None] = field(default=lambda: None)
    """Why this reader cannot run here (an extra that is not installed), or None."""


@cache
def all_readers() -> tuple[Reader, ...]:
    """Return every reader, by name. Importing one is cheap: parsers are loaded when used."""
    found = [
        importlib.import_module(f"{package.__name__}.{module.name}").READER
        for package in (template_readers, source_readers, engine_readers)
        for module in pkgutil.iter_modules(package.__path__)
        if not module.name.startswith("_") and _defines_reader(package.__path__[0], module.name)
    ]
    return tuple(sorted(found, key=lambda reader: reader.name))


def _defines_reader(folder: str, name: str) -> bool:
    """Whether a module is a reader and no helper of one, told without importing it."""
    module = Path(folder, f"{name}.py")
    path = module if module.is_file() else Path(folder, name, "__init__.py")
    return "\nREADER = Reader(" in path.read_text("utf-8")


def is_called(path: str, endings: Sequence[str]) -> bool:
    """Whether a file's name has one of the endings; ``Dockerfile.gpu`` is a ``dockerfile``, too."""
    name = path.lower().rpartition("/")[2]
    return name.endswith(tuple(endings)) or name.partition(".")[0] in endings


def reader_for(source: Source) -> Reader | None:
    """Return the reader that is surest of a file; None where none takes it."""
    own, most = _surest(source, [reader for reader in all_readers() if not reader.beside])
    other, sure = _surest(source, [reader for reader in all_readers() if reader.beside])
    return own if most >= min(sure, Sniffed.CONTENT) else other


def readers_beside(source: Source, chosen: Reader) -> list[Reader]:
    """Return the readers that look at a file as well, whose reader is another one."""
    return [
        reader
        for reader in all_readers()
        if reader.beside and reader is not chosen and reader.sniff(source) >= Sniffed.CONTENT
    ]


def _surest(source: Source, readers: Sequence[Reader]) -> tuple[Reader | None, Sniffed]:
    best: Reader | None = None
    most = Sniffed.NO
    for reader in readers:
        sure = reader.sniff(source)
        if sure > most:
            best, most = reader, sure
    return best, most


def reader_by_name(source: Source) -> Reader | None:
    """Return the reader whose files are called so, for a file that the user says is a prompt.

    Of several the one whose own ending it is: a reader lists its own first, and last those of
    files that it takes only for what they hold.
    """
    fitting = [
        (len(ending), -rank, reader)
        for reader in all_readers()
        for rank, ending in enumerate(reader.suffixes)
        if is_called(source.path, [ending])
    ]
    return max(fitting, key=lambda found: found[:2])[2] if fitting else None
