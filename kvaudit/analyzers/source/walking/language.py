"""What a language adds to the common walk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from kvaudit.analyzers.reader import Project
from kvaudit.analyzers.source.arising import Arising
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import Shape, Value
from kvaudit.analyzers.source.walking.state import Walk
from kvaudit.core.sources import Source


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Language:
    """A language whose functions build text from statements and expressions."""

    grammar: str
    """Also the kind of its documents."""
    functions: frozenset[str]
    """Kinds of nodes that are functions."""
    constants: frozenset[str]
    """Kinds of nodes that give a value to a name for good."""
    arising: Callable[[str, str], Arising[Shape] | None]
    """The row of the language's table for a ``call`` or an ``attribute``."""
    owner: Callable[[Source, Node], str]
    """The type that a method belongs to; empty for a function of none."""
    parameters: Callable[[Node], Iterable[tuple[Node, Node | None]]]
    """Names and types that a function takes, in order."""
    is_map: Callable[[str], bool]
    """Whether a type, as it is written, is a map whose order is drawn anew."""
    is_written: Callable[[str], bool]
    """Whether a type, as it is written, is of a text that a function writes into."""
    follow: Callable[[Walk, Node], None]
    """Follows the body of a function, and gives what it returns."""
    expressions: Mapping[str, Callable[[Walk, Node], Value]]
    """What is known of an expression, by its kind."""
    package: Callable[[Source, Project, str], Iterable[Source]]
    """Files that a file's names may be declared in, for a name as it is written there."""
    declares: Callable[[str], str]
    """Pattern of a line that declares a name on a file's own level."""
    interface: Callable[[Source, Node], str] = lambda source, node: ""
    """What a method's type promises by it; empty where the language does not say so there."""
    ignored: Callable[[Source, Node], bool] = lambda source, node: False
    """Whether what stands in a node is not looked at, such as a module of tests."""
