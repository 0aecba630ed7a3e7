"""A finished run: the JSON that a command printed, read back to be judged or printed again.

Only the fields that are asked for are looked at, so that a run of another release can be read as
long as it means the same by them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import Any

from kvaudit.core.errors import InputError


class Kind(StrEnum):
    """Which command made a run."""

    REPLAY = "replay"
    WHY = "why"
    SWEEP = "sweep"
    KEYS = "keys"
    LINT = "lint"
    CALIBRATE = "calibrate"
    PAIRS = "calibrate --pairs"


SCHEMA = 1
_MARKS: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    (Kind.LINT, ("findings", "checked")),
    (Kind.KEYS, ("keys",)),
    (Kind.PAIRS, ("traps", "wrong")),
    (Kind.CALIBRATE, ("threshold", "max_false_hit_rate")),
    (Kind.WHY, ("causes", "groups")),
    (Kind.SWEEP, ("curve",)),
    (Kind.REPLAY, ("prefix",)),
    (Kind.REPLAY, ("semantic",)),
)
"""Fields that only the documents of one command have together, the most telling first."""


@dataclass(frozen=True, slots=True)
class Run:
    """One document."""

    path: str
    kind: Kind
    document: Mapping[str, Any]

    def at(self, *keys: str) -> Any:
        """Return what stands at a place; None where it or anything above it is missing or null."""
        found: Any = self.document
        for depth, key in enumerate(keys):
            if found is None:
                return None
            if not isinstance(found, dict):
                raise self._wrong(keys[:depth], found, "an object")
            found = found.get(key)
        return found

    def number(self, *keys: str) -> float | None:
        """Return the number at a place; an integer stays one."""
        found = self.at(*keys)
        if found is None:
            return None
        if isinstance(found, int | float) and not isinstance(found, bool):
            value: float = found
            if -inf < value < inf:  # 1e999 is read as infinity
                return value
        raise self._wrong(keys, found, "a number")

    def text(self, *keys: str) -> str | None:
        """Return the text at a place."""
        found = self.at(*keys)
        if found is None or isinstance(found, str):
            return found
        raise self._wrong(keys, found, "a text")

    def rows(self, *keys: str) -> list[Run]:
        """Return the objects of the list at a place, each to be asked like a run."""
        found = self.at(*keys)
        if not isinstance(found, list | None):
            raise self._wrong(keys, found, "a list")
        for row in found or ():
            if not isinstance(row, dict):
                raise self._wrong(keys, row, "a list of objects")
        return [Run(self.path, self.kind, row) for row in found or ()]

    @property
    def requests(self) -> int | None:
        """How many requests or files it is about; None where it does not say."""
        place = ("checked",) if self.kind is Kind.LINT else ("log", "requests")
        found = self.number(*place)
        if self.kind is Kind.WHY and found and self.number("prompt_tokens") == 0:
            return 0  # the log has requests, but none whose prompt could be compared
        if found is None and self.kind is Kind.KEYS:
            counts = [key.number("requests") for key in self.rows("keys")]
            found = max((count for count in counts if count is not None), default=None)
        if found is None:
            found = self.number("requests")
        return None if found is None else int(found)

    def _wrong(self, keys: tuple[str, ...], found: Any, wanted: str) -> InputError:
        place = ".".join(keys) or "the document"
        return InputError(
            f"{self.path}: {place} is {json.dumps(found)[:40]}, and should be {wanted}; give the "
            "JSON that a command of kvaudit printed"
        )


def read_run(path: Path) -> Run:
    """Read a run; ``-`` is the standard input. Raises `InputError` for anything else."""
    name = "standard input" if str(path) == "-" else str(path)
    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        document = json.loads(raw, parse_constant=_refused)
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{name} is not JSON ({error}); give what a command printed with --format json"
        ) from None
    if not isinstance(document, dict):
        raise InputError(f"{name} holds no object; give what a command printed with --format json")
    version = document.get("schema", SCHEMA)
    if version != SCHEMA:
        raise InputError(
            f"{name} is of schema {version!r}, and this kvaudit reads {SCHEMA}; make the run with "
            "the same release"
        )
    return Run(name, _kind(document, name), document)


def _kind(document: Mapping[str, Any], name: str) -> Kind:
    for kind, fields in _MARKS:
        if all(field in document for field in fields):
            return kind
    raise InputError(
        f"{name} is not the JSON of a run: it has none of the fields of lint, replay, sweep, why, "
        "keys or calibrate; make it with --format json or --output json:FILE"
    )


def _refused(word: str) -> float:
    raise ValueError(f"{word} is not a JSON value")
