"""What is asked of a replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvaudit.core.quantities import Capacity
from kvaudit.replay.models.kv_groups import FULL_ATTENTION, KvGroup
from kvaudit.replay.models.step_limits import SERVER_LIMITS, StepLimits
from kvaudit.replay.models.trtllm_retention import DEFAULT_OPTIONS, TrtllmOptions

if TYPE_CHECKING:  # most plans have none of these, and loading them takes as long as a small log
    from kvaudit.cost.savings import Costing
    from kvaudit.replay.device.plan import DevicePlan
    from kvaudit.replay.fleet.plan import FleetPlan
    from kvaudit.replay.isolation import IsolationPlan
    from kvaudit.replay.tiers import TierPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be replayed through what; None leaves it to the engine or the log."""

    engine: str | None = None
    engine_version: str | None = None
    block_size: int | None = None
    capacity: Capacity
    kv_bytes_per_token: int | None = None
    model: str | None = None
    model_note: str | None = None
    """What must be said of the model's KV size."""
    policy: str | None = None
    eagle: bool = False
    keeps_partial: bool = False
    """Whether a prompt's partial last block is kept too."""
    saves_decoded: bool = False
    """Whether chunks that decoding fills are kept too."""
    schedule: str | None = None
    limits: StepLimits = SERVER_LIMITS
    groups: tuple[KvGroup, ...] = FULL_ATTENTION
    retention_tokens: int | None = None
    """How sparsely windows and states are kept; None keeps all that a hit could use."""
    retention_asked: bool = False
    lifetimes: tuple[str, ...] = ()
    """A provider's lifetimes that are to be compared; one alone is also the one replayed."""
    trtllm: TrtllmOptions = DEFAULT_OPTIONS
    """What only TensorRT-LLM's cache is told."""
    retain_s: float | None = None
    """How long a session's blocks are kept after each use, by a hint."""
    costing: Costing | None = None
    """What tokens are priced with; None where no model was named."""
    engine_keys: str | None = None
    """How the engine's own block keys are computed, for the per-request rows."""
    fleet: FleetPlan | None = None
    """None is one replica without a router."""
    isolation: IsolationPlan | None = None
    """Who is to be kept apart in a second replay."""
    tiers: TierPlan | None = None
    """None is the engine's own cache alone."""
    device: DevicePlan | None = None
    """None does nothing on a device."""
    warmup: float = 0.0
    """Below 1 a share of the requests, else a count; they are left out of all sums."""


def first_counted(warmup: float, requests: int) -> int:
    """Return the number of the first request that counts; those before it are the warm-up.

    It is ``requests`` where the warm-up is the whole log.
    """
    return int(warmup * requests) if warmup < 1 else min(int(warmup), requests)
