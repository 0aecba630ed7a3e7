"""What is known while one file is read: its module, other files, frames of called functions.

Values are asked for, not computed in advance: a name is followed to where it is declared and
to what is written to it. Steps are counted, not seconds, so that the same file gives the same
result everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kvaudit.analyzers.reader import Project, Unreadable
from kvaudit.analyzers.source.ecmascript.bindings import Binding, Imported
from kvaudit.analyzers.source.ecmascript.links import linked
from kvaudit.analyzers.source.ecmascript.module import Module, module_of
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import Value
from kvaudit.core.document import Origin
from kvaudit.core.sources import Source

MAX_STEPS = 60_000
"""Expressions that are looked at for one file; a long module of prompts takes about 10,000."""
MAX_DEPTH = 6
"""Calls inside calls that are followed."""
MAX_NESTING = 120
"""Expressions inside expressions that are followed."""
MAX_FILES = 24
"""Other files that one file's names are followed into."""

_ENDINGS = (".ts", ".tsx", ".js", ".mjs", ".jsx", ".mts", "/index.ts", "/index.js", "/index.tsx")
_PASSES_ON = "export *"


@dataclass(slots=True, eq=False)
class Frame:
    """A function while its result is looked for, with what its parameters are."""

    module: Module
    function: Node | None = None
    args: Mapping[str, Value] = field(default_factory=dict)
    outer: Frame | None = None
    depth: int = 0

    def of(self, function: Node | None) -> Frame | None:
        """Return the frame of a function around this one."""
        frame: Frame | None = self
        while frame is not None and frame.function is not function:
            frame = frame.outer
        return frame


class Engine:
    """Everything that one reading of a file shares."""

    def __init__(self, module: Module, project: Project) -> None:
        """Take the file that is read."""
        self.module = module
        self.project = project
        self.said: Mapping[str, Origin] = project.variables
        self.steps = MAX_STEPS
        self.nesting = 0
        self.touched: set[Node] = set()
        """Functions, declarations and objects that went into a prompt already."""
        self.folding: dict[tuple[Binding, Frame | None], Value] = {}
        """Names whose value is being put together, with what there is so far."""
        self.known: dict[tuple[Binding, Frame | None, int], Value] = {}
        self.turns: dict[Node, Value] = {}
        """Loops that are followed element by element, with the one of this turn."""
        self.members: set[Node] = set()
        """Assignments to members that are being followed."""
        self.calling: list[Node] = []
        self._roots: dict[Module, Frame] = {}
        self._sources: dict[tuple[str, str], Source | None] = {}
        self._modules: dict[str, Module | None] = {}

    def spend(self) -> bool:
        """Count a step; False once there are none left."""
        self.steps -= 1
        return self.steps > 0

    def root(self, module: Module) -> Frame:
        """Return the frame of a file's own level: one, so that its names are followed once."""
        if module not in self._roots:
            self._roots[module] = Frame(module)
        return self._roots[module]

    def file(self, module: Module, path: str) -> Module | None:
        """Return the file of the project that another one imports by a path."""
        source = self.source(module, path)
        return self._parsed(source) if source is not None else None

    def source(self, module: Module, path: str) -> Source | None:
        """Return the text of the file that another one imports by a path."""
        key = (module.source.path, path)
        if key not in self._sources:
            self._sources[key] = self._found(module, path)
        return self._sources[key]

    def _found(self, module: Module, path: str) -> Source | None:
        for name in linked(self.project, module.source, path):
            stem = name.removesuffix(".js").removesuffix(".mjs").removesuffix(".jsx")
            for candidate in (*(f"{stem}{ending}" for ending in _ENDINGS), name):
                source = self.project.sibling(module.source, candidate)
                if source is not None and source.path.endswith(_ENDINGS):
                    return source
        return None

    def _parsed(self, source: Source) -> Module | None:
        if source.path not in self._modules:
            room = sum(found is not None for found in self._modules.values()) < MAX_FILES
            try:
                self._modules[source.path] = module_of(source) if room else None
            except Unreadable:
                self._modules[source.path] = None
        return self._modules[source.path]

    def others(self) -> Iterator[Module]:
        """Yield the other files that were read so far."""
        return (module for module in self._modules.values() if module is not None)

    def exported(self, module: Module, name: str, depth: int = 4) -> tuple[Module, Node] | None:
        """Return where an exported name is declared, in this file or one it passes on."""
        found = module.exports.get(name)
        if isinstance(found, Imported):
            other = self.file(module, found.path)
            if other is None or found.name is None or depth == 0:
                return None
            return self.exported(other, found.name, depth - 1)
        if found is not None:
            return module, found
        for key, passed in module.exports.items():
            if key.startswith("*") and isinstance(passed, Imported) and depth:
                inner = self._passed_on(module, passed.path, name, depth - 1)
                if inner is not None:
                    return inner
        return None

    def _passed_on(
        self, module: Module, path: str, name: str, depth: int
    ) -> tuple[Module, Node] | None:
        """Return where a name is declared behind an ``export *``; most such files hold others."""
        source = self.source(module, path)
        if source is None or not (name in source.text or _PASSES_ON in source.text):
            return None
        other = self._parsed(source)
        return self.exported(other, name, depth) if other is not None else None
