"""The report as JSON, byte-identical across runs.

Two levels are put on lines of their own and the rest is compact: a part can be found and
compared with line tools, and an occupancy of a million points does not become a million lines.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

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
    """Return the document that ``kvaudit schema replay`` describes."""
    return _document(_plain(report))


def pairs(report: PairsReport, screen: Screen) -> str:
    """Return the counts of a policy on labelled pairs."""
    return _document(_plain(report))


def calibration(report: CalibrationReport, screen: Screen) -> str:
    """Return the document that ``kvaudit schema calibrate`` describes."""
    return _document(_plain(report))


def labels(report: LabelReport, screen: Screen) -> str:
    """Return the document that ``kvaudit schema calibrate`` describes."""
    return _document(_plain(report))


def monitor(report: MonitorReport, screen: Screen) -> str:
    """Return the document that ``kvaudit schema calibrate`` describes."""
    return _document(_plain(report))


def sweep(report: SweepReport, screen: Screen) -> str:
    """Return the document that ``kvaudit schema sweep`` describes, one capacity a line."""
    return _document(_plain(report))


def why(report: WhyReport, screen: Screen) -> str:
    """Return the document that ``kvaudit schema why`` describes, one group a line."""
    return _document(_plain(report))


def keys(report: KeysReport, screen: Screen) -> str:
    """Return the document that ``kvaudit schema keys`` describes, one key a line."""
    return _document(_plain(report))


def story(report: StoryReport, screen: Screen) -> str:
    """Return the document that ``kvaudit schema story`` describes."""
    return _document(_plain(report))


def gate(report: GateReport, screen: Screen) -> str:
    """Return the document that ``kvaudit schema gate`` describes, one budget a line."""
    return _document(_plain(report))


def doctor(report: MetricsReport, screen: Screen) -> str:
    """Return the document that ``kvaudit schema doctor`` describes, one engine a line."""
    return _document(_plain(report))


def lint(result: LintResult, screen: Screen) -> str:
    """Return the document that ``kvaudit schema lint`` describes, one finding a line."""
    from kvaudit.report.linting import lint_report

    return _document(_plain(lint_report(result)))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple) and value and dataclasses.is_dataclass(value[0]):
        return [_plain(part) for part in value]
    return value


def _document(parts: Mapping[str, Any]) -> str:
    lines = []
    for name, part in parts.items():
        if isinstance(part, dict) and part:
            inner = ",\n".join(f"    {_compact(key)}: {_compact(part[key])}" for key in part)
            lines.append(f"  {_compact(name)}: {{\n{inner}\n  }}")
        elif isinstance(part, list) and part:
            inner = ",\n".join(f"    {_compact(item)}" for item in part)
            lines.append(f"  {_compact(name)}: [\n{inner}\n  ]")
        else:
            lines.append(f"  {_compact(name)}: {_compact(part)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _compact(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if text.isprintable() else _UNPRINTABLE.sub(_escaped, text)


# All that is neither ASCII nor printed as a character: what a terminal would obey, marks of
# direction, ends of line, half surrogate pairs (which have no UTF-8). JSON has escapes for them.
_UNPRINTABLE = re.compile(r"[^ -~\w]")


def _escaped(match: re.Match[str]) -> str:
    return match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1]
