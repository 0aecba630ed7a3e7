"""Where values arise, by dotted name: the table ``sources.toml`` of a language, looked up."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar

from kvaudit.core.document import Origin

S = TypeVar("S", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Arising(Generic[S]):
    """One row of the table; shapes are those of the language."""

    origin: Origin | None
    shape: S
    hazard: str | None
    label: str
    detail: str


def lookup_in(path: Path, shape: type[S]) -> Callable[[str, str], Arising[S] | None]:
    """Return the lookup of a table: of a ``call`` or an ``attribute``, by its dotted name.

    The table is read when it is first asked.
    """

    @cache
    def table(kind: str) -> tuple[tuple[re.Pattern[str], Arising[S]], ...]:
        rows = tomllib.loads(path.read_text("utf-8"))[kind]
        return tuple(
            (
                re.compile("|".join(f"(?:{name})" for name in row["names"])),
                Arising(
                    origin=Origin(row["origin"]) if "origin" in row else None,
                    shape=shape(row.get("shape", "unknown")),
                    hazard=row.get("hazard"),
                    label=row.get("label", "arises"),
                    detail=row.get("detail", ""),
                ),
            )
            for row in rows
        )

    @cache
    def arising(kind: str, dotted: str) -> Arising[S] | None:
        return next((row for pattern, row in table(kind) if pattern.fullmatch(dotted)), None)

    return arising
