"""The result as SARIF 2.1.0, for code scanning.

GitHub shows 5,000 results of a run. Beyond that the findings of one rule in one file are folded
into one result, which says how many they are; what is then still too much is cut, the gravest
first, and a notification says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from kvaudit import __version__
from kvaudit.core.console import Screen
from kvaudit.core.findings import LintResult, Severity, Silenced, SilencedBy
from kvaudit.core.lint_report import ReportedFinding, ReportedFix
from kvaudit.core.redact import mask_secrets, one_line
from kvaudit.core.rule_pages import body
from kvaudit.core.rulebook import Rule, load_rules
from kvaudit.report.lint_wording import lost, remarks, sentences
from kvaudit.report.linting import lint_report, reported

if TYPE_CHECKING:
    from kvaudit.core.why import WhyReport

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_RESULTS = 5_000
MOST_LOCATIONS = 100
"""Of one result; code scanning takes 1,000 and shows a few."""

Json = dict[str, Any]


def lint(result: LintResult, screen: Screen) -> str:
    """Return the log of one run."""
    report = lint_report(result, result.published)
    shown, notes = _folded(report.findings)
    indexes = {name: index for index, name in enumerate(result.rules)}
    results = [
        *(_result(finding, indexes) for finding in shown),
        *(
            _result(reported(one.finding, result.published), indexes) | _suppressed(one)
            for one in result.silenced[: MOST_RESULTS - len(shown)]
        ),
    ]
    notifications = [_skipped(s.path, s.reason) for s in report.skipped[:MOST_RESULTS]]
    notifications += [
        {"level": "note", "message": {"text": text}} for text in (*notes, *remarks(report))
    ]
    return _log(result.rules, results, notifications, succeeded=not result.crashes)


def why(report: WhyReport, screen: Screen) -> str:
    """Return a result for every group whose place in the project's files is known."""
    from kvaudit.report.divergences import check_text, lost_sentence
    from kvaudit.report.placed import placed, unplaced

    found = list(placed(report))[:MOST_RESULTS]
    named = {finding.rule for _, finding in found}
    rules = {rule.name: rule for rule in load_rules(()) if rule.name in named}
    indexes = {name: index for index, name in enumerate(rules)}
    results = []
    for group, finding in found:
        made = _result(finding, indexes)
        made["properties"] |= {"lostTokens": group.lost_tokens, "requests": group.requests}
        results.append(made)
    notes = [
        f"no place in the files of --source: {group.cause}, {lost_sentence(group, report)}"
        for group in unplaced(report)[:MOST_RESULTS]
    ]
    notes += [check_text(check) for check in report.log_checks]
    return _log(rules, results, [{"level": "note", "message": {"text": text}} for text in notes])


def _log(
    rules: Mapping[str, Rule],
    results: Sequence[Json],
    notifications: Sequence[Json],
    *,
    succeeded: bool = True,
) -> str:
    invocation = {
        "executionSuccessful": succeeded,
        "toolExecutionNotifications": notifications,
    }
    run = {
        "tool": {"driver": _driver(rules)},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "invocations": [invocation],
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    return text.encode("utf-8", "backslashreplace").decode()


def _driver(rules: Mapping[str, Rule]) -> Json:
    return {
        "name": "kvaudit",
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in rules.values()],
    }


def _rule(rule: Rule) -> Json:
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": sentences(rule.summary, rule.help)},
        "help": {"text": sentences(rule.help), "markdown": body(rule).strip()},
        "defaultConfiguration": {"level": _level(rule.severity)},
        "properties": {"code": rule.code, "tags": ["prompt-caching", rule.family]},
    }


def _level(severity: str) -> str:
    return "note" if severity == Severity.INFO else str(severity)


def _folded(findings: Sequence[ReportedFinding]) -> tuple[list[ReportedFinding], list[str]]:
    """Return at most as many findings as are shown, and what was done to the others."""
    if len(findings) <= MOST_RESULTS:
        return list(findings), []
    alike: dict[tuple[str, str], list[ReportedFinding]] = {}
    for finding in findings:
        alike.setdefault((finding.path, finding.rule), []).append(finding)
    folded = [_joined(group) for group in alike.values()]
    folded.sort(key=lambda f: -Severity(f.severity).rank)
    notes = [f"{len(findings):,} findings are folded by file and rule"]
    if len(folded) > MOST_RESULTS:
        notes.append(f"{len(folded) - MOST_RESULTS:,} of them are left out, the least grave")
    return folded[:MOST_RESULTS], notes


def _joined(group: Sequence[ReportedFinding]) -> ReportedFinding:
    first = max(group, key=lambda f: Severity(f.severity).rank)
    if len(group) == 1:
        return first
    return replace(first, message=f"{first.message} (and {len(group) - 1:,} more in this file)")


def _result(finding: ReportedFinding, indexes: Mapping[str, int]) -> Json:
    cost = lost(finding)
    made: Json = {"ruleId": finding.rule}
    if finding.rule in indexes:
        made["ruleIndex"] = indexes[finding.rule]
    made |= {
        "level": _level(finding.severity),
        "message": {
            "text": sentences(finding.message, f"lost: {cost}" if cost else None, finding.help)
        },
        "locations": [{"physicalLocation": _place(finding)}],
        "properties": {
            "code": finding.code,
            "evidence": finding.evidence,
            "lostTokens": finding.lost_tokens,
        },
    }
    if finding.related:
        made["relatedLocations"] = [
            {"id": number, "physicalLocation": _place(r), "message": {"text": r.label}}
            for number, r in enumerate(finding.related[:MOST_LOCATIONS], 1)
        ]
    if finding.fix is not None:
        made["fixes"] = [_fix(finding.fix)]
    if finding.fingerprint is not None:
        made["partialFingerprints"] = {"kvaudit/v1": finding.fingerprint}
    return made


def _suppressed(one: Silenced) -> Json:
    kind = "inSource" if one.by is SilencedBy.COMMENT else "external"
    suppression: Json = {"kind": kind}
    if one.reason:
        suppression["justification"] = one_line(mask_secrets(one.reason))
    return {"suppressions": [suppression]}


def _skipped(path: str, reason: str) -> Json:
    return {
        "level": "warning",
        "message": {"text": f"not checked: {reason}"},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(path)}}],
    }


def _fix(fix: ReportedFix) -> Json:
    by_path: dict[str, list[Json]] = {}
    for edit in fix.edits:
        by_path.setdefault(edit.path, []).append(
            {"deletedRegion": _region(edit), "insertedContent": {"text": edit.replacement}}
        )
    changes: Iterable[Json] = (
        {"artifactLocation": _artifact(path), "replacements": replacements}
        for path, replacements in by_path.items()
    )
    return {"description": {"text": fix.title}, "artifactChanges": list(changes)}


def _place(place: Any) -> Json:
    return {"artifactLocation": _artifact(place.path), "region": _region(place)}


def _region(place: Any) -> Json:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _artifact(path: str) -> Json:
    if PurePath(path).is_absolute():
        return {"uri": PurePath(path).as_uri()}
    return {
        "uri": quote(path.encode("utf-8", "surrogateescape"), safe="/"),
        "uriBaseId": "%SRCROOT%",
    }
