"""The report as a person reads it on a terminal, at 80 columns or more.

Figures stand in fixed columns and never wrap; sentences wrap under their own beginning. What
prints one command's result is imported when it is printed: a lint waits for no replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvaudit.core.console import Screen
from kvaudit.report.printed import printed, printed_lines

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

PROSE_WIDTH = 100
"""Longer lines of prose are hard to read, however wide the terminal."""


def replay(report: ReplayReport, screen: Screen) -> str:
    """Return the rates, where the other tokens went, and what more was asked for."""
    from kvaudit.report.replayed import replay_parts

    return printed(replay_parts(report, _prose_width(screen)), screen)


def pairs(report: PairsReport, screen: Screen) -> str:
    """Return what a policy serves of labelled pairs, as a table."""
    from kvaudit.report.calibrated import pairs_parts

    return printed(pairs_parts(report, _prose_width(screen)), screen)


def calibration(report: CalibrationReport, screen: Screen) -> str:
    """Return the verdict and the thresholds that were tested."""
    from kvaudit.report.calibrated import calibration_parts

    return printed(calibration_parts(report, _prose_width(screen)), screen)


def labels(report: LabelReport, screen: Screen) -> str:
    """Return what a sheet's labels prove."""
    from kvaudit.report.labels import label_parts

    return printed(label_parts(report, _prose_width(screen)), screen)


def monitor(report: MonitorReport, screen: Screen) -> str:
    """Return where production stands."""
    from kvaudit.report.labels import monitor_parts

    return printed(monitor_parts(report, _prose_width(screen)), screen)


def sweep(report: SweepReport, screen: Screen) -> str:
    """Return the curve as a table with bars, and what follows from it."""
    from kvaudit.report.swept import curve_parts

    return printed(curve_parts(report, screen.width), screen)


def why(report: WhyReport, screen: Screen) -> str:
    """Return where the tokens went, and a frame for every template that loses some."""
    from kvaudit.report.divergences import why_parts

    return printed(why_parts(report, screen.width), screen)


def keys(report: KeysReport, screen: Screen) -> str:
    """Return what each key mixes up and splits, and the key that is proposed."""
    from kvaudit.report.keyed import keys_parts

    return printed(keys_parts(report, _prose_width(screen)), screen)


def story(report: StoryReport, screen: Screen) -> str:
    """Return one request's tokens, its relative, both texts, and the fix."""
    from kvaudit.report.story import story_parts

    return printed(story_parts(report, screen.width), screen)


def gate(report: GateReport, screen: Screen) -> str:
    """Return a line for every budget and every figure that was compared, and the verdict."""
    from kvaudit.report.gated import gate_parts

    return printed(gate_parts(report, _prose_width(screen)), screen)


def doctor(report: MetricsReport, screen: Screen) -> str:
    """Return what each engine's metrics say, and what looks wrong."""
    from kvaudit.report.metered import metrics_parts

    return printed(metrics_parts(report, _prose_width(screen)), screen)


def lint(result: LintResult, screen: Screen) -> str:
    """Return a code frame for every finding, and the summary."""
    from kvaudit.report.linted import screen_lines

    return printed_lines(screen_lines(result, _prose_width(screen)), screen)


def _prose_width(screen: Screen) -> int:
    return min(screen.width, PROSE_WIDTH)
