"""What a call or a file says of a semantic cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kvaudit.analyzers.semantic.products import Product
from kvaudit.core.document import Observation
from kvaudit.core.sources import Source, Span


class Given(NamedTuple):
    """A setting: where it stands, and its value where that is a literal."""

    span: Span
    value: object = None
    name: str = ""
    """Where it is no literal, the last name in it."""
    varies: bool = False
    """Whether it is taken from settings or the environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a call or a file says of a semantic cache."""

    product: Product
    source: Source
    place: Span
    given: Mapping[str, Given]
    is_open: bool = False
    """More may be given that is not seen here: ``**options``."""

    def seen(self, kind: str, span: Span, detail: str, *, graver: bool = False) -> Observation:
        """Return an observation of it."""
        return Observation(kind=kind, source=self.source, span=span, detail=detail, graver=graver)

    def has(self, names: Iterable[str]) -> bool:
        """Whether one of the names is given, or may be."""
        return self.is_open or any(name in self.given for name in names)
