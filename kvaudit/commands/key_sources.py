"""Keys that source code builds, as candidates: `kvaudit keys --from-source PATH`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kvaudit.analyzers.keys.logged.audit import Candidate
    from kvaudit.analyzers.keys.sourced.fields import Meant
    from kvaudit.analyzers.keys.sourced.reference import BuiltKey, Reference
    from kvaudit.core.keys import Bearing, KeyPart, KeySource
    from kvaudit.core.summaries import Note


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceKey:
    """One key in source code, with what each of its values may be in a record."""

    built: BuiltKey
    parts: Sequence[tuple[Reference, Meant]]

    @property
    def text(self) -> str:
        """Where it stands, and the name of the function."""
        place = f"{self.built.source.path}:{self.built.line}"
        return f"{place} {self.built.function}".rstrip()

    def names(self) -> tuple[str, ...]:
        """Return all fields and columns that its values may be."""
        every = (name for _, meant in self.parts for one in meant.readings for name in one)
        return tuple(dict.fromkeys(every))

    def on(self, present: Callable[[str], bool]) -> Held:
        """Return what it is on a log that has some fields and not others."""
        from kvaudit.analyzers.keys.logged.audit import Candidate
        from kvaudit.analyzers.keys.sourced.fields import taken
        from kvaudit.core.keys import KeySource

        parts = self._parts_of_request()
        made, unique = [], ""
        for reference, meant in parts:
            fields = taken(meant.readings, present)
            if not fields and meant.unique:
                unique = unique or reference.text
            made.append(_part(reference, meant, fields))
        fields = tuple(dict.fromkeys(name for part in made for name in part.fields))
        source = KeySource(
            path=self.built.source.path,
            line=self.built.line,
            function=self.built.function,
            parts=made,
            hits_are=_bearing(parts, made),
        )
        return Held(
            candidate=Candidate(name=self.text, fields=fields, unique=unique),
            source=source,
            stable=None if len(parts) == len(self.parts) else False,
        )

    def _parts_of_request(self) -> Sequence[tuple[Reference, Meant]]:
        """Return the values that a request decides, without those that its process does."""
        from kvaudit.analyzers.keys.sourced.reference import Nature

        return [each for each in self.parts if each[0].nature is not Nature.PROCESS]


class Held(NamedTuple):
    """A key in source code as this log has it."""

    candidate: Candidate
    source: KeySource
    stable: bool | None


def _bearing(parts: Sequence[tuple[Reference, Meant]], made: Sequence[KeyPart]) -> Bearing:
    """Return what the hits by the fields that were found say of those by the key."""
    from kvaudit.core.keys import Bearing

    pairs = list(zip(made, parts, strict=True))
    more = any(not part.fields and not meant.unique for part, (_, meant) in pairs)
    less = any(part.fields and reference.partly for part, (reference, _) in pairs)
    if more:
        return Bearing.UNKNOWN if less else Bearing.AT_MOST
    return Bearing.AT_LEAST if less else Bearing.EXACT


def _part(reference: Reference, meant: Meant, fields: Sequence[str]) -> KeyPart:
    from kvaudit.core.keys import KeyPart
    from kvaudit.core.redact import mask_secrets

    if fields:
        said = [f"of it only {reference.partly}"] if reference.partly else []
        said += ["taken for what it usually holds"] if meant.is_whole else []
        note = ", ".join(said)
    elif meant.unique:
        note = "another one for every request"
    else:
        note = meant.why or "not in this log"
    text, note = mask_secrets(reference.text), mask_secrets(note)
    return KeyPart(text=text, line=reference.line, fields=fields, note=note)


def source_keys(paths: Sequence[Path]) -> tuple[list[SourceKey], list[Note]]:
    """Read the keys below some paths, and what is to be said of the reading."""
    from kvaudit.analyzers.keys.sourced.fields import meant
    from kvaudit.analyzers.keys.sourced.files import built_below
    from kvaudit.core.summaries import Note

    if not paths:
        return [], []
    built = built_below(paths)
    found = [
        SourceKey(built=key, parts=[(one, meant(one)) for one in key.references])
        for key in built.keys
    ]
    notes = [
        Note(topic="source-not-read", text=f"{path}: not read for keys, since {reason}")
        for path, reason in built.skipped
    ]
    if not found:
        asked = ", ".join(map(str, paths))
        files = "1 file was" if built.files == 1 else f"{built.files} files were"
        text = (
            f"no key of what a model is asked was found in {asked}, where {files} looked at; name "
            "its fields, or the function that builds it, with --key"
        )
        notes.append(Note(topic="no-key-in-source", text=text))
    return found, notes
