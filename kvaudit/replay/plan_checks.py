"""Refuses what an engine does not have, and options that are not modelled together."""

from __future__ import annotations

from kvaudit.core.errors import UsageError
from kvaudit.replay.engine import Engine, check_choice
from kvaudit.replay.models.kv_groups import FULL_ATTENTION
from kvaudit.replay.models.trtllm_retention import DEFAULT_OPTIONS, OFFLOAD_MIN_PRIORITY
from kvaudit.replay.plan import Plan
from kvaudit.replay.tier_checks import check_tiers

RUN_ON_DEVICE = ("vllm", "sglang")
"""Engines whose caches can say which blocks they hold."""


def check_plan(engine: Engine, plan: Plan) -> None:
    """Raise `UsageError` for a plan that the engine cannot be replayed by."""
    check_choice(
        engine,
        version=plan.engine_version,
        policy=plan.policy,
        schedule=plan.schedule,
        eagle=plan.eagle,
    )
    for check in (
        _check_fleet,
        _check_chunks,
        check_tiers,
        _check_retained,
        _check_trtllm,
        _check_scheduler,
        _check_groups,
        _check_lifetimes,
        _check_device,
    ):
        check(engine, plan)


def _check_fleet(engine: Engine, plan: Plan) -> None:
    if plan.fleet is not None and engine.provider is not None:
        raise UsageError(
            f"--instances means nothing to --engine {engine.name}, whose machines are the "
            "provider's; leave it out"
        )


def _check_chunks(engine: Engine, plan: Plan) -> None:
    for option, is_asked, has_it in (
        ("--save-unfull-chunk", plan.keeps_partial, engine.may_keep_partial),
        ("--save-decode-cache", plan.saves_decoded, engine.may_save_decoded),
    ):
        below = plan.tiers is not None and plan.tiers.is_lmcache
        if is_asked and not has_it and not below:
            instead = "--engine lmcache"
            if engine.may_connect_lmcache:
                instead += ", or --l2 lmcache:SIZE"
            raise UsageError(
                f"{option} means nothing to --engine {engine.name}; leave it out, or use {instead}"
            )


def _check_retained(engine: Engine, plan: Plan) -> None:
    if plan.retain_s is None:
        return
    meet = plan.schedule not in (None, "sequential")
    if not engine.retains or meet or plan.fleet is not None or plan.tiers is not None:
        raise UsageError(
            "--retain session:SECONDS is modelled for one --engine vllm that serves requests one "
            "after the other; leave --schedule, --instances and --l2 out"
        )
    if plan.capacity.amount is None:
        raise UsageError("--retain means nothing to a cache that never evicts; say --capacity")


def _check_trtllm(engine: Engine, plan: Plan) -> None:
    told = plan.trtllm
    for option, is_told in (
        ("--retain FIRST-END:PRIORITY", told.retention != DEFAULT_OPTIONS.retention),
        ("--offload-min-priority", told.offload_min_priority != OFFLOAD_MIN_PRIORITY),
        ("--partial-reuse", told.partial_reuse != DEFAULT_OPTIONS.partial_reuse),
    ):
        if is_told and not engine.is_trtllm:
            raise UsageError(
                f"{option} means nothing to --engine {engine.name}; leave it out, or use --engine "
                "trtllm"
            )
    if told.offload_min_priority != OFFLOAD_MIN_PRIORITY and plan.tiers is None:
        raise UsageError("--offload-min-priority needs a host to offload to; say --l2 SIZE too")
    if told.retention != DEFAULT_OPTIONS.retention and plan.capacity.amount is None:
        raise UsageError("--retain means nothing to a cache that never evicts; say --capacity")


def _check_scheduler(engine: Engine, plan: Plan) -> None:
    if (plan.schedule or engine.schedules[0]) != "sequential":
        return
    limits = plan.limits
    for option, is_asked in (
        ("--scheduling-policy priority", limits.by_priority),
        ("--scheduling-policy lpm", limits.by_longest_prefix),
        ("--watermark", limits.watermark > 0),
        ("--long-prefill-token-threshold", limits.long_prefill_tokens > 0),
    ):
        if is_asked:
            raise UsageError(
                f"{option} means nothing where requests are served one after the other; leave it "
                "out, or use --engine vllm or sglang with --schedule steps"
            )


def _check_groups(engine: Engine, plan: Plan) -> None:
    if plan.retention_asked and not engine.layer_groups:
        raise UsageError(f"--retention means nothing to --engine {engine.name}; leave it out")
    if plan.groups == FULL_ATTENTION:
        return
    if not engine.layer_groups:
        raise UsageError(f"--groups means nothing to --engine {engine.name}; leave it out")
    if plan.fleet is not None or plan.tiers is not None:
        raise UsageError(
            "--groups: replicas and tiers are modelled for full attention alone; leave it out, or "
            "leave out --instances and --l2"
        )


def _check_lifetimes(engine: Engine, plan: Plan) -> None:
    if plan.lifetimes and engine.provider is None:
        raise UsageError(
            f"--ttl compares a provider's lifetimes, and --engine {engine.name} has none; "
            "leave it out"
        )


def _check_device(engine: Engine, plan: Plan) -> None:
    if plan.device is None or plan.device.execution is None:
        return
    others = {
        "--schedule": plan.schedule not in (None, "sequential"),
        "--instances": plan.fleet is not None,
        "--groups": plan.groups != FULL_ATTENTION,
        "--eagle": plan.eagle,
        "--retain": plan.retain_s is not None,
        "--l2 lmcache": plan.tiers is not None and plan.tiers.is_lmcache,
    }
    given = [option for option, is_given in others.items() if is_given]
    if engine.name not in RUN_ON_DEVICE:
        given.append(f"--engine {engine.name}")
    if given:
        raise UsageError(
            f"{given[0]}: a model is run behind --engine {' or '.join(RUN_ON_DEVICE)}, one request "
            "after the other, with full attention; leave the option out, or leave out --device or "
            "--model"
        )
