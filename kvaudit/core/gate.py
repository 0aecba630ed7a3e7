"""What `kvaudit gate` decided: the document of its reports.

The field names are those of ``--format json``; the JSON schema is generated from these classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GateBudget:
    """A figure of a run held against a limit."""

    name: str
    limit: float
    value: float | None
    """None where no run has the figure; the budget is then missed."""
    passed: bool
    at_most: bool
    """Whether the limit must not be exceeded; else the figure must not fall below it."""
    run: str | None
    """The file that has the figure."""
    note: str | None = None
    """What the value is where that is not plain, or why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A figure of a run held against the same one of the baseline."""

    name: str
    run: str
    baseline: str
    value: float
    baseline_value: float
    difference: float
    """value - baseline_value."""
    low: float | None
    """The difference is between these at 95 %; None where it is exact, or where nothing is
    known of other logs."""
    high: float | None
    allowed: float
    """How much worse it may be."""
    at_most: bool
    """Whether more is worse."""
    passed: bool | None
    """None where the two cannot be compared."""
    basis: str
    """``exact`` on the same log, ``interval`` on another one, or why it is not judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """The result of ``kvaudit gate``."""

    schema: int = 1
    passed: bool
    """Whether nothing failed; also true where nothing was judged, which exit code 3 tells."""
    judged: int
    """Budgets and changes that were held against something."""
    reason: str
    """The verdict in one line."""
    runs: Sequence[str]
    budgets: Sequence[GateBudget]
    changes: Sequence[Change]
    notes: Sequence[str]
