"""Free blocks in the order in which they are taken: a ring through block 0, oldest first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import compiled


@compiled
def unlink(older: NDArray[np.int32], newer: NDArray[np.int32], block: int) -> None:
    """Take the block out of the free list."""
    newer[older[block]] = newer[block]
    older[newer[block]] = older[block]


@compiled
def append(older: NDArray[np.int32], newer: NDArray[np.int32], block: int) -> None:
    """Put the block at the tail of the free list."""
    tail = older[0]
    newer[tail] = block
    older[block] = tail
    newer[block] = 0
    older[0] = block
