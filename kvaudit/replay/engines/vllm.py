"""vLLM V1: full blocks, the last token always computed again, one queue of free blocks."""

from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.models.vllm_releases import NEWEST
from kvaudit.replay.outcomes import CacheModel


def _exactness(settings: CacheSettings) -> str:
    if settings.capacity_blocks is None:
        return "equal to the engine request by request while nothing is evicted"
    return (
        "an upper bound: requests are replayed one after the other, and in life those in "
        "flight compete with the cache for blocks"
    )


def _build(settings: CacheSettings) -> CacheModel:
    from kvaudit.replay.caches import make_vllm_pool

    return make_vllm_pool(
        version=settings.version or NEWEST,
        capacity_blocks=settings.capacity_blocks,
        block_size=settings.block_size,
        eagle=settings.eagle,
        small=settings.small,
    )


ENGINE = Engine(
    name="vllm",
    title="vLLM V1 block pool, 0.9.2 to the newest release modelled",
    newest_version=NEWEST,
    block_size=16,
    policies=("lru",),
    clairvoyant_policies=frozenset(),
    eagle=True,
    partial_blocks=False,
    definition="contiguous prefix of full blocks, short of the last token",
    exactness=_exactness,
    build=_build,
)
