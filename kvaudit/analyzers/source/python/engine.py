"""What is known while one file is read: modules, what functions return, calls that were seen.

Every function is followed once with its parameters left open; a call then puts its arguments
in. Steps are counted, not seconds, so that the same file gives the same result everywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from kvaudit.analyzers.reader import Project
from kvaudit.analyzers.source.python.imported import imported_by
from kvaudit.analyzers.source.python.module import Function, Module, module_of
from kvaudit.analyzers.source.python.once import Once
from kvaudit.analyzers.source.python.values import Code, Value
from kvaudit.core.document import Origin
from kvaudit.core.sources import Source

MAX_STEPS = 60_000
"""Expressions that are looked at for one file; a long module of prompts takes about 10,000."""

MAX_DEPTH = 6
"""Calls inside calls that are followed."""


class Phase(Enum):
    """When code runs, which decides how often what it reads can change."""

    IMPORT = auto()
    SESSION = auto()
    """In a constructor, or in a function that remembers its result."""
    CALL = auto()


@dataclass(slots=True)
class Unit:
    """A function, or a file's own level, that was followed on its own."""

    module: Module
    """Where it stands: a function that a call reaches may be another module's."""
    node: Function | None
    owner: ast.ClassDef | None = None
    env: dict[str, Value] = field(default_factory=dict)
    result: Value | None = None
    returns: list[tuple[ast.expr, Value]] = field(default_factory=list)
    texts: list[Filled] = field(default_factory=list)
    phase: Phase = Phase.CALL
    nodes: list[ast.AST] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    """The calls that were met in it."""
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    main: bool = False
    """Runs only where the file is started as a program."""

    @property
    def name(self) -> str:
        """The name the user gave it; empty for the file's own level."""
        return self.node.name if self.node is not None else ""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A call that was met, with what its arguments are."""

    unit: Unit
    node: ast.Call
    dotted: str
    code: Code | None
    args: Sequence[Value]
    named: Mapping[str, Value]
    loops: tuple[ast.AST, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """A template that was filled with values, or a value that took a name of prompts."""

    name: str
    node: ast.AST
    value: Value
    opaque: bool = False
    """The template's own text is not known."""
    loops: tuple[ast.AST, ...] = ()
    into: ast.expr | None = None
    """The conversation whose first message it becomes."""


@dataclass(slots=True)
class Frame:
    """A function while it is followed."""

    module: Module
    env: dict[str, Value]
    phase: Phase
    unit: Unit | None
    """Set where calls are to be noted: in the file's own functions, followed once."""
    owner: ast.ClassDef | None = None
    closure: Mapping[str, Value] | None = None
    depth: int = 0
    loops: tuple[ast.AST, ...] = ()
    switches: Mapping[str, bool] = field(default_factory=dict)
    """Parameters that are on or off unless a caller says otherwise."""
    annotations: Mapping[str, ast.expr] = field(default_factory=dict)
    """Parameters and their types as they are written."""
    returned: Value | None = None
    yielded: list[Value] = field(default_factory=list)


class Engine:
    """Everything that one reading of a file shares."""

    def __init__(self, source: Source, project: Project) -> None:
        """Parse the file. Raises `Unreadable`."""
        self.project = project
        self.module = imported_by(project).met(source) or module_of(source)
        self.seen: list[Seen] = []
        self.units: list[Unit] = []
        self.nested: list[Code] = []
        """Functions inside functions, which are followed after the outer one."""
        self.steps = MAX_STEPS
        self.once = Once(self)
        self._imported: dict[tuple[str, str], Module | None] = {}
        self._modules: dict[str, Module | None] = {}

    def spend(self) -> bool:
        """Count a step; False once there are none left."""
        self.steps -= 1
        return self.steps > 0

    def note(self, seen: Seen) -> None:
        """Keep a call that was met."""
        self.seen.append(seen)
        seen.unit.seen.append(seen)

    def other_module(self, module: Module, dotted: str) -> Module | None:
        """Return a module of the project that another one imports."""
        key = (module.source.path, dotted)
        if key not in self._imported:
            source = self.project.module(module.source, dotted)
            self._imported[key] = None if source is None else self._parsed(source)
        return self._imported[key]

    def _parsed(self, source: Source) -> Module | None:
        if source.path == self.module.source.path:
            return self.module
        # One reading has one module of a file, whatever has to make room meanwhile.
        if source.path not in self._modules:
            self._modules[source.path] = imported_by(self.project).module(source)
        return self._modules[source.path]


LASTS_A_SESSION = {
    # A day that is read once stays the day that all sessions of it share.
    Origin.CLOCK: Origin.SESSION,
    Origin.RANDOM: Origin.SESSION,
    Origin.COUNTER: Origin.SESSION,
    Origin.LIVE_STATE: Origin.DEPLOY,
    Origin.RETRIEVED: Origin.SESSION,
    Origin.OBJECT_REPR: Origin.OBJECT_REPR,
}
"""What a value is once it was read, for as long as one conversation goes on."""
_LASTS_A_PROCESS = {
    **LASTS_A_SESSION,
    Origin.CLOCK: Origin.DEPLOY,
    Origin.DATE: Origin.DEPLOY,
    Origin.RANDOM: Origin.DEPLOY,
    Origin.RETRIEVED: Origin.DEPLOY,
}
_FOLDER = "reads the working directory"
_GONE_ONCE_KEPT = {"shuffled-examples", "retrieval-order"}


def aged(value: Value, phase: Phase) -> Value:
    """Return what a value is once it was kept: what was read once does not change per call."""
    from kvaudit.analyzers.source.parts import Hazard
    from kvaudit.analyzers.source.python.values import Part, changed

    if phase is Phase.CALL:
        return value
    table = _LASTS_A_PROCESS if phase is Phase.IMPORT else LASTS_A_SESSION

    def age(part: Part) -> tuple[Part, ...]:
        hazards = tuple(h for h in part.hazards if h.kind not in _GONE_ONCE_KEPT)
        if phase is Phase.IMPORT and any(step.label == _FOLDER for step in part.trail):
            # The folder that a module was loaded in says where the program lies.
            return (replace(part.of(Origin.HOST), hazards=hazards),)
        if part.text is not None or part.is_hole or part.origin not in table:
            return (part if hazards == part.hazards else replace(part, hazards=hazards),)
        fresh = part.origin in (Origin.CLOCK, Origin.DATE, Origin.RANDOM)
        kept = replace(part.of(table[part.origin]), hazards=hazards)
        if phase is Phase.IMPORT and fresh:
            frozen = Hazard(
                "frozen-at-import", part.source, part.span, f"{part.expression} is read once"
            )
            kept = replace(kept, hazards=(*hazards, frozen))
        return (kept,)

    hazards = tuple(h for h in value.hazards if h.kind not in _GONE_ONCE_KEPT)
    return replace(changed(value, age), hazards=hazards)
