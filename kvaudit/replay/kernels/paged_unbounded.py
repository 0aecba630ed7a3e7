"""vLLM's block pool without a bound, compiled: nothing is evicted, so blocks are only counted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import compiled


class Work(NamedTuple):
    """What is asked, by request."""

    keys: NDArray[np.int32]
    starts: NDArray[np.int64]
    known: NDArray[np.int64]
    prompt_tokens: NDArray[np.int64]
    computed_tokens: NDArray[np.int64]
    served: NDArray[np.bool_]
    """Whether it is served, or only looked at."""


class Answer(NamedTuple):
    """What the kernel writes, by request."""

    hit_blocks: NDArray[np.int64]
    admitted: NDArray[np.bool_]
    evicted_blocks: NDArray[np.int64]
    held_blocks: NDArray[np.int64]


@compiled
def fill(
    counts: NDArray[np.int64],
    cached: NDArray[np.bool_],
    work: Work,
    block_size: int,
    eagle: bool,
    answer: Answer,
) -> None:
    """Serve the requests; ``cached`` says of each key whether a block has it."""
    for request in range(len(work.prompt_tokens)):
        keys = work.keys[work.starts[request] : work.starts[request] + work.known[request]]
        reusable = min(len(keys), max(0, work.prompt_tokens[request] - 1) // block_size)
        hits = 0
        while hits < reusable and cached[keys[hits]]:
            hits += 1
        if eagle and hits > 0:
            hits -= 1
        if not work.served[request]:
            answer.hit_blocks[request] = hits
            answer.held_blocks[request] = counts[2]
            continue
        computed = work.computed_tokens[request]
        keyed = computed // block_size
        for index in range(hits, min(keyed, len(keys))):
            cached[keys[index]] = True
        counts[2] += keyed - hits
        counts[3] = max(counts[3], counts[2] + (1 if computed % block_size else 0))
        answer.hit_blocks[request] = hits
        answer.held_blocks[request] = counts[2]
