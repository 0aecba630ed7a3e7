"""The report as plain ``name: value`` lines, for pipes: one fact a line, found with grep.

What says one command's result is imported when it is printed: a lint waits for no replay.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kvaudit.core.console import Screen

if TYPE_CHECKING:
    from kvaudit.core.calibration import CalibrationReport, LabelReport, MonitorReport, PairsReport
    from kvaudit.core.curve import SweepReport
    from kvaudit.core.engine_metrics import MetricsReport
    from kvaudit.core.findings import LintResult
    from kvaudit.core.gate import GateReport
    from kvaudit.core.keys import KeysReport
    from kvaudit.core.results import ReplayReport
    from kvaudit.core.story import StoryReport
    from kvaudit.core.why import WhyReport


def replay(report: ReplayReport, screen: Screen) -> str:
    """Return the lines; numbers are plain digits, rates shares from 0 to 1."""
    from kvaudit.report.replay_facts import replay_facts

    return _lines(replay_facts(report))


def pairs(report: PairsReport, screen: Screen) -> str:
    """Return the lines."""
    from kvaudit.report.calibrated import pairs_facts

    return _lines(pairs_facts(report))


def calibration(report: CalibrationReport, screen: Screen) -> str:
    """Return the lines."""
    from kvaudit.report.calibrated import calibration_facts

    return _lines(calibration_facts(report))


def labels(report: LabelReport, screen: Screen) -> str:
    """Return the lines."""
    from kvaudit.report.labels import label_facts

    return _lines(label_facts(report))


def monitor(report: MonitorReport, screen: Screen) -> str:
    """Return the lines."""
    from kvaudit.report.labels import monitor_facts

    return _lines(monitor_facts(report))


def sweep(report: SweepReport, screen: Screen) -> str:
    """Return the lines; a capacity is a number of blocks."""
    from kvaudit.report.sweep_facts import sweep_facts

    return _lines(sweep_facts(report))


def story(report: StoryReport, screen: Screen) -> str:
    """Return one fact of a request's story a line."""
    from kvaudit.report.why_facts import story_facts

    return _lines(story_facts(report))


def why(report: WhyReport, screen: Screen) -> str:
    """Return the lines; a group is one line, its example the next."""
    from kvaudit.report.why_facts import why_facts

    return _lines(why_facts(report))


def keys(report: KeysReport, screen: Screen) -> str:
    """Return the lines; a key is a few lines, each named by it."""
    from kvaudit.report.keyed import keys_facts

    return _lines(keys_facts(report))


def gate(report: GateReport, screen: Screen) -> str:
    """Return the lines; the verdict is the last."""
    from kvaudit.report.gated import gate_facts

    return _lines(gate_facts(report))


def doctor(report: MetricsReport, screen: Screen) -> str:
    """Return what the metrics of engines say, one fact a line."""
    from kvaudit.report.metered import metrics_facts

    return _lines(metrics_facts(report))


def lint(result: LintResult, screen: Screen) -> str:
    """Return one line a finding, as ``path:line:column: severity[rule] message``."""
    from kvaudit.report.lint_lines import lint_lines

    return "".join(f"{line}\n" for line in lint_lines(result))


def _lines(facts: Iterable[tuple[str, object]]) -> str:
    return "".join(f"{name}: {value}\n" for name, value in facts)
