"""The cache that a plan means for one engine and one log."""

from __future__ import annotations

from kvaudit.core.errors import UsageError
from kvaudit.replay.engine import LMCACHE_CHUNK, LMCACHE_POLICIES, CacheSettings, Engine
from kvaudit.replay.plan import Plan
from kvaudit.replay.plan_checks import check_plan
from kvaudit.replay.prompt_stream import PromptStream


def cache_settings(
    engine: Engine, plan: Plan, prompts: PromptStream, *, small: bool
) -> CacheSettings:
    """Return how the engine's cache is set up for a log whose first batch was read.

    Raises `UsageError` for what the engine, or the log, does not have.
    """
    check_plan(engine, plan)
    block_size = _block_size(engine, plan, prompts)
    return CacheSettings(
        version=plan.engine_version or engine.newest_version,
        block_size=block_size,
        capacity_blocks=plan.capacity.to_blocks(
            block_size=block_size, kv_bytes_per_token=_block_kv_bytes(plan)
        ),
        policy=plan.policy or engine.policies[0],
        eagle=plan.eagle,
        keeps_partial=plan.keeps_partial,
        saves_decoded=plan.saves_decoded,
        schedule=plan.schedule or engine.schedules[0],
        limits=plan.limits,
        groups=plan.groups,
        retention_tokens=plan.retention_tokens,
        small=small,
        model=plan.model,
        lifetime=_own_lifetime(plan),
        retain_s=plan.retain_s,
        trtllm=plan.trtllm,
        chunk_size=_chunk_size(plan, prompts, block_size),
        chunk_policy=(plan.tiers and plan.tiers.chunk_policy) or LMCACHE_POLICIES[0],
    )


def _chunk_size(plan: Plan, prompts: PromptStream, block_size: int) -> int:
    """Return the tokens of LMCache's chunks: whole blocks, where the log holds those."""
    if plan.tiers is None or not plan.tiers.is_lmcache:
        return LMCACHE_CHUNK
    asked = plan.tiers.chunk_size
    size = asked or LMCACHE_CHUNK
    if not prompts.holds_blocks or size % block_size == 0:
        return size
    nearest = max(1, round(size / block_size)) * block_size
    if asked is None:
        return nearest
    raise UsageError(
        f"--lmcache-chunk-size {size} cannot be replayed: the log holds hashes of blocks of "
        f"{block_size} tokens; use --lmcache-chunk-size {nearest}"
    )


def _block_size(engine: Engine, plan: Plan, prompts: PromptStream) -> int:
    """Return the tokens of a block: the log's, where it holds blocks."""
    if not prompts.holds_blocks:
        return plan.block_size or engine.block_size
    if engine.needs_tokens:
        raise UsageError(
            f"--engine {engine.name} matches tokens, and the log holds block hashes only; "
            "use --engine vllm or --engine ideal"
        )
    assert prompts.block_tokens is not None
    if plan.keeps_partial:
        raise UsageError(
            "--save-unfull-chunk: the log holds block hashes only, and a partial last block's says "
            "nothing of its tokens; leave the option out"
        )
    if plan.block_size not in (None, prompts.block_tokens):
        raise UsageError(
            f"--block-size {plan.block_size} cannot be replayed: the log holds hashes of "
            f"blocks of {prompts.block_tokens} tokens; leave the option out"
        )
    return prompts.block_tokens


def _block_kv_bytes(plan: Plan) -> int | None:
    """Return the KV bytes of one token in one block: of one group's layers.

    vLLM gives all groups blocks of the same bytes, so that each has as many layers.
    """
    per_token = plan.kv_bytes_per_token
    return None if per_token is None else max(1, -(-per_token // len(plan.groups)))


def _own_lifetime(plan: Plan) -> str | None:
    """Return the lifetime to replay in place of what requests ask for, where one is named."""
    if len(plan.lifetimes) != 1:
        return None
    from kvaudit.replay.hosted import AUTOMATIC, KEEPALIVE

    (one,) = plan.lifetimes
    return None if one in (KEEPALIVE, AUTOMATIC) else one
