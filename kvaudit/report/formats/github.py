"""The report in GitHub Actions: an annotation for the result, one for every missed budget.

Below them stand the lines of the concise format, for who opens the log of the step.
"""

from kvaudit.core.budgets import failure
from kvaudit.core.console import Screen
from kvaudit.core.results import ReplayReport
from kvaudit.report.figures import compact, plural, rate_of
from kvaudit.report.formats import concise


def replay(report: ReplayReport, screen: Screen) -> str:
    """Return workflow commands and the concise report."""
    lines = [_annotation("notice", _summary(report))]
    if report.log.broken:
        lines.append(_annotation("warning", f"a record is broken: {report.log.broken[0]}"))
    lines += [_annotation("error", failure(b)) for b in report.budgets if not b.passed]
    return "\n".join(lines) + "\n" + concise.replay(report, screen)


def _summary(report: ReplayReport) -> str:
    requests = plural(report.log.requests, "request")
    if report.prefix is None:
        said = f"; the log says {rate_of(report.reported)}" if report.reported else ""
        return f"{requests}, and no hit rate: this log does not say what was sent{said}"
    return (
        f"hit rate {rate_of(report.prefix)} of {compact(report.prefix.prompt_tokens)} prompt "
        f"tokens in {requests} (possible {rate_of(report.ideal)}, "
        f"the log says {rate_of(report.reported)})"
    )


def _annotation(level: str, message: str) -> str:
    # A workflow command ends at the line's end, so these three are escaped in its message.
    for character, escape in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
        message = message.replace(character, escape)
    return f"::{level} title=kvaudit replay::{message}"
