"""A finding: what is wrong, where, what shows it, what it costs, what to do."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from kvaudit.core.document import Evidence
from kvaudit.core.doubt import Doubt
from kvaudit.core.sources import Source, Span

if TYPE_CHECKING:
    from kvaudit.core.rulebook import Rule

OUT_OF_REACH = "fixed, but out of reach"
"""How the text behind a changing value is marked, which a cache could have shared."""


class Severity(StrEnum):
    """How much a finding matters; the order is that of the values below."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """3 for an error, 1 for information."""
        return {"error": 3, "warning": 2, "info": 1}[self.value]

    def lowered(self) -> Severity:
        """Return one level less, never less than information."""
        return Severity.WARNING if self is Severity.ERROR else Severity.INFO

    def raised(self) -> Severity:
        """Return one level more, never more than an error."""
        return Severity.WARNING if self is Severity.INFO else Severity.ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """Another place that belongs to a finding, with a short remark of its own."""

    source: Source
    span: Span
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Text to put in place of a span."""

    source: Source
    span: Span
    replacement: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """Edits that mend a finding. A safe one renders the first request as before."""

    title: str
    edits: Sequence[Edit]
    safe: bool


NEAR = 1_000
"""Characters of a line on either side of a finding that say which one it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One breach of one rule at one place."""

    code: str
    rule: str
    severity: Severity
    evidence: Evidence
    source: Source
    span: Span
    message: str
    """One sentence: what was found here, with the user's own words in it."""
    help: str | None = None
    """What to write instead, as one sentence."""
    lost_tokens: int | None = None
    """Prompt tokens a request computes again because of it, by estimate; None if unknown."""
    scope: str | None = None
    """Whose reuse it breaks: ``session``, ``fleet``."""
    related: Sequence[Related] = ()
    fix: Fix | None = None
    unseen: Sequence[Doubt] = ()
    """Links of its proof that the reader looked for and did not see."""
    doubt: Doubt | None = None
    """Which link of its proof is missing, where it is information for that."""
    undoubted: Severity | None = None
    """How grave it is where the doubt does not count; None where there is none."""
    key: str | None = None
    """Its fingerprint in the whole run, once that is known."""

    def fingerprint(self, occurrence: int, path: str | None = None) -> str:
        """Return what stays the same when lines move: rule, path, text, and which one it is.

        ``path`` is the one to take where the source's own depends on who asks.
        """
        raw = "\x00".join((self.rule, path or self.source.path, self._text(), str(occurrence)))
        return hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _text(self) -> str:
        """Return the lines it stands in, of many the first four, and of a long one what is near."""
        text, place = self.source.text, self.source.place
        first, last = place(self.span.start).line, place(self.span.end).line
        begins = max(self.source.offset(first), self.span.start - NEAR)
        if last > first + 3:
            ends = min(self.source.offset(first + 4), self.span.start + 4 * NEAR)
        else:
            near = self.span.end + NEAR
            line_end = text.find("\n", self.span.end, near)
            ends = near if line_end < 0 else line_end
        return " ".join(text[begins:ends].split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file that was not checked, and why."""

    path: str
    reason: str


class SilencedBy(StrEnum):
    """What keeps a finding from being reported."""

    COMMENT = "comment"
    BASELINE = "baseline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Silenced:
    """A finding that is known, and not reported."""

    finding: Finding
    by: SilencedBy
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintResult:
    """The result of ``kvaudit lint``."""

    masked_by_formats: ClassVar[bool] = True
    """The formats mask what they print of it themselves."""
    findings: Sequence[Finding]
    checked: int
    """Files in which at least one reader looked for prompts."""
    skipped: Sequence[Skipped] = ()
    silenced: Sequence[Silenced] = ()
    documents: int = 0
    """Prompts that were found."""
    stale: Sequence[str] = ()
    """Entries of the baseline that match nothing any more, as path and rule."""
    not_new: int = 0
    """Findings on lines that ``--since`` leaves out."""
    fixed: int = 0
    """Findings that ``--fix`` mended."""
    notes: Sequence[str] = ()
    """What the user must know beside the findings, as sentences."""
    crashes: Sequence[str] = ()
    """Files that kvaudit itself failed on, with what happened: bugs of it."""
    rules: Mapping[str, Rule] = field(default_factory=dict)
    """The rules that were looked for, by name."""
    published: Callable[[str], str] = str
    """From a reported path to the one as seen from the root of its repository."""

    @property
    def suppressed(self) -> int:
        """Findings that a comment silences."""
        return sum(one.by is SilencedBy.COMMENT for one in self.silenced)

    @property
    def in_baseline(self) -> int:
        """Findings that stand in the baseline."""
        return sum(one.by is SilencedBy.BASELINE for one in self.silenced)

    def counts(self) -> dict[str, int]:
        """Return the number of findings by severity, the gravest first."""
        return {s.value: sum(f.severity is s for f in self.findings) for s in Severity}

    def fails(self, least: Severity | None) -> bool:
        """Whether a finding is at least so grave; None never fails."""
        return least is not None and any(f.severity.rank >= least.rank for f in self.findings)
