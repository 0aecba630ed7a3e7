"""Labels of hits: a sheet for them, what they prove, and production watched by them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kvaudit.core.errors import Exit, UsageError

if TYPE_CHECKING:
    from kvaudit.commands.label_options import LabelOptions
    from kvaudit.core.calibration import LabelReport, MonitorReport
    from kvaudit.replay.semantic.run import SemanticRun

ALPHA = 0.05
DEPENDS = ("wrong", "same", "skip")


def hits_of(run: SemanticRun) -> int:
    """Return the hits that people may label: not those on the same text."""
    return int((run.answered & ~run.served.exact).sum())


def sheet_of(run: SemanticRun, options: LabelOptions, *, limit: float, alpha: float) -> str:
    """Write the sheet that is asked for, and say what is in it."""
    from kvaudit.replay.semantic.sampling import MAIN, sampled, strata
    from kvaudit.replay.semantic.sheet import write_sheet
    from kvaudit.replay.semantic.statistics import labels_needed

    assert options.sheet is not None
    hits = hits_of(run)
    wanted = options.sample or labels_needed(1, limit, alpha / 2)
    rows = sampled(run, main=wanted, risk=options.risky, seed=options.seed)
    write_sheet(options.sheet, rows)
    main = sum(row.sample == MAIN for row in rows)
    counts = ", ".join(f"{count:,} {name}" for name, count in strata(rows).items())
    return (
        f"{options.sheet}: {main:,} of {hits:,} hits drawn at random ({counts}), and "
        f"{len(rows) - main:,} where faults are likely; fill in label (same, wrong or depends) in "
        f"this order, or: kvaudit calibrate --label {options.sheet}"
    )


def labels_of(options: LabelOptions, *, limit: float, alpha: float) -> LabelReport:
    """Return what the labels of a sheet prove."""
    from kvaudit.replay.semantic.labelled import label_report
    from kvaudit.replay.semantic.sheet import read_sheet

    if options.depends not in DEPENDS:
        raise UsageError(f"--depends {options.depends}: is none of {', '.join(DEPENDS)}")
    assert options.labels is not None
    rows = read_sheet(options.labels)
    return label_report(rows, limit=limit, alpha=alpha, depends=options.depends)


def seen(options: LabelOptions, *, limit: float, alpha: float) -> LabelReport | MonitorReport:
    """Return what a sheet's labels prove, or those of production."""
    if options.monitor is not None:
        if options.labels is not None:
            raise UsageError("--labels and --monitor are two questions; ask one")
        return watched(options.monitor, limit=limit, alpha=alpha)
    return labels_of(options, limit=limit, alpha=alpha)


def watched(path: Path, *, limit: float, alpha: float) -> MonitorReport:
    """Return where production stands."""
    from kvaudit.replay.semantic.monitor import watch

    return watch(path, limit=limit, alpha=alpha)


def code_of(report: LabelReport | MonitorReport) -> Exit:
    """Return how the command ends: what is not decided is no finding."""
    if not report.labelled:
        return Exit.NOTHING_CHECKED
    return Exit.FINDINGS if report.verdict == "fail" else Exit.OK


def in_terminal(path: Path, *, limit: float, alpha: float) -> str:
    """Label a sheet in the terminal, and say what was done."""
    from kvaudit.replay.semantic.terminal import label_in_terminal

    def ask(question: str) -> str:
        typer.echo(question, nl=False)
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line

    given = label_in_terminal(path, limit=limit, alpha=alpha, ask=ask, tell=typer.echo)
    return f"\n{given:,} labels given; next: kvaudit calibrate --labels {path}"
