"""From the options that name a cache to the plan of a replay, for the commands that replay."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kvaudit.commands.options import CacheOptions
from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean

if TYPE_CHECKING:
    from kvaudit.core.settings import Settings
    from kvaudit.cost.shapes import ModelShape
    from kvaudit.replay.fleet.plan import FleetPlan
    from kvaudit.replay.models.trtllm_retention import TrtllmOptions
    from kvaudit.replay.plan import Plan

NAMESPACE_FIELDS = (
    *("model", "tenant", "user", "session", "salt", "lora", "instance", "prompt_cache_key"),
)
"""Fields of the record that may part requests."""


KV_DTYPE_BYTES = {"bf16": 2, "fp8": 1}
"""Bytes of one number of KV."""


def shape_of(cache: CacheOptions, settings: Settings) -> ModelShape | None:
    """Return the shape of the model that is named, if one is.

    Nobody knows the KV of a provider's model; there the name says the rules and the price.
    """
    kind, model = cache.kv_dtype or "bf16", model_of(cache, settings)
    if kind not in KV_DTYPE_BYTES:
        raise UsageError(f"--kv-dtype {kind} is not known{did_you_mean(kind, KV_DTYPE_BYTES)}")
    if model is None and cache.kv_dtype is not None:
        raise UsageError("--kv-dtype says more of a model; name it with --model")
    if model is None or is_hosted(cache, settings):
        return None
    from kvaudit.cost.catalogue import load_model_shape

    return load_model_shape(model, kv_dtype_bytes=KV_DTYPE_BYTES[kind])


def model_of(cache: CacheOptions, settings: Settings) -> str | None:
    """Return the model's name; the settings' model is none of a provider's."""
    return cache.model if is_hosted(cache, settings) else cache.model or settings.model


def is_hosted(cache: CacheOptions, settings: Settings) -> bool:
    """Whether the engine is a provider's cache. Raises `UsageError` for one that is not known."""
    from kvaudit.replay.engine import find_engine

    engine = cache.engine or settings.engine.kind
    return engine is not None and find_engine(engine).provider is not None


def plan_of(
    cache: CacheOptions,
    settings: Settings,
    *,
    engine_keys: str | None = None,
    lifetimes: tuple[str, ...] = (),
) -> Plan:
    """Return what the command line asks for, and the settings where it is silent."""
    from kvaudit.core.quantities import Capacity
    from kvaudit.replay.models.step_limits import (
        MAX_NUM_BATCHED_TOKENS,
        MAX_NUM_SEQS,
        StepLimits,
    )
    from kvaudit.replay.plan import Plan

    warmup = settings.replay.warmup if cache.warmup is None else cache.warmup
    if warmup >= 1 and not warmup.is_integer():
        raise UsageError(
            f"--warmup {warmup:g} is neither a share of the requests, which is below 1, nor a "
            "whole number of them"
        )
    engine = cache.engine or settings.engine.kind
    shape = shape_of(cache, settings)
    return Plan(
        engine=engine,
        engine_version=cache.engine_version or settings.engine.version,
        block_size=cache.block_size or settings.engine.block_size,
        capacity=Capacity.parse(settings.capacity if cache.capacity is None else cache.capacity),
        kv_bytes_per_token=shape.kv_bytes_per_token if shape is not None else None,
        model=model_of(cache, settings),
        model_note=shape.note if shape is not None else None,
        policy=cache.policy,
        eagle=cache.eagle,
        keeps_partial=cache.save_unfull_chunk,
        saves_decoded=cache.save_decode_cache,
        trtllm=_trtllm_options(cache),
        schedule=cache.schedule or settings.replay.schedule,
        limits=StepLimits(
            max_num_batched_tokens=cache.max_num_batched_tokens or MAX_NUM_BATCHED_TOKENS,
            max_num_seqs=cache.max_num_seqs or MAX_NUM_SEQS,
        ),
        lifetimes=lifetimes,
        engine_keys=engine_keys,
        warmup=warmup,
    )


def _trtllm_options(cache: CacheOptions) -> TrtllmOptions:
    """Return what only TensorRT-LLM's cache is told."""
    from kvaudit.replay.models.trtllm_retention import (
        OFFLOAD_MIN_PRIORITY,
        PartialReuse,
        TrtllmOptions,
    )

    reuse = cache.partial_reuse or PartialReuse.COPY
    if reuse not in list(PartialReuse):
        raise UsageError(f"--partial-reuse {reuse} is not one{did_you_mean(reuse, PartialReuse)}")
    least = cache.offload_min_priority
    return TrtllmOptions(
        offload_min_priority=OFFLOAD_MIN_PRIORITY if least is None else least,
        partial_reuse=PartialReuse(reuse),
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
    given = ",".join(settings.namespace) if cache.namespace is None else cache.namespace
    return checked_fields("--namespace", given)


def checked_fields(option: str, given: str) -> tuple[str, ...]:
    """Return the fields that an option names, checked to be of those that can part requests."""
    fields = tuple(f.strip() for f in given.split(",") if f.strip())
    for field in fields:
        if field not in NAMESPACE_FIELDS:
            raise UsageError(
                f"{option}: {field} is not a field that can part requests"
                f"{did_you_mean(field, NAMESPACE_FIELDS)}"
            )
    return fields
