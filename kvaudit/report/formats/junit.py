"""The result as JUnit's XML: a case for every finding, and one for every rule that found none.

So a test view shows what was looked for, and not only what was found. Information is no failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from kvaudit.core.console import Screen
from kvaudit.core.findings import LintResult
from kvaudit.core.lint_report import LintReport, ReportedFinding
from kvaudit.core.redact import one_line
from kvaudit.report.figures import plural
from kvaudit.report.lint_wording import lost
from kvaudit.report.linting import lint_report


def lint(result: LintResult, screen: Screen) -> str:
    """Return one suite."""
    report = lint_report(result, result.published)
    suite = ElementTree.Element("testsuite", name="kvaudit lint")
    suite.extend(_cases(report, result))
    cases = list(suite)
    for name, tag in (("failures", "failure"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("tests", str(len(cases)))
    suite.set("errors", "0")
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    # No declaration: the text is encoded by whoever writes it, and XML without one is UTF-8.
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _cases(report: LintReport, result: LintResult) -> Iterator[ElementTree.Element]:
    for finding in report.findings:
        yield _finding(finding)
    for file in report.skipped:
        case = _case("file", file.path)
        ElementTree.SubElement(case, "skipped", message=one_line(file.reason))
        yield case
    found = {finding.rule for finding in report.findings}
    for name in result.rules if report.checked else ():
        if name not in found:
            yield _case(name, plural(report.checked, "file"))


def _finding(finding: ReportedFinding) -> ElementTree.Element:
    where = f"{finding.path}:{finding.line}:{finding.column}"
    case = _case(finding.rule, where)
    cost = lost(finding)
    text = "\n".join(part for part in (where, cost, finding.help) if part)
    if finding.severity == "info":
        ElementTree.SubElement(case, "system-out").text = f"{finding.message}\n{text}"
    else:
        failure = ElementTree.SubElement(
            case, "failure", type=finding.severity, message=finding.message
        )
        failure.text = text
    return case


def _case(rule: str, name: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", classname=f"kvaudit.{rule}", name=one_line(name))
