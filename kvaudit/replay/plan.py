"""What is asked of a replay, and the cache that this means for one engine and one log."""

from __future__ import annotations

from dataclasses import dataclass

from kvaudit.core.errors import UsageError
from kvaudit.core.quantities import Capacity
from kvaudit.cost.savings import Costing
from kvaudit.replay.engine import CacheSettings, Engine, check_choice
from kvaudit.replay.fleet.plan import FleetPlan
from kvaudit.replay.hosted import AUTOMATIC, KEEPALIVE
from kvaudit.replay.isolation import IsolationPlan
from kvaudit.replay.models.kv_groups import FULL_ATTENTION, KvGroup
from kvaudit.replay.models.scheduled import SERVER_LIMITS, StepLimits
from kvaudit.replay.prompts import Prompts
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
    schedule: str | None = None
    limits: StepLimits = SERVER_LIMITS
    groups: tuple[KvGroup, ...] = FULL_ATTENTION
    retention_tokens: int | None = None
    """How sparsely windows and states are kept; None keeps all that a hit could use."""
    retention_asked: bool = False
    lifetimes: tuple[str, ...] = ()
    """A provider's lifetimes that are to be compared; one alone is also the one replayed."""
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
    warmup: float = 0.0
    """Below 1 a share of the requests, else a count; they are left out of all sums."""


def first_counted(warmup: float, requests: int) -> int:
    """Return the number of the first request that counts; those before it are the warm-up."""
    return int(warmup * requests) if warmup < 1 else int(warmup)


def cache_settings(engine: Engine, plan: Plan, prompts: Prompts, *, small: bool) -> CacheSettings:
    """Return how the engine's cache is set up for a log whose first batch was read."""
    check_choice(
        engine,
        version=plan.engine_version,
        policy=plan.policy,
        schedule=plan.schedule,
        eagle=plan.eagle,
    )
    if plan.fleet is not None and engine.provider is not None:
        raise UsageError(
            f"--instances means nothing to --engine {engine.name}, whose machines are the "
            "provider's; leave it out"
        )
    if plan.tiers is not None:
        _check_tiers(engine, plan)
    _check_retained(engine, plan)
    if plan.groups != FULL_ATTENTION and not engine.layer_groups:
        raise UsageError(f"--groups means nothing to --engine {engine.name}; leave it out")
    if plan.groups != FULL_ATTENTION and (plan.fleet is not None or plan.tiers is not None):
        raise UsageError(
            "--groups: replicas and tiers are modelled for full attention alone; leave it out, or "
            "leave out --instances and --l2"
        )
    if plan.retention_asked and not engine.layer_groups:
        raise UsageError(f"--retention means nothing to --engine {engine.name}; leave it out")
    block_size = plan.block_size or engine.block_size
    if prompts.holds_blocks and engine.needs_tokens:
        raise UsageError(
            f"--engine {engine.name} matches tokens, and the log holds block hashes only; "
            "use --engine vllm or --engine ideal"
        )
    if prompts.holds_blocks:
        assert prompts.block_tokens is not None
        block_size = prompts.block_tokens
        if plan.block_size not in (None, block_size):
            raise UsageError(
                f"--block-size {plan.block_size} cannot be replayed: the log holds hashes of "
                f"blocks of {block_size} tokens; leave the option out"
            )
    return CacheSettings(
        version=plan.engine_version or engine.newest_version,
        block_size=block_size,
        capacity_blocks=plan.capacity.to_blocks(
            block_size=block_size, kv_bytes_per_token=_block_kv_bytes(plan)
        ),
        policy=plan.policy or engine.policies[0],
        eagle=plan.eagle,
        schedule=plan.schedule or engine.schedules[0],
        limits=plan.limits,
        groups=plan.groups,
        retention_tokens=plan.retention_tokens,
        small=small,
        model=plan.model,
        lifetime=_own_lifetime(engine, plan),
        retain_s=plan.retain_s,
    )


def _check_retained(engine: Engine, plan: Plan) -> None:
    if plan.retain_s is None:
        return
    meet = plan.schedule not in (None, "sequential")
    if not engine.retains or meet or plan.fleet is not None or plan.tiers is not None:
        raise UsageError(
            "--retain is modelled for one --engine vllm that serves requests one after the "
            "other; leave --schedule, --instances and --l2 out"
        )
    if plan.capacity.amount is None:
        raise UsageError("--retain means nothing to a cache that never evicts; say --capacity")


def _block_kv_bytes(plan: Plan) -> int | None:
    """Return the KV bytes of one token in one block: of one group's layers.

    vLLM gives all groups blocks of the same bytes, so that each has as many layers.
    """
    per_token = plan.kv_bytes_per_token
    return None if per_token is None else max(1, -(-per_token // len(plan.groups)))


def _own_lifetime(engine: Engine, plan: Plan) -> str | None:
    """Return the lifetime to replay in place of what requests ask for, where one is named."""
    if plan.lifetimes and engine.provider is None:
        raise UsageError(
            f"--ttl compares a provider's lifetimes, and --engine {engine.name} has none; "
            "leave it out"
        )
    one = plan.lifetimes[0] if len(plan.lifetimes) == 1 else None
    return None if one in (KEEPALIVE, AUTOMATIC) else one


def _check_tiers(engine: Engine, plan: Plan) -> None:
    if engine.tiers is None:
        raise UsageError(
            f"--l2: tiers below --engine {engine.name} are not modelled; use --engine vllm, "
            "sglang or lmcache"
        )
    if plan.fleet is not None:
        raise UsageError("--l2: tiers of several replicas are not modelled; leave out --instances")
    if (plan.schedule or engine.schedules[0]) != "sequential":
        raise UsageError(
            f"--l2: tiers are modelled one request after the other, not by --schedule "
            f"{plan.schedule}; leave one of the two out"
        )
