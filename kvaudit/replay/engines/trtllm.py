"""TensorRT-LLM: a tree of blocks, hits to the token, the last token always computed again."""

from __future__ import annotations

from kvaudit.core.errors import UsageError
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.outcomes import CacheModel

VERSION = "1.2"
"""The release whose rules those of the code that was read are."""


def _exactness(settings: CacheSettings) -> str:
    return (
        "modelled from the source and compared with no recording; requests one after the other, "
        "and in life those in flight compete with the cache for blocks"
    )


def _build(settings: CacheSettings) -> CacheModel:
    from kvaudit.replay.models.trtllm import TrtllmPool

    if settings.version != VERSION:
        raise UsageError(
            f"TensorRT-LLM {settings.version} is not modelled; kvaudit knows {VERSION}: "
            f"use --engine-version {VERSION}"
        )
    return TrtllmPool(capacity_blocks=settings.capacity_blocks, block_size=settings.block_size)


ENGINE = Engine(
    name="trtllm",
    title="TensorRT-LLM block reuse with partial blocks",
    newest_version=VERSION,
    block_size=32,
    policies=("lru",),
    clairvoyant_policies=frozenset(),
    schedules=("sequential",),
    eagle=False,
    partial_blocks=False,
    needs_tokens=True,
    definition="contiguous prefix to the token, short of the last one",
    exactness=_exactness,
    build=_build,
)
