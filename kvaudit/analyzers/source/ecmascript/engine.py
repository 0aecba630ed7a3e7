"""What is known while one file is read: its module, other files, frames of called functions.

Values are asked for, not computed in advance: a name is followed to where it is declared and
to what is written to it. Steps are counted, not seconds, so that the same file gives the same
result everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kvaudit.analyzers.reader import Project, Unreadable
from kvaudit.analyzers.source.ecmascript.bindings import Binding, Imported
from kvaudit.analyzers.source.ecmascript.module import Module, module_of
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import Value
from kvaudit.core.document import Origin

MAX_STEPS = 60_000
"""Expressions that are looked at for one file; a long module of prompts takes about 10,000."""
MAX_DEPTH = 6
"""Calls inside calls that are followed."""
MAX_NESTING = 120
"""Expressions inside expressions that are followed."""
MAX_FILES = 12
"""Other files that one file's names are followed into."""

_ENDINGS = (".ts", ".tsx", ".js", ".mjs", ".jsx", ".mts", "/index.ts", "/index.js", "/index.tsx")
_ALIASES = ("@/", "~/", "src/", "#")


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
        self._files: dict[tuple[str, str], Module | None] = {}

    def spend(self) -> bool:
        """Count a step; False once there are none left."""
        self.steps -= 1
        return self.steps > 0

    def file(self, module: Module, path: str) -> Module | None:
        """Return the file of the project that another one imports by a path."""
        key = (module.source.path, path)
        if key not in self._files:
            room = sum(found is not None for found in self._files.values()) < MAX_FILES
            self._files[key] = self._found(module, path) if room else None
        return self._files[key]

    def _found(self, module: Module, path: str) -> Module | None:
        name = path
        if not path.startswith("."):
            if not path.startswith(_ALIASES):
                return None
            name = path.split("/", 1)[-1] if path.startswith(("@", "~")) else path.lstrip("#")
        stem = name.removesuffix(".js").removesuffix(".mjs").removesuffix(".jsx")
        for candidate in (*(f"{stem}{ending}" for ending in _ENDINGS), name):
            source = self.project.sibling(module.source, candidate)
            if source is not None and source.path.endswith(_ENDINGS):
                try:
                    return module_of(source)
                except Unreadable:
                    return None
        return None

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
                other = self.file(module, passed.path)
                inner = self.exported(other, name, depth - 1) if other is not None else None
                if inner is not None:
                    return inner
        return None
