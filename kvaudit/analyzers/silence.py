"""Comments against findings: which are silenced, and which comments are wrong themselves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kvaudit.analyzers.suppress import Directive, Name
from kvaudit.core.document import Evidence
from kvaudit.core.findings import Edit, Finding, Fix, Silenced, SilencedBy
from kvaudit.core.nearest import did_you_mean
from kvaudit.core.rulebook import Rule
from kvaudit.core.sources import Source, Span

SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
UNKNOWN = "unknown-suppression"
UNUSED = "unused-suppression"
UNEXPLAINED = "unexplained-suppression"

Use = tuple[int, str]
"""A comment, by its number, and the rule it silenced."""


def silence(
    findings: Sequence[Finding],
    directives: Sequence[Directive],
    rules: Sequence[Rule],
    known: Sequence[str],
    *,
    reasons: bool,
) -> tuple[list[Finding], list[Silenced]]:
    """Return what is still reported, wrong comments included, and what a comment silences.

    ``known`` are all names and codes that exist; only ``rules`` were looked for in this run.
    """
    by_name = {rule.name: rule for rule in rules}
    names = {word: rule.name for rule in rules for word in (rule.name, rule.code)}
    by_path: dict[str, list[tuple[int, Directive]]] = {}
    for number, directive in enumerate(directives):
        by_path.setdefault(directive.source.path, []).append((number, directive))
    used: set[Use] = set()
    kept: list[Finding] = []
    silenced: list[Silenced] = []
    for finding in findings:
        hit = _covering(finding, by_path.get(finding.source.path, ()), names)
        if hit is None:
            kept.append(finding)
        else:
            number, directive = hit
            used.add((number, finding.rule))
            silenced.append(
                Silenced(finding=finding, by=SilencedBy.COMMENT, reason=directive.reason)
            )
    for number, directive in enumerate(directives):
        kept += _complaints(directive, number, used, by_name, names, known, reasons=reasons)
    return sorted(kept, key=lambda f: (f.source.path, f.span, f.code)), silenced


def _covering(
    finding: Finding, directives: Sequence[tuple[int, Directive]], names: Mapping[str, str]
) -> tuple[int, Directive] | None:
    """Return the comment that silences a finding."""
    meant = [
        (number, d)
        for number, d in directives
        if any(names.get(name.text) == finding.rule for name in d.names)
    ]
    if not meant:
        return None
    source = finding.source
    lines = {source.place(finding.span.start).line, source.place(finding.span.end).line}
    for number, directive in meant:
        if any(directive.lines[0] <= line <= directive.lines[1] for line in lines):
            return number, directive
    statement = _statement(source, min(lines)) or _template_literal(source, finding.span)
    for number, directive in meant:
        # Inside a long string no comment can stand: it stands above or behind the statement.
        if statement is not None and directive.lines[1] in statement:
            return number, directive
    return None


def _statement(source: Source, line: int) -> tuple[int, int] | None:
    """Return the first and last line of the innermost Python statement around a line."""
    if not source.path.lower().endswith((".py", ".pyi")):
        return None
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    around = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda lines: (lines[0], -lines[1]), default=None)


def _template_literal(source: Source, span: Span) -> tuple[int, int] | None:
    """Return the first and last line of the JavaScript template literal around a span."""
    if not source.path.lower().endswith(SCRIPTS) or source.text.count("`", 0, span.start) % 2 == 0:
        return None
    opened = source.text.rindex("`", 0, span.start)
    closed = source.text.find("`", span.end)
    return source.place(opened).line, source.place(max(closed, span.end)).line


def _complaints(
    directive: Directive,
    number: int,
    used: set[Use],
    rules: Mapping[str, Rule],
    names: Mapping[str, str],
    known: Sequence[str],
    *,
    reasons: bool,
) -> Iterator[Finding]:
    """Yield what is wrong with one comment, by the rules that speak of comments."""
    if UNKNOWN in rules and not directive.names:
        comment = directive.source.text[slice(*directive.span)]
        meant = [word for word in re.findall(r"[\w-]+", comment) if word in known]
        spelled = f"write kvaudit: ignore[{', '.join(meant) or 'rule-name'}]"
        if meant or not directive.prose:
            yield _finding(rules[UNKNOWN], directive, directive.span, spelled)
    idle = [n for n in directive.names if n.text in names and (number, names[n.text]) not in used]
    for name in directive.names:
        if UNKNOWN in rules and name.text not in known:
            hint = did_you_mean(name.text, known)
            yield _finding(rules[UNKNOWN], directive, name.span, f"{name.text}{hint}")
        if UNUSED in rules and name in idle:
            finding = _finding(rules[UNUSED], directive, name.span, name.text)
            whole = len(idle) == len(directive.names)
            yield replace(finding, fix=_removal(directive, name) if whole else None)
    if reasons and UNEXPLAINED in rules and directive.names and not directive.reason:
        what = ", ".join(name.text for name in directive.names)
        yield _finding(rules[UNEXPLAINED], directive, directive.span, what)


def _finding(rule: Rule, directive: Directive, span: Span, what: str) -> Finding:
    return Finding(
        code=rule.code,
        rule=rule.name,
        severity=rule.severity,
        evidence=Evidence.DATAFLOW,
        source=directive.source,
        span=span,
        message=f"{rule.summary}: {what}",
        help=rule.help,
    )


def _removal(directive: Directive, name: Name) -> Fix | None:
    """Return the edit that takes an idle comment away, where the comment is no prompt's text."""
    text, span = directive.source.text, directive.span
    if name is not directive.names[0] or not text.startswith(("#", "//"), span.start):
        return None
    start, end = span
    line_start = text.rfind("\n", 0, start) + 1
    if directive.alone:
        start = line_start
        newline = text.find("\n", end)
        end = len(text) if newline < 0 else newline + 1
    else:
        start -= len(text[line_start:start]) - len(text[line_start:start].rstrip())
    edit = Edit(source=directive.source, span=Span(start, end), replacement="")
    return Fix(title="remove the comment", edits=[edit], safe=True)
