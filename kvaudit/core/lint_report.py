"""What ``kvaudit lint --format json`` prints; the JSON schema is generated from these classes.

Lines and columns count from 1, columns in characters; an end is the place behind the last
character. Paths are as the user gave them, with forward slashes.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedPlace:
    """Another place that belongs to a finding."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedEdit:
    """Text to put in place of what stands there."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    replacement: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedFix:
    """Edits that mend a finding."""

    title: str
    safe: bool
    """Whether the first request is rendered as before; others need --unsafe-fixes."""
    edits: Sequence[ReportedEdit]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedFinding:
    """One breach of one rule."""

    code: str
    rule: str
    severity: str
    """error, warning or info."""
    evidence: str
    """dataflow, binding or name."""
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    help: str | None
    doubt: str | None
    """Which link of its proof is missing, where it is information for that reason alone."""
    lost_tokens: int | None
    """Prompt tokens a request computes again because of it, by estimate."""
    scope: str | None
    """Whose reuse it breaks: session or fleet."""
    related: Sequence[RelatedPlace]
    fix: ReportedFix | None
    fingerprint: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedFile:
    """A file that was not checked."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeverityCounts:
    """Findings by severity."""

    error: int
    warning: int
    info: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """The result of ``kvaudit lint``."""

    schema: int = 1
    findings: Sequence[ReportedFinding]
    checked: int
    """Files that a reader looked through."""
    documents: int
    """Prompts that were found in them."""
    skipped: Sequence[SkippedFile]
    counts: SeverityCounts
    suppressed: int
    in_baseline: int
    stale_baseline: Sequence[str]
    """Entries of the baseline that match nothing any more."""
    not_new: int
    """Findings on lines that --since leaves out."""
    fixed: int
    notes: Sequence[str]
