"""The keys that the files below some paths build."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kvaudit.analyzers.collect import Selection, find_files
from kvaudit.analyzers.decode import Undecodable, decode, read_bytes
from kvaudit.analyzers.keys import may_build_keys
from kvaudit.analyzers.keys.sourced.reference import BuiltKey
from kvaudit.analyzers.limit import TookTooLong, within
from kvaudit.analyzers.reader import Unreadable
from kvaudit.core.sources import Source

PYTHON = (".py", ".pyi")
ECMASCRIPT = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")


class Skipped(NamedTuple):
    """A file that may build keys and was not read."""

    path: str
    reason: str


class Built(NamedTuple):
    """What was found below the paths."""

    keys: Sequence[BuiltKey]
    files: int
    """Files that were read, or would have been."""
    skipped: Sequence[Skipped]


def built_below(paths: Sequence[Path]) -> Built:
    """Return the keys that files build, by path and line. Raises `InputError`."""
    keys: list[BuiltKey] = []
    skipped: list[Skipped] = []
    found = find_files(paths, Selection(endings=(*PYTHON, *ECMASCRIPT)))
    for file in found:
        try:
            source = Source(file.name, decode(read_bytes(file.path)).text)
            if may_build_keys(source.text):
                with within():
                    keys += _read(source)
        except (Undecodable, Unreadable) as reason:
            skipped.append(Skipped(file.name, str(reason)))
        except (TookTooLong, RecursionError):
            skipped.append(Skipped(file.name, "it takes too long to follow"))
    return Built(keys, len(found), skipped)


def _read(source: Source) -> list[BuiltKey]:
    name = source.path.lower()
    if name.endswith(ECMASCRIPT):
        from kvaudit.analyzers.keys.sourced import ecmascript
        from kvaudit.analyzers.source.ecmascript.module import language_of
        from kvaudit.analyzers.source.ecmascript.tree import missing_grammar

        lacking = missing_grammar(language_of(source.path))
        if lacking is not None:
            raise Unreadable(lacking)
        return ecmascript.built_keys(source)
    if name.endswith(PYTHON):
        from kvaudit.analyzers.keys.sourced import python

        return python.built_keys(source)
    raise Unreadable("it is neither Python nor JavaScript nor TypeScript")
