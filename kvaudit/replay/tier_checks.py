"""Refuses tiers that an engine does not have, and what is not modelled with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.replay.engine import LMCACHE_POLICIES, Engine
from kvaudit.replay.models.tiers import WritePolicy
from kvaudit.replay.plan import Plan

if TYPE_CHECKING:
    from kvaudit.replay.fleet.plan import FleetPlan
    from kvaudit.replay.tiers import TierPlan


def check_tiers(engine: Engine, plan: Plan) -> None:
    """Raise `UsageError` for tiers that are not modelled below the engine."""
    if plan.tiers is None:
        return
    if engine.tiers is None:
        raise UsageError(
            f"--l2: tiers below --engine {engine.name} are not modelled; use --engine vllm, "
            "sglang, lmcache or trtllm"
        )
    _check_kinds(engine, plan.tiers)
    _check_lmcache(engine, plan.tiers)
    named = plan.tiers.policy is not None
    if named and not engine.tiers.any_policy:
        raise UsageError(
            f"--write-policy: {engine.name} moves a block down when its room is needed, and back "
            "when it is hit; leave --write-policy and --exclusive out"
        )
    if plan.tiers.policy not in (None, WritePolicy.THROUGH):
        option = "--save-unfull-chunk" if plan.keeps_partial else "--save-decode-cache"
        if plan.keeps_partial or plan.saves_decoded:
            raise UsageError(
                f"--write-policy: with {option} the tiers are modelled by the engine's own rules "
                "only; leave one of the two out"
            )
    if plan.tiers.exclusive and engine.tiers.own_policies:
        raise UsageError(
            f"--exclusive: {engine.name} keeps its copy of what it reads up; leave --exclusive out"
        )
    if engine.tiers.own_tiers == 1 and len(plan.tiers.capacities) > 1:
        raise UsageError(f"--l3: {engine.name} has one tier below its cache; leave it out")
    if plan.fleet is not None:
        _check_tiered_fleet(engine, plan.fleet, plan.tiers)
    if (plan.schedule or engine.schedules[0]) != "sequential":
        raise UsageError(
            f"--l2: tiers are modelled one request after the other, not by --schedule "
            f"{plan.schedule}; leave one of the two out"
        )


def _check_tiered_fleet(engine: Engine, fleet: FleetPlan, tiers: TierPlan) -> None:
    """Refuse tiers below several replicas, but for LMCache's own."""
    if not (engine.has_remote or tiers.is_lmcache):
        instead = "--engine lmcache"
        if engine.may_connect_lmcache:
            instead = "--l2 lmcache:SIZE"
        raise UsageError(
            f"--l2: tiers below several replicas of --engine {engine.name} are not modelled; leave "
            f"out --instances, or use {instead}, whose instances share a remote store"
        )
    if fleet.instances is None:
        raise UsageError(
            f"--l2: how many replicas have tiers must be known beforehand; with --router "
            f"{fleet.router} say --instances N too"
        )
    for option, is_asked in (
        ("--write-policy", tiers.policy not in (None, WritePolicy.THROUGH)),
        ("--sharing", fleet.sharing != "none"),
        ("--invalidate", bool(fleet.invalidations)),
    ):
        if is_asked:
            raise UsageError(
                f"{option} is not modelled with tiers below several replicas, which share the "
                "remote store only; leave it out"
            )


def _check_kinds(engine: Engine, tiers: TierPlan) -> None:
    """Refuse a tier that the engine does not have, or not there."""
    for number, kind in enumerate(tiers.kinds, start=2):
        if kind == "lmcache" and number > 2:
            raise UsageError(
                f"--l{number} {kind}: LMCache begins with its CPU memory; write --l2 {kind}:SIZE"
            )
        if kind == "remote" and not (engine.has_remote or tiers.is_lmcache):
            instead = "--engine lmcache"
            if engine.may_connect_lmcache:
                instead = "--l2 lmcache:SIZE --l3 remote:SIZE"
            raise UsageError(
                f"--l{number} {kind}: the tiers of --engine {engine.name} are what their place "
                f"says; write --l{number} SIZE, or use {instead}"
            )
        if kind == "remote" and number <= len(tiers.capacities):
            raise UsageError(
                f"--l{number + 1}: the remote store is the last tier; write --l2 SIZE --l3 "
                f"remote:SIZE for a disk before it, or leave --l{number + 1} out"
            )


def _check_lmcache(engine: Engine, tiers: TierPlan) -> None:
    """Refuse what is said of an LMCache that does not stand below, or that it does not have."""
    below = tiers.is_lmcache
    for option, value, own in (
        ("--lmcache-chunk-size", tiers.chunk_size, "--block-size"),
        ("--lmcache-cache-policy", tiers.chunk_policy, "--policy"),
    ):
        if value is not None and not below:
            raise UsageError(
                f"{option} is for LMCache below an engine; say --l2 lmcache:SIZE, or {own} with "
                "--engine lmcache"
            )
    if not below:
        return
    if not engine.may_connect_lmcache:
        raise UsageError(
            f"--l2 lmcache: LMCache is not modelled below --engine {engine.name}; use --engine "
            "vllm, or --engine lmcache for it alone"
        )
    policy = tiers.chunk_policy
    if policy is not None and policy not in LMCACHE_POLICIES:
        raise UsageError(
            f"--lmcache-cache-policy {policy} is not one{did_you_mean(policy, LMCACHE_POLICIES)}"
        )
    if tiers.policy is not None or tiers.exclusive:
        raise UsageError(
            "--write-policy: LMCache writes all of its tiers at once; leave --write-policy and "
            "--exclusive out"
        )
