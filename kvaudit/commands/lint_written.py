"""Files that `kvaudit lint` writes, against those that it reads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kvaudit.analyzers.decode import Undecodable, decode, read_bytes
from kvaudit.analyzers.inspection import Inspection
from kvaudit.analyzers.reader import reader_for
from kvaudit.commands.lint_options import KnownOptions
from kvaudit.commands.printout import Printout
from kvaudit.core.errors import UsageError
from kvaudit.core.output import check_writable
from kvaudit.core.sources import Source
from kvaudit.report.former import is_lint_result


def check_written(printout: Printout, known: KnownOptions, paths: Sequence[Path]) -> None:
    """Refuse to write two results to one file, or one over what is read."""
    others = []
    if known.write_baseline is not None:
        check_writable(known.write_baseline, option="--write-baseline")
        others.append(("--write-baseline", known.write_baseline))
    read = [*paths, *([known.baseline] if known.baseline is not None else ())]
    printout.check_apart(read, others)


def without_results(inspection: Inspection, printout: Printout, known: KnownOptions) -> Inspection:
    """Leave out results of former runs, in whose place this one writes its own.

    Raises `UsageError` where a file to write is one to lint, and so somebody's work.
    """
    written = [("--output", target.path) for target in printout.targets]
    if known.write_baseline is not None:
        written.append(("--write-baseline", known.write_baseline))
    ours = set()
    for option, path in written:
        real = os.path.realpath(path)
        name = inspection.task.names.get(real)
        if name is None:
            continue
        if _is_source(Path(real), name):
            raise UsageError(
                f"{option} {path}: this file is there, and is one of those to lint; "
                "name another, or leave it out with --exclude"
            )
        ours.add(name)
    return replace(inspection, found=[f for f in inspection.found if f.name not in ours])


def _is_source(path: Path, name: str) -> bool:
    """Whether a file holds what is linted, or what nobody can tell; a former result is neither."""
    try:
        text = decode(read_bytes(path)).text
    except Undecodable:
        return True
    return not is_lint_result(text) and reader_for(Source(name, text)) is not None
