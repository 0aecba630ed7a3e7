"""What a cache did with a batch of requests, for an analysis that follows a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from kvaudit.core.prompts import PromptBatch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Lookups(NamedTuple):
    """One batch, in replay order; arrays have one entry a request and count prompt tokens."""

    prompts: PromptBatch
    hit_tokens: NDArray[np.int64]
    """Found by the modelled cache."""
    kept_tokens: NDArray[np.int64]
    """Found by a cache of the same rules that never evicts."""
    shared_units: NDArray[np.int64]
    """Units of the longest prefix that anything earlier in the namespace had."""
    expired_tokens: NDArray[np.int64]
    """Missed because a lifetime ran out."""
    elsewhere_tokens: NDArray[np.int64]
    """Missed although another replica held them."""
    parameter_tokens: NDArray[np.int64]
    """Missed because a parameter differs that a provider's cache obeys."""
    evicted_blocks: NDArray[np.int64]
    """Blocks that were evicted to make room for the request."""
    block_units: int
    keys: NDArray[np.int32]
    """Keys of all full blocks, equal exactly where all text up to the block's end is; shape
    (key_offsets[-1],)."""
    key_offsets: NDArray[np.int64]
    """Shape (requests + 1,)."""


class Follower(Protocol):
    """Follows a replay, batch after batch."""

    def add(self, lookups: Lookups) -> None:
        """Take the next batch."""
        ...
