"""From the options that name a cache to the plan of a replay, for the commands that replay."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kvaudit.commands.options import CacheOptions
from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean

if TYPE_CHECKING:
    from kvaudit.core.settings import Settings
    from kvaudit.replay.fleet.plan import FleetPlan
    from kvaudit.replay.plan import Plan

NAMESPACE_FIELDS = (
    *("model", "tenant", "user", "session", "salt", "lora", "instance", "prompt_cache_key"),
)
"""Fields of the record that may part requests."""


def plan_of(
    cache: CacheOptions,
    settings: Settings,
    *,
    engine_keys: str | None = None,
    lifetimes: tuple[str, ...] = (),
) -> Plan:
    """Return what the command line asks for, and the settings where it is silent."""
    from kvaudit.core.quantities import Capacity
    from kvaudit.cost.catalogue import load_model_shape
    from kvaudit.replay.engine import find_engine
    from kvaudit.replay.models.scheduled import MAX_NUM_BATCHED_TOKENS, MAX_NUM_SEQS
    from kvaudit.replay.plan import Plan

    warmup = settings.replay.warmup if cache.warmup is None else cache.warmup
    if warmup >= 1 and not warmup.is_integer():
        raise UsageError(
            f"--warmup {warmup:g} is neither a share of the requests, which is below 1, nor a "
            "whole number of them"
        )
    engine = cache.engine or settings.engine.kind
    hosted = engine is not None and find_engine(engine).provider is not None
    # Nobody knows the KV of a provider's model; there the name says the rules and the price.
    model = cache.model if hosted else cache.model or settings.model
    shape = load_model_shape(model) if model is not None and not hosted else None
    return Plan(
        engine=engine,
        engine_version=cache.engine_version or settings.engine.version,
        block_size=cache.block_size or settings.engine.block_size,
        capacity=Capacity.parse(cache.capacity or settings.capacity),
        kv_bytes_per_token=shape.kv_bytes_per_token if shape is not None else None,
        model=model,
        model_note=shape.note if shape is not None else None,
        policy=cache.policy,
        eagle=cache.eagle,
        schedule=cache.schedule or settings.replay.schedule,
        max_num_batched_tokens=cache.max_num_batched_tokens or MAX_NUM_BATCHED_TOKENS,
        max_num_seqs=cache.max_num_seqs or MAX_NUM_SEQS,
        lifetimes=lifetimes,
        engine_keys=engine_keys,
        warmup=warmup,
    )


def with_fleet(plan: Plan, fleet: FleetPlan | None) -> Plan:
    """Return the plan with several replicas, which serve requests one after the other."""
    if fleet is None:
        return plan
    if plan.schedule not in (None, "sequential"):
        raise UsageError(
            f"--instances: replicas serve one request after the other, not by --schedule "
            f"{plan.schedule}; leave one of the two out"
        )
    return replace(plan, fleet=fleet, schedule="sequential")


def needed_template(plan: Plan, asked: str | None) -> str | None:
    """Return the chat template that the engine cannot do without, or None.

    Raises `UsageError` where the command line asks for another one.
    """
    from kvaudit.replay.engine import find_engine

    needed = find_engine(plan.engine).chat_template if plan.engine is not None else None
    if needed is not None and asked not in (None, needed):
        raise UsageError(
            f"--chat-template {asked}: --engine {plan.engine} needs content blocks kept apart, "
            "as only its own template does; leave the option out"
        )
    return needed


def fields_of(cache: CacheOptions, settings: Settings) -> tuple[str, ...]:
    """Return the fields that part requests, checked to be fields of the record that can."""
    fields = settings.namespace
    if cache.namespace is not None:
        fields = tuple(f.strip() for f in cache.namespace.split(",") if f.strip())
    for field in fields:
        if field not in NAMESPACE_FIELDS:
            raise UsageError(
                f"--namespace: {field} is not a field that can part requests"
                f"{did_you_mean(field, NAMESPACE_FIELDS)}"
            )
    return fields
