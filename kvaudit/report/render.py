"""From a finished report to text, in any of the formats of this package.

A format is one module in ``kvaudit/report/formats``; its file name is what ``--format`` and
``--output`` take. It defines ``replay(report, screen)``, ``sweep(report, screen)`` or
``lint(result, screen)``, or several, and reads `kvaudit.core` only.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from kvaudit.core.calibration import CalibrationReport, LabelReport, MonitorReport, PairsReport
from kvaudit.core.console import Screen
from kvaudit.core.curve import SweepReport
from kvaudit.core.engine_metrics import MetricsReport
from kvaudit.core.findings import LintResult
from kvaudit.core.gate import GateReport
from kvaudit.core.keys import KeysReport
from kvaudit.core.redact import mask_secrets
from kvaudit.core.results import ReplayReport
from kvaudit.core.story import StoryReport
from kvaudit.core.why import WhyReport
from kvaudit.report import formats
from kvaudit.report.sheet import Sheet

T = TypeVar("T")


def format_names(command: str = "replay") -> list[str]:
    """Return the formats a command's result can be printed in, without importing any."""
    return sorted(
        module.name
        for module in pkgutil.iter_modules(formats.__path__)
        if f"\ndef {command}(" in Path(formats.__path__[0], f"{module.name}.py").read_text("utf-8")
    )


def render_lint(result: LintResult, format_name: str, screen: Screen | None = None) -> str:
    """Return a lint result in one format, ending in a newline. Formats mask what they print."""
    module = importlib.import_module(f"kvaudit.report.formats.{format_name}")
    text: str = module.lint(result, screen or Screen())
    return text


def render_replay(report: ReplayReport, format_name: str, screen: Screen | None = None) -> str:
    """Return the report in one format, credentials masked, ending in a newline."""
    module = importlib.import_module(f"kvaudit.report.formats.{format_name}")
    text: str = module.replay(masked(report), screen or Screen())
    return text


def render_sweep(report: SweepReport, format_name: str, screen: Screen | None = None) -> str:
    """Return a sweep in one format, credentials masked, ending in a newline."""
    module = importlib.import_module(f"kvaudit.report.formats.{format_name}")
    text: str = module.sweep(masked(report), screen or Screen())
    return text


def render_calibration(
    report: PairsReport | CalibrationReport | LabelReport | MonitorReport,
    format_name: str,
    screen: Screen | None = None,
) -> str:
    """Return what `kvaudit calibrate` found in one format, ending in a newline."""
    module = importlib.import_module(f"kvaudit.report.formats.{format_name}")
    kinds = {PairsReport: "pairs", LabelReport: "labels", MonitorReport: "monitor"}
    made = getattr(module, kinds.get(type(report), "calibration"))
    text: str = made(masked(report), screen or Screen())
    return text


def render_why(report: WhyReport, format_name: str, screen: Screen | None = None) -> str:
    """Return what keeps requests apart in one format, credentials masked, ending in a newline."""
    module = importlib.import_module(f"kvaudit.report.formats.{format_name}")
    text: str = module.why(masked(report), screen or Screen())
    return text


def render_keys(report: KeysReport, format_name: str, screen: Screen | None = None) -> str:
    """Return what keys would do in one format, credentials masked, ending in a newline."""
    module = importlib.import_module(f"kvaudit.report.formats.{format_name}")
    text: str = module.keys(masked(report), screen or Screen())
    return text


def render_story(report: StoryReport, format_name: str, screen: Screen | None = None) -> str:
    """Return one request's story in one format, credentials masked, ending in a newline."""
    module = importlib.import_module(f"kvaudit.report.formats.{format_name}")
    text: str = module.story(masked(report), screen or Screen())
    return text


def render_gate(report: GateReport, format_name: str, screen: Screen | None = None) -> str:
    """Return a gate's verdict in one format, credentials masked, ending in a newline."""
    module = importlib.import_module(f"kvaudit.report.formats.{format_name}")
    text: str = module.gate(masked(report), screen or Screen())
    return text


def render_metrics(report: MetricsReport, format_name: str, screen: Screen | None = None) -> str:
    """Return what metrics of engines say in one format, credentials masked."""
    module = importlib.import_module(f"kvaudit.report.formats.{format_name}")
    text: str = module.doctor(masked(report), screen or Screen())
    return text


def render_finished(sheet: Sheet, format_name: str, screen: Screen | None = None) -> str:
    """Return a finished run in one format, ending in a newline; its texts are masked already."""
    module = importlib.import_module(f"kvaudit.report.formats.{format_name}")
    text: str = module.finished(sheet, screen or Screen())
    return text


def masked(value: T) -> T:
    """Return a copy of a report in which every text has its credentials masked."""
    result: Any = value
    if isinstance(value, str):
        result = mask_secrets(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: masked(getattr(value, f.name)) for f in dataclasses.fields(value)}
        result = dataclasses.replace(value, **parts)
    elif isinstance(value, Mapping):
        # A mapping's order is how it was filled; here it becomes the order of its words.
        result = {masked(key): masked(value[key]) for key in sorted(value)}
    elif isinstance(value, list | tuple) and value and not isinstance(value[0], tuple):
        result = tuple(masked(item) for item in value)
    return result  # type: ignore[no-any-return]
