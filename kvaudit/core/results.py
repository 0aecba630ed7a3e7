"""What a replay found: the one document that every report is made from.

The field names are those of ``kvaudit replay --format json``; the JSON schema is generated
from these classes. A part that the input cannot support is None, and ``notes`` says why.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kvaudit.core.device import DeviceSummary
from kvaudit.core.fleet import FleetSummary
from kvaudit.core.invoice import Invoice
from kvaudit.core.isolation import IsolationSummary
from kvaudit.core.money import HostedSummary
from kvaudit.core.savings import Savings
from kvaudit.core.schedule import ScheduleSummary
from kvaudit.core.semantic import SemanticSummary
from kvaudit.core.summaries import Bounds, EngineSummary, LogSummary, Note
from kvaudit.core.tiers import TierSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixSummary:
    """One cache's hits over the counted part of the log (all of it without ``--warmup``)."""

    requests: int
    prompt_tokens: int
    hit_tokens: int
    hit_rate: float | None
    """hit_tokens / prompt_tokens; None where there are no prompt tokens."""
    block_hit_rate: float | None
    """Hit blocks / blocks of the prompts, a partial last block counted as one."""
    mean_request_hit_rate: float | None
    """Mean over requests of each one's own hit rate."""
    computed_tokens: int
    evicted_blocks: int | None
    peak_blocks: int | None
    not_admitted: int | None
    occupancy: Sequence[tuple[float, int]] | None
    """Blocks that hold KV after a request, at its arrival in seconds since the first one."""
    definition: str
    bounds: Bounds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LostTokens:
    """Where the prompt tokens went that were not hits; they sum to ``computed_tokens``."""

    first_seen: int
    evicted: int
    last_block: int
    """Seen before and held, but in a block that cannot be reused: partial, or the last. At a
    provider: behind its last whole step or unit."""
    other_replica: int = 0
    """Held at that moment by another replica than the one that served the request."""
    invalidated: int = 0
    """Computed before an event, such as a model reload, that made it invalid."""
    expired: int = 0
    """Stored by a provider and not used for its lifetime."""
    dispersed: int = 0
    """Stored by a provider, but not ready yet, or on another machine."""
    parameter_change: int = 0
    """Stored by a provider under other parameters, such as another choice of tools."""
    refused: int = 0
    """Of a request that a provider answers with an error, such as one with five breakpoints."""
    below_minimum: int = 0
    """Too short for a provider to store."""
    not_marked: int = 0
    """Not stored by a provider since no breakpoint stood where the requests' common part ends, or
    none within reach of a later one."""
    not_ready: int = 0
    """Of a request that came before, but not computed yet when this one was admitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSummary:
    """One namespace's share."""

    namespace: str
    requests: int
    prompt_tokens: int
    hit_tokens: int
    hit_rate: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """One session's share."""

    session: str
    requests: int
    prompt_tokens: int
    hit_tokens: int
    hit_rate: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsSummary:
    """All sessions: how their hit rates spread, and the ones that compute most."""

    sessions: int
    hit_rate_p10: float | None
    hit_rate_p50: float | None
    hit_rate_p90: float | None
    most_computed: Sequence[SessionSummary]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How far a log's hit rate speaks of other logs of the same traffic."""

    unit: str
    """``session``, or ``request`` in a log that names no sessions: what is taken as independent."""
    units: int
    standard_error: float | None
    """Of the hit rate, as a ratio of sums over the units; None for fewer than two of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A figure of the run held against a limit."""

    name: str
    limit: float
    value: float | None
    """None where the log does not support the figure; the budget is then missed."""
    passed: bool
    at_most: bool = False
    """Whether the limit must not be exceeded; else the figure must not fall below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """The result of ``kvaudit replay``."""

    schema: int = 1
    log: LogSummary
    engine: EngineSummary | None
    prefix: PrefixSummary | None
    ideal: PrefixSummary | None
    reported: PrefixSummary | None
    lost: LostTokens | None = None
    sampling: Sampling | None = None
    """Of the hit rate of ``prefix``."""
    tiers: Sequence[TierSummary] | None = None
    """The engine's own cache and those below it; None where there is one only."""
    namespaces: Sequence[NamespaceSummary] = ()
    sessions: SessionsSummary | None = None
    fleet: FleetSummary | None = None
    isolation: IsolationSummary | None = None
    semantic: SemanticSummary | None = None
    """Only with a policy of a semantic cache; the prefix cache then sees its misses."""
    hosted: HostedSummary | None = None
    """Only of a provider's cache."""
    savings: Savings | None = None
    schedule: ScheduleSummary | None = None
    device: DeviceSummary | None = None
    """Only with ``--gpu`` or ``--device``."""
    invoice: Invoice | None = None
    notes: Sequence[Note] = field(default=())
    budgets: Sequence[Budget] = ()
