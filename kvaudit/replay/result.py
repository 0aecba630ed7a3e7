"""What one pass over a log found; the parts of a `ReplayReport` that a replay knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.device import DeviceSummary
from kvaudit.core.fleet import FleetSummary
from kvaudit.core.isolation import IsolationSummary
from kvaudit.core.money import HostedSummary
from kvaudit.core.results import (
    LostTokens,
    NamespaceSummary,
    PrefixSummary,
    Sampling,
    SessionsSummary,
)
from kvaudit.core.savings import Savings
from kvaudit.core.schedule import ScheduleSummary
from kvaudit.core.summaries import EngineSummary
from kvaudit.core.tiers import TierSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """The caches side by side, and below them what each part of `parts` adds."""

    engine: EngineSummary
    prefix: PrefixSummary
    ideal: PrefixSummary
    reported: PrefixSummary | None
    lost: LostTokens
    sampling: Sampling
    namespaces: Sequence[NamespaceSummary]
    sessions: SessionsSummary | None
    remarks: Sequence[str]
    """What must be said of the engine as it was set up."""
    span_s: float | None
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    fleet: FleetSummary | None = None
    tiers: Sequence[TierSummary] | None = None
    hosted: HostedSummary | None = None
    savings: Savings | None = None
    isolation: IsolationSummary | None = None
    schedule: ScheduleSummary | None = None
    device: DeviceSummary | None = None
