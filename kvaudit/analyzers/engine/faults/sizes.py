"""Blocks and chunks that do not fit into each other."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.engine.faults import seen
from kvaudit.analyzers.engine.invocation import Deployment, Invocation, Setting
from kvaudit.analyzers.engine.stores import connector, lmcache_setting
from kvaudit.core.document import Observation

_VLLM_BLOCK = 16.0


def look(deployment: Deployment) -> Iterator[Observation]:
    """Yield chunks that are no multiple of a block, and engines that share KV in other blocks."""
    engines = deployment.running("vllm")
    chunks = [
        (run, chunk)
        for run in deployment.running("vllm", "lmcache")
        if (chunk := lmcache_setting(run, "chunk-size")) is not None
    ]
    for run, chunk in chunks:
        holders = [run] if run.program == "vllm" else engines
        block = next((b for b in map(_block, holders) if b is not None), None)
        if block and chunk.number and chunk.number % block:
            detail = f"{chunk.written} is {chunk.value}, no multiple of a block's {block:g} tokens"
            yield seen(deployment, "chunk-mismatch", chunk.span, detail)
    yield from _unequal(deployment, [run for run in engines if connector(run) is not None])
    yield from _router(deployment, engines)


def _block(run: Invocation) -> float | None:
    given = run.get("block-size")
    return _VLLM_BLOCK if given is None else given.number


def _unequal(deployment: Deployment, engines: list[Invocation]) -> Iterator[Observation]:
    first: Setting | None = None
    for run in engines:
        given = run.get("block-size")
        if given is None or given.number is None:
            continue
        if first is not None and given.number != first.number:
            detail = f"{given.written} is {given.value} here and {first.value} in its peer"
            yield seen(deployment, "chunk-mismatch", given.span, detail)
        first = first or given


def _router(deployment: Deployment, engines: list[Invocation]) -> Iterator[Observation]:
    """Yield a router of Dynamo that counts in other blocks: it then sees no overlap at all."""
    blocks = {block for block in map(_block, engines) if block}
    for run in deployment.running("dynamo-frontend"):
        given = run.get("kv-cache-block-size") or run.variable("DYN_KV_CACHE_BLOCK_SIZE")
        if given is not None and given.number and blocks and given.number not in blocks:
            of = " and ".join(f"{block:g}" for block in sorted(blocks))
            detail = f"{given.written} is {given.value}, and the engine's blocks have {of} tokens"
            yield seen(deployment, "chunk-mismatch", given.span, detail)
