"""The report in GitHub Actions: an annotation for the result, one for every missed budget.

Below them stand the lines of the concise format, for who opens the log of the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kvaudit.core.console import Screen
from kvaudit.core.redact import one_line
from kvaudit.report.figures import compact, plural, rate_of
from kvaudit.report.formats import concise

if TYPE_CHECKING:
    from kvaudit.core.calibration import CalibrationReport, LabelReport, MonitorReport, PairsReport
    from kvaudit.core.curve import SweepReport
    from kvaudit.core.engine_metrics import MetricsReport
    from kvaudit.core.findings import LintResult
    from kvaudit.core.gate import GateReport
    from kvaudit.core.keys import KeysReport
    from kvaudit.core.lint_report import ReportedFinding
    from kvaudit.core.results import ReplayReport
    from kvaudit.core.story import StoryReport
    from kvaudit.core.why import WhyReport


def replay(report: ReplayReport, screen: Screen) -> str:
    """Return workflow commands and the concise report."""
    from kvaudit.core.budgets import failure

    lines = [_annotation("notice", _summary(report))]
    if report.log.broken:
        lines.append(_annotation("warning", f"a record is broken: {report.log.broken[0]}"))
    lines += [_annotation("error", failure(b)) for b in report.budgets if not b.passed]
    return "\n".join(lines) + "\n" + concise.replay(report, screen)


def pairs(report: PairsReport, screen: Screen) -> str:
    """Return one workflow command and the concise report."""
    from kvaudit.report.calibrated import pairs_verdict

    found = (
        f"{report.served:,} of {report.same:,} served, {report.wrong:,} of {report.traps:,} wrong"
    )
    said = pairs_verdict(report) or found
    level = "notice" if report.passed else "error"
    command = _command(level, {"title": "kvaudit calibrate"}, said)
    return f"{command}\n{concise.pairs(report, screen)}"


def calibration(report: CalibrationReport, screen: Screen) -> str:
    """Return one workflow command and the concise report."""
    command = _command("notice", {"title": "kvaudit calibrate"}, report.verdict)
    return f"{command}\n{concise.calibration(report, screen)}"


def labels(report: LabelReport, screen: Screen) -> str:
    """Return one workflow command and the concise report."""
    from kvaudit.report.labels import verdict_of

    level = "error" if report.verdict == "fail" else "notice"
    command = _command(level, {"title": "kvaudit calibrate"}, verdict_of(report))
    return f"{command}\n{concise.labels(report, screen)}"


def monitor(report: MonitorReport, screen: Screen) -> str:
    """Return one workflow command and the concise report."""
    from kvaudit.report.labels import watched_sentence

    level = "error" if report.verdict == "fail" else "notice"
    command = _command(level, {"title": "kvaudit calibrate"}, watched_sentence(report))
    return f"{command}\n{concise.monitor(report, screen)}"


def sweep(report: SweepReport, screen: Screen) -> str:
    """Return one workflow command and the concise report."""
    from kvaudit.report.sweep_wording import sweep_sentence

    notice = _command("notice", {"title": "kvaudit sweep"}, sweep_sentence(report))
    return f"{notice}\n{concise.sweep(report, screen)}"


def story(report: StoryReport, screen: Screen) -> str:
    """Return the story as it is printed in a pipe: it is about one request, and no finding."""
    return concise.story(report, screen)


def why(report: WhyReport, screen: Screen) -> str:
    """Return an annotation for every group that lost tokens, and the concise report."""
    from kvaudit.report.divergences import lost_sentence
    from kvaudit.report.placed import placed, unplaced

    lines = [_finding(finding) for _, finding in placed(report)]
    lines += [
        _command("warning", {"title": f"kvaudit why: {group.cause}"}, lost_sentence(group, report))
        for group in unplaced(report)
    ]
    return "".join(f"{line}\n" for line in lines) + concise.why(report, screen)


def keys(report: KeysReport, screen: Screen) -> str:
    """Return an annotation for all that is wrong with a key, and the concise lines."""
    from kvaudit.report.keyed import keys_sentence, keys_trouble

    title = {"title": "kvaudit keys"}
    lines = [_command(level, title, text) for level, text in keys_trouble(report)]
    lines = lines or [_command("notice", title, keys_sentence(report))]
    return "".join(f"{line}\n" for line in lines) + concise.keys(report, screen)


def gate(report: GateReport, screen: Screen) -> str:
    """Return an annotation for all that failed, or one for the verdict, and the concise lines."""
    from kvaudit.report.gated import failures

    title = {"title": "kvaudit gate"}
    lines = [_command("error", title, one_line(text)) for text in failures(report)]
    level = "notice" if report.passed else "warning"
    lines = lines or [_command(level, title, one_line(report.reason))]
    return "".join(f"{line}\n" for line in lines) + concise.gate(report, screen)


def doctor(report: MetricsReport, screen: Screen) -> str:
    """Return an annotation for every finding, and the concise lines."""
    lines = [
        _command(
            "notice" if finding.severity == "info" else finding.severity,
            {"title": f"kvaudit {engine.title}: {finding.check}"},
            one_line(finding.message),
        )
        for engine in report.engines
        for finding in engine.findings
    ]
    return "".join(f"{line}\n" for line in lines) + concise.doctor(report, screen)


def lint(result: LintResult, screen: Screen) -> str:
    """Return an annotation for every finding, and the lines of the concise format."""
    from kvaudit.report.lint_wording import skipped
    from kvaudit.report.linting import lint_report

    report = lint_report(result, result.published)
    lines = [_finding(finding) for finding in report.findings]
    lines += [
        _command("warning", {"title": "kvaudit: not checked"}, f"{what}: {reason}")
        for what, reason in skipped(report)
    ]
    return "".join(f"{line}\n" for line in lines) + concise.lint(result, screen)


def _finding(finding: ReportedFinding) -> str:
    from kvaudit.report.lint_wording import lost, sentences

    properties: dict[str, object] = {"file": finding.path, "line": finding.line}
    properties["endLine"] = finding.end_line
    if finding.line == finding.end_line:
        # GitHub refuses columns that belong to different lines.
        properties |= {"col": finding.column, "endColumn": finding.end_column}
    properties["title"] = f"kvaudit {finding.rule}"
    cost = lost(finding)
    message = [finding.message, *(f"lost: {text}" for text in [cost] if text), finding.help]
    level = "notice" if finding.severity == "info" else finding.severity
    return _command(level, properties, "\n".join(sentences(part) for part in message if part))


def _summary(report: ReplayReport) -> str:
    from kvaudit.report.semantic import semantic_sentence

    requests = plural(report.log.requests, "request")
    if report.prefix is None and report.semantic is not None:
        return f"{requests}: {semantic_sentence(report.semantic)}"
    if report.prefix is None:
        said = f"; the log says {rate_of(report.reported)}" if report.reported else ""
        return f"{requests}, and no hit rate: this log does not say what was sent{said}"
    return (
        f"hit rate {rate_of(report.prefix)} of {compact(report.prefix.prompt_tokens)} prompt "
        f"tokens in {requests} (possible {rate_of(report.ideal)}, "
        f"the log says {rate_of(report.reported)})"
    )


def _annotation(level: str, message: str) -> str:
    return _command(level, {"title": "kvaudit replay"}, message)


def _command(level: str, properties: Mapping[str, object], message: str) -> str:
    """Return a workflow command; it ends at the line's end, so some characters are escaped."""
    named = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{level} {named}::{_escaped(message)}"


def _property(value: str) -> str:
    return _escaped(value).replace(":", "%3A").replace(",", "%2C")


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
