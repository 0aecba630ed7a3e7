"""The part of a report that is about what tenants, or users, have of each other's KV.

Field names are those of ``--format json``. Sums are over the counted requests.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """The same cache with more fields in the namespace: what keeping them apart costs."""

    fields: str
    """The fields that part requests beside those of the run."""
    public: str | None
    """What is shared even so, as a clause."""
    hit_tokens: int
    hit_rate: float | None
    lost_tokens: int
    """Hit tokens of the run that are computed then; negative where room was gained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationSummary:
    """Hits on KV that was computed for someone else."""

    field: str
    """``tenant``, or ``user`` in a log without tenants."""
    parties: int
    hit_tokens: int
    """Hit tokens of requests that say whose they are."""
    cross_hit_tokens: int
    """Of these, on KV that was computed for another one."""
    cross_share: float | None
    cross_requests: int
    """Requests with such a hit."""
    apart: Apart | None
    """None without --isolate."""
    apart_but_public: Apart | None
    """The same with public prefixes shared; None without --share-prefix."""
    definition: str
