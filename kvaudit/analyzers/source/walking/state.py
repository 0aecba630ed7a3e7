"""A function while it is walked: the text that each name holds so far."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kvaudit.analyzers.source.ecmascript.origins import named
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import NOTHING, Shape, Value, richer, text_of
from kvaudit.analyzers.source.parts import Hazard, Part
from kvaudit.analyzers.source.walking.file import Declared, File, Files, last_part
from kvaudit.core.document import VOLATILITY_OF, Evidence, Origin, Step
from kvaudit.core.sources import Source, Span

if TYPE_CHECKING:
    from kvaudit.analyzers.source.walking.language import Language

MAX_STEPS = 40_000
"""Statements and expressions that are followed for one prompt."""
MAX_DEPTH = 4
"""Calls inside calls that are followed."""


@dataclass(slots=True, eq=False)
class Walk:
    """One function while it is followed, or the file's own level."""

    file: File
    language: Language
    files: Files
    said: Mapping[str, Origin]
    names: dict[str, Value] = field(default_factory=dict)
    maps: set[str] = field(default_factory=set)
    """Names of maps, whose order is drawn anew."""
    returned: Value = NOTHING
    hazards: tuple[Hazard, ...] = ()
    """Of the loops around the statement that is walked."""
    owner: str = ""
    """The type whose method is walked."""
    depth: int = 0
    steps: list[int] = field(default_factory=lambda: [MAX_STEPS])

    @property
    def source(self) -> Source:
        """The file that is walked."""
        return self.file.source

    def inside(self, file: File, owner: str = "") -> Walk:
        """Return the walk of a function that this one calls."""
        return replace(
            self,
            file=file,
            names={},
            maps=set(),
            returned=NOTHING,
            hazards=(),
            owner=owner,
            depth=self.depth + 1,
        )

    def function(self, name: str) -> Declared | None:
        """Return the function that is called; None where several types have one of that name."""
        own = self._only(self.file, name)
        if own is not None or name in self.file.functions:
            return own
        near = (self._only(file, last_part(name)) for file in self.files.near(self.file, name))
        return next((found for found in near if found is not None and self._reaches(found)), None)

    def constant(self, name: str) -> Declared | None:
        """Return what a name stands for on a file's own level, in this one or one it uses."""
        if name in self.file.constants:
            return Declared(self.file, self.file.constants[name])
        last = last_part(name)
        near = self.files.near(self.file, name)
        return next((Declared(f, f.constants[last]) for f in near if last in f.constants), None)

    def _only(self, file: File, name: str) -> Declared | None:
        known = file.functions.get(name, ())
        if len(known) > 1:
            known = [node for node in known if self.language.owner(file.source, node) == self.owner]
        return Declared(file, known[0]) if len(known) == 1 else None

    def _reaches(self, found: Declared) -> bool:
        """Whether a function of another file is of no type, or of the one that is walked."""
        return self.language.owner(found.file.source, found.node) in ("", self.owner)

    def spend(self) -> bool:
        """Count a step; False once there are none left."""
        self.steps[0] -= 1
        return self.steps[0] > 0

    def text(self, node: Node) -> str:
        """Return a node as it is written."""
        return self.source.text[node.start : node.end]

    def unknown(self, node: Node, name: str) -> Value:
        """Return an expression of which only a name is known."""
        guess = named(name, self.said)
        return Value(parts=(self._part(node, guess.origin, Evidence.NAME, guess.tokens),))

    def arisen(self, node: Node, origin: Origin, label: str) -> Value:
        """Return a value that arises at a place."""
        step = Step(source=self.source, span=node.span, label=label)
        part = replace(self._part(node, origin, Evidence.DATAFLOW, None), trail=(step,))
        shape = Shape.MOMENT if origin is Origin.CLOCK else Shape.UNKNOWN
        return Value(parts=(part,), shape=shape)

    def _part(self, node: Node, origin: Origin, evidence: Evidence, tokens: int | None) -> Part:
        return Part(
            self.source,
            node.span,
            expression=self.text(node),
            origin=origin,
            volatility=VOLATILITY_OF[origin],
            evidence=evidence,
            tokens=tokens,
        )

    def literal(self, start: int, end: int) -> Value:
        """Return fixed text, as it stands between its quotes."""
        raw = self.source.text[start:end]
        part = Part(self.source, Span(start, end), text=raw.replace("\\n", "\n"))
        return text_of((part,) if raw else ())

    def placed(self, node: Node, value: Value) -> tuple[Part, ...]:
        """Return the text of a value where it is put into another one."""
        sole = value.sole
        if sole is None:
            return value.printed
        here = replace(sole, source=self.source, span=node.span, expression=self.text(node))
        return (replace(here, hazards=(*sole.hazards, *value.hazards)),)

    def filled(
        self, start: int, end: int, holes: re.Pattern[str], given: list[tuple[Node, Value]]
    ) -> Value:
        """Return a format's text with its holes filled in order, or by the names in them."""
        parts: list[Part] = []
        at, rest = start, list(given)
        for found in holes.finditer(self.source.text, start, end):
            parts += self.literal(at, found.start()).parts
            at = found.end()
            name = found.groupdict().get("name")
            if name:
                hole = Node("identifier", found.start("name"), found.end("name"), None)
                parts += self.placed(hole, self.names.get(name) or self.unknown(hole, name))
            elif rest:
                parts += self.placed(*rest.pop(0))
        parts += self.literal(at, end).parts
        return text_of(parts)

    def add(self, name: str, parts: tuple[Part, ...]) -> None:
        """Put text behind what a name holds."""
        old = self.names.get(name, NOTHING)
        new = parts
        if self.hazards and new:
            new = (replace(new[0], hazards=(*new[0].hazards, *self.hazards)), *new[1:])
        self.names[name] = text_of((*old.printed, *new))

    def give(self, value: Value) -> None:
        """Note a value that the function returns."""
        self.returned = value if self.returned is NOTHING else richer(self.returned, value)

    def over_map(self, node: Node, what: str) -> tuple[Hazard, ...]:
        """Return the hazards of a loop over a map."""
        detail = f"{what} is a map, and the order of a map is drawn anew"
        return (*self.hazards, Hazard("discovery-order", self.source, node.span, detail))
