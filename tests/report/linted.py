"""Lint results made by hand."""

from pathlib import Path

from kvaudit.core.document import Evidence
from kvaudit.core.findings import (
    OUT_OF_REACH,
    Edit,
    Finding,
    Fix,
    LintResult,
    Related,
    Severity,
    Silenced,
    SilencedBy,
    Skipped,
)
from kvaudit.core.rulebook import Rule
from kvaudit.core.sources import Source, Span

RULE = Rule(
    name="sub-day-clock", family="prefix", path=Path("sub-day-clock.md"), code="KV001",
    summary="A clock stands before fixed text", severity=Severity.ERROR, inputs=("any",),
    check="order", since="0.1.0", help="Move it down.", fix=None, params={},
    page="## Bad\n\n```jinja bad\n⟦{{ now() }}⟧\n```\n",
)  # fmt: skip
QUIET = Rule(**{name: getattr(RULE, name) for name in RULE.__slots__} | {"name": "quiet-rule"})


def span_of(source: Source, text: str) -> Span:
    start = source.text.index(text)
    return Span(start, start + len(text))


def finding(
    text: str = "It is {{ now() }}.\nYou answer questions about invoices.\n",
    at: str = "{{ now() }}",
    behind: str | None = "You answer questions about invoices.",
    *,
    path: str = "prompts/support.j2",
    severity: Severity = Severity.ERROR,
    message: str = "a clock stands before fixed text",
    replacement: str | None = None,
    **more,
) -> Finding:
    source = Source(path, text)
    related = []
    if behind is not None:
        related = [Related(source=source, span=span_of(source, behind), label=OUT_OF_REACH)]
    fix = None
    if replacement is not None:
        edit = Edit(source=source, span=span_of(source, at), replacement=replacement)
        fix = Fix(title="sort it", edits=[edit], safe=True)
    defaults = {
        "code": "KV001", "rule": "sub-day-clock", "evidence": Evidence.DATAFLOW,
        "help": "Move it down.", "lost_tokens": 1184, "scope": "session", "key": "f" * 32,
        "related": related,
    }  # fmt: skip
    return Finding(
        severity=severity, source=source, span=span_of(source, at), message=message, fix=fix,
        **defaults | more,
    )  # fmt: skip


def result(*findings: Finding, **more) -> LintResult:
    defaults = {
        "checked": 3, "documents": 4, "rules": {"sub-day-clock": RULE, "quiet-rule": QUIET},
    }  # fmt: skip
    return LintResult(findings=findings, **defaults | more)


FULL = result(
    finding(replacement="{{ day }}"),
    finding(path="b c.j2", severity=Severity.WARNING, evidence=Evidence.NAME),
    finding(path="ü.j2", severity=Severity.INFO, at="questions about", lost_tokens=None),
    skipped=[Skipped(path="a.ts", reason="it needs kvaudit[source]")],
    silenced=[
        Silenced(finding=finding(path="known.j2"), by=SilencedBy.BASELINE),
        Silenced(finding=finding(path="said.j2"), by=SilencedBy.COMMENT, reason="it is a clock"),
    ],
    stale=["gone.j2: sub-day-clock"],
    fixed=1,
    not_new=2,
)
