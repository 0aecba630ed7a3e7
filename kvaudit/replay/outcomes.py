"""What a cache model answers, batch after batch, and the interface all models share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import UsageError
from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedOutcome:
    """What a provider's cache did beside hits; arrays have one entry a request."""

    write_5m_tokens: NDArray[np.int64]
    """Written by the shorter lifetime, or by the only one there is."""
    write_1h_tokens: NDArray[np.int64]
    lost: Mapping[str, NDArray[np.int64]]
    """Tokens that an earlier request had and that were not read, by the reason's name in
    `kvaudit.core.results.LostTokens`; what no reason names is the end of a step."""
    too_short: NDArray[np.bool_]
    """Nothing could be stored, since what might be is below the provider's minimum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """Which of several caches served each request; arrays have one entry a request."""

    names: Sequence[str]
    replicas: NDArray[np.int64]
    local_blocks: NDArray[np.int64]
    """Hit blocks that the replica held itself, the first ones of the prompt."""
    donors: NDArray[np.int64]
    """The replica that the other hit blocks came from; -1 for any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineActivity:
    """What an engine did over time; times by its clock, from the first arrival on.

    Arrays have one entry a request, NaN where it never came to that.
    """

    arrived: NDArray[np.float64]
    started: NDArray[np.float64]
    """When the request was first admitted."""
    first_token: NDArray[np.float64]
    """When its prefill was done."""
    ended: NDArray[np.float64]
    met_blocks: NDArray[np.int64]
    """Blocks that requests in flight held when it arrived."""
    steps: int
    preemptions: int
    peak_running: int
    """The most requests at once."""
    peak_used_blocks: int
    """The most blocks that requests in flight held at any moment."""
    mean_used_blocks: float
    """The mean of those while any request ran, weighted by time."""
    counted_queries: int
    """Tokens that the engine's own counters show as looked up."""
    counted_hits: int
    counted_preempted_queries: int
    """The same of requests that had been preempted, where it counts them apart."""
    counted_preempted_hits: int
    follows_counters: bool = True
    """Whether the engine's own counters were followed; the four figures say nothing if not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheOutcome:
    """One model's answer to one batch; arrays have one entry a request."""

    cached_tokens: NDArray[np.int64]
    """Prompt tokens whose KV was found when the request was first admitted."""
    hit_blocks: NDArray[np.int64]
    """The same in blocks, a partial last block counted as one."""
    admitted: NDArray[np.bool_]
    """False for a prompt that has more blocks than the cache; it hits and caches nothing."""
    evicted_blocks: NDArray[np.int64]
    """Blocks that lost their KV to make room for this request."""
    held_blocks: NDArray[np.int64]
    """Blocks, after the request, that hold KV which a later one could be given."""
    peak_blocks: int
    """The most blocks in use or held at any moment since the model was made."""
    resumed_cached_tokens: NDArray[np.int64] | None = None
    """Tokens found when a request went on after it had been preempted; None where none is."""
    tier_tokens: NDArray[np.int64] | None = None
    """Hit tokens by tier, the fastest first, shape (tiers, requests); None where there is one."""
    hosted: HostedOutcome | None = None
    """What only a provider's cache tells."""
    routed: Routed | None = None
    """Where each request was served; None where there is one cache only."""
    activity: EngineActivity | None = None
    """None where requests take no time."""
    measured_ttft_s: NDArray[np.float64] | None = None
    """Seconds of prefill on a device, NaN where it was not run; None where nothing is run."""


class CacheModel(Protocol):
    """A cache that sees the log once, in order, and remembers from batch to batch."""

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other; ``blocks`` are their block keys."""
        ...


@runtime_checkable
class Replica(CacheModel, Protocol):
    """A cache that can also be asked what it would hit, as a replica is of others' requests."""

    def replay_some(
        self, prompts: PromptBatch, blocks: BlockBatch, served: NDArray[np.bool_]
    ) -> CacheOutcome:
        """Serve the requests that are marked, one after the other, and only look at the others.

        A request that is looked at gets the hits that it would have had at its place among
        those that are served, and changes nothing; it is admitted, and evicts nothing.
        """
        ...


@runtime_checkable
class OnDevice(CacheModel, Protocol):
    """A cache that does on a device what another one decides."""

    simulated: CacheModel
    """The one that decides."""


@runtime_checkable
class Stranding(CacheModel, Protocol):
    """A cache that evicts blocks whatever continues them, and then holds what cannot be hit."""

    def unreachable_blocks(self) -> int | None:
        """Return how many held blocks no prompt can reach: one before them was evicted.

        None where that does not come to pass.
        """
        ...


@runtime_checkable
class Stalling(CacheModel, Protocol):
    """A cache that must hold all that a request reads from below at once."""

    @property
    def stalled_requests(self) -> int:
        """Return how many requests found more than it holds."""
        ...


def all_served(prompts: PromptBatch) -> NDArray[np.bool_]:
    """Return the marks that let a cache serve every request of a batch."""
    return np.ones(len(prompts.prompt_tokens), np.bool_)


def check_sizes(capacity_blocks: int | None, block_size: int = 1) -> None:
    """Refuse a cache that could hold nothing. Raises `UsageError`."""
    if block_size < 1:
        raise UsageError(f"--block-size {block_size}: a block holds at least one token")
    if capacity_blocks is not None and capacity_blocks < 1:
        raise UsageError(
            f"--capacity of {capacity_blocks} blocks: the cache must hold at least one block "
            f"of {block_size} tokens"
        )
