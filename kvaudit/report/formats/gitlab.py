"""The result as GitLab's Code Quality report, which a merge request shows beside its lines."""

from __future__ import annotations

import json
from hashlib import blake2b

from kvaudit.core.console import Screen
from kvaudit.core.findings import LintResult
from kvaudit.core.lint_report import ReportedFinding
from kvaudit.report.lint_wording import lost
from kvaudit.report.linting import lint_report

_SEVERITIES = {"error": "critical", "warning": "major", "info": "info"}


def lint(result: LintResult, screen: Screen) -> str:
    """Return the list of issues."""
    issues = [_issue(finding) for finding in lint_report(result, result.published).findings]
    text = json.dumps(issues, ensure_ascii=False, indent=1) + "\n"
    return text.encode("utf-8", "backslashreplace").decode()


def _issue(finding: ReportedFinding) -> dict[str, object]:
    cost = lost(finding)
    return {
        "check_name": finding.rule,
        "description": finding.message + (f" ({cost})" if cost else ""),
        "severity": _SEVERITIES[finding.severity],
        "fingerprint": finding.fingerprint or _made_up(finding),
        "location": {
            "path": finding.path.removeprefix("./"),
            "lines": {"begin": finding.line, "end": finding.end_line},
        },
    }


def _made_up(finding: ReportedFinding) -> str:
    words = f"{finding.rule}\0{finding.path}\0{finding.line}\0{finding.column}"
    return blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
