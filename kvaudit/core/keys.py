"""What `kvaudit keys` found: what keys of an answer cache would mix up and split on a log.

The field names are those of ``--format json``; the JSON schema is generated from these classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from kvaudit.core.findings import Severity
from kvaudit.core.isolation import IsolationSummary
from kvaudit.core.summaries import EngineSummary, LogSummary, Note

LEAK_FIELDS = ("tenant", "user")
"""A wrong hit that differs in one of these is somebody else's answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyExample:
    """Two requests with one key. Texts are as `kvaudit.core.redact.shown` lets them be."""

    request: str
    stored: str
    """Id of the request whose answer the other one would be given."""
    a: str
    """The request's value; ``null`` where it has none."""
    b: str
    """The stored one's."""
    cross_tenant: bool | None
    """Whether the two are of different tenants; None in a log without tenants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collision:
    """Hits that differ from the stored request in one field."""

    field: str
    requests: int
    example: KeyExample


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A field of a key that keeps requests apart which could share an answer."""

    field: str
    distinct: int
    """Different values in the counted requests."""
    lost_hits: int | None
    """Hits that the key would have more without it; None for a function's key."""


class Bearing(StrEnum):
    """What counts of a key read from source say of the key itself."""

    EXACT = "exact"
    """All that flows into it is a field, whole."""
    AT_MOST = "at most"
    """Something more flows into it, which may part requests further: it hits less often."""
    AT_LEAST = "at least"
    """It takes less of a field than there is, and may mix up more: it hits more often."""
    UNKNOWN = "unknown"
    """Both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPart:
    """One value that flows into a key in source code."""

    text: str
    line: int
    fields: Sequence[str]
    """What it was taken for; empty where it is no field of this log."""
    note: str
    """Why it is none, or what takes less of it than it is; empty else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySource:
    """Where a key stands that was read from source code, and what it is made of."""

    path: str
    line: int
    function: str
    parts: Sequence[KeyPart]
    hits_are: Bearing
    """What the counted hits are to those of the key itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyAudit:
    """One candidate key, on this log."""

    key: str
    """As it was given."""
    fields: Sequence[str]
    """What is in it; of a function, the fields that changed its key when they were changed."""
    requests: int
    hits: int
    hit_rate: float | None
    wrong_hits: int
    leaks: int
    distinct_keys: int
    """Different keys in the whole log, the warm-up with it."""
    collisions: Sequence[Collision]
    """Somebody else's answers first, then the most frequent."""
    splits: Sequence[Split]
    stable: bool | None
    """Whether a function gave the same key in another process; None for a key of fields.

    Of a key in source, False where Python's own ``hash`` makes it.
    """
    source: KeySource | None = None
    """Of a key that ``--from-source`` found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedKey:
    """The smallest key with no wrong hit and all the hits that such a key can have."""

    fields: Sequence[str]
    requests: int
    hits: int
    hit_rate: float | None
    constant: Sequence[str]
    """Fields that matter, but of one value in the log: it cannot show that they are needed."""
    implied: Sequence[str]
    """Fields that matter, but that never differ where the proposed ones agree."""
    smallest: bool
    """False where there were too many keys to try: then no field of it can be left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedField:
    """A field that decides whether a hit is wrong."""

    field: str
    present: int
    """Requests that have it."""
    distinct: int
    """Different values; requests without one count as one more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceFlops:
    """Prefill FLOPs that the prefix cache saves, as it is and with parties kept apart."""

    saved: int
    saved_apart: int
    lost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceAudit:
    """Who shares KV in the prefix cache, and what keeping them apart costs: simulated."""

    fields: Sequence[str]
    """What parts requests beside model, lora and salt."""
    engine: EngineSummary
    prompt_tokens: int
    hit_tokens: int
    hit_rate: float | None
    isolation: IsolationSummary | None
    flops: NamespaceFlops | None
    """None without --model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysReport:
    """The result of ``kvaudit keys``."""

    schema: int = 1
    log: LogSummary
    keys: Sequence[KeyAudit]
    proposed: ProposedKey | None
    """None where no request could be compared."""
    judged: Sequence[JudgedField]
    not_judged: Sequence[str]
    """Fields that would matter, and that no request of the log has."""
    namespace: NamespaceAudit | None
    definition: str
    notes: Sequence[Note] = ()


def worst_severity(report: KeysReport) -> Severity | None:
    """Return how bad the worst of the keys is: wrong hits are errors, splits warnings."""
    if any(key.wrong_hits for key in report.keys):
        return Severity.ERROR
    if any(key.splits or key.stable is False for key in report.keys):
        return Severity.WARNING
    return None
