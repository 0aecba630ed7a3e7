"""A lint result as a person reads it on a terminal: a code frame for each finding.

Nothing is wider than the screen; sentences wrap under their own beginning.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from kvaudit.core.findings import Finding, LintResult, Severity
from kvaudit.core.redact import one_line
from kvaudit.report.frames import frame
from kvaudit.report.lint_wording import closing, lost, remarks, skipped
from kvaudit.report.linting import lint_report, reported

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}


def screen_lines(result: LintResult, width: int) -> Iterator[Text]:
    """Yield the lines of the whole screen."""
    for finding in result.findings:
        yield from _finding(finding, width)
        yield Text("")
    report = lint_report(result)
    for what, reason in skipped(report):
        yield from hanging("skipped  ", f"{one_line(what)}: {reason}", width, "yellow")
    for remark in remarks(report):
        yield from hanging("note  ", one_line(remark), width)
    failed = result.counts()["error"] + result.counts()["warning"]
    yield from hanging("", closing(report), width, "bold" if failed else "bold green")


def _finding(finding: Finding, width: int) -> Iterator[Text]:
    shown = reported(finding)
    head = f"{shown.severity}[{shown.rule}]: "
    for number, line in enumerate(wrapped(head + shown.message, width)):
        if number:
            yield Text(f"  {line}", "bold")
        else:
            style = _STYLES[finding.severity]
            yield Text.assemble((line[: len(head)], style), (line[len(head) :], "bold"))
    lines = list(frame(finding, width))
    yield from lines
    margin = " " * lines[-1].plain.index("|")
    cost = lost(shown)
    facts = {
        "lost": cost,
        "only info": finding.doubt,
        "help": shown.help,
        "fix": f"{shown.fix.title} [{'safe' if shown.fix.safe else 'unsafe'}]"
        if shown.fix
        else None,
        "more": f"kvaudit rule {shown.rule}",
    }
    for name, text in facts.items():
        if text is not None:
            yield from hanging(f"{margin}= {name}: ", one_line(text), width)


def wrapped(text: str, width: int) -> list[str]:
    """Return a sentence in lines, two columns left for the indent of the further ones."""
    return _lines(text, max(width - 2, 20))


def hanging(label: str, text: str, width: int, style: str = "") -> Iterator[Text]:
    """Yield a text behind its label, wrapped under its own beginning."""
    indent = cell_len(label)
    for number, line in enumerate(_lines(text, max(width - indent, 20))):
        yield Text((label if number == 0 else " " * indent) + line, style)


def _lines(text: str, room: int) -> list[str]:
    if cell_len(text) <= len(text):
        return textwrap.wrap(text, room, break_on_hyphens=False) or [""]
    # Chinese takes two columns a character, which textwrap does not count.
    return [line.plain.rstrip() for line in Text(text).wrap(Console(width=room), room)]
