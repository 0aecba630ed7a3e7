"""What TensorRT-LLM does with one request after the other, compiled.

`kvaudit.replay.models.trtllm` is what it must equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import compiled, inner
from kvaudit.replay.kernels.trtllm_queues import (
    Expiring,
    claim,
    free,
    let_expire,
    refresh,
    take,
)
from kvaudit.replay.kernels.trtllm_tree import (
    FREED,
    FREED_HOST,
    HELD,
    HELD_HOST,
    MADE,
    MADE_HOST,
    NOBODY,
    PEAK_HOST,
    Pool,
    attach,
    best,
    detach,
    detach_all,
)
from kvaudit.replay.models.trtllm_retention import DEFAULT_PRIORITY, NO_DURATION, NO_PRIORITY

EVICTED, OFFLOADED = 3, 6
"""Places in an answer, which has the fields of `Served`."""


class Sizes(NamedTuple):
    """How large the pools are, and what the cache is told beside that."""

    block_size: int
    blocks: int
    host_blocks: int
    bounded: bool
    host_bounded: bool
    offload_min_priority: int
    partial: int
    """Place of what is done in `PartialReuse`."""


class Work(NamedTuple):
    """What is asked, by request but for the first."""

    units: NDArray[np.int32]
    offsets: NDArray[np.int64]
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    roots: NDArray[np.int64]
    priorities: NDArray[np.int64]
    """Of the whole request; `NO_PRIORITY` for one that asks for what all others do."""
    arrived: NDArray[np.int64]
    ended: NDArray[np.int64]
    expiring: Expiring
    ranges: NDArray[np.int64]
    """What all ask for: first token, end, priority and duration, shape (ranges + 1, 4). The last
    one is that of generated tokens."""
    unknown: NDArray[np.int64]
    """The id of the first token that the log does not name; those after it are one less each."""
    served: NDArray[np.bool_]


@inner
def _asked_for(work: Work, request: int, first_token: int) -> tuple[int, int]:
    """Return the priority and duration asked for the block of a prompt that starts with a token."""
    if work.priorities[request] != NO_PRIORITY:
        return work.priorities[request], NO_DURATION
    for part in range(len(work.ranges) - 1):
        if work.ranges[part, 0] <= first_token < work.ranges[part, 1]:
            return work.ranges[part, 2], work.ranges[part, 3]
    return NO_PRIORITY, NO_DURATION


@compiled
def serve_all(
    pool: Pool,
    sizes: Sizes,
    work: Work,
    text: NDArray[np.int32],
    table: NDArray[np.int64],
    answer: NDArray[np.int64],
) -> None:
    """Serve the marked requests one after the other, and look the others up."""
    for request in range(len(work.prompt_tokens)):
        tokens = work.prompt_tokens[request]
        own = answer[request]
        too_long = sizes.bounded and tokens > sizes.blocks * sizes.block_size
        if too_long:
            own[2] = not work.served[request]
        elif not work.served[request]:
            start = work.offsets[request]
            _look(pool, sizes, work.units[start : start + tokens], work.roots[request], own)
        else:
            _write_out(work, request, text)
            _serve(pool, sizes, work, request, text, table, own)
        own[4] = pool.totals[HELD]


@compiled
def _write_out(work: Work, request: int, text: NDArray[np.int32]) -> None:
    """Write out prompt and output of a request; unknown tokens get ids of their own."""
    start = work.offsets[request]
    known = work.offsets[request + 1] - start
    text[:known] = work.units[start : start + known]
    for at in range(known, work.prompt_tokens[request] + work.output_tokens[request]):
        text[at] = work.unknown[request] - (at - known)


@inner
def _look(
    pool: Pool, sizes: Sizes, text: NDArray[np.int32], root: int, own: NDArray[np.int64]
) -> None:
    own[2] = True
    size, node = sizes.block_size, root
    for start in range(0, len(text) - 1, size):
        part = text[start : min(start + size, len(text) - 1)]
        block, shared = best(pool, node, part, sizes.partial)
        if block == NOBODY:
            break
        own[0] += shared
        own[1] += 1
        own[5] += shared * pool.host[block]
        if not (shared == size == pool.length[block]):
            break
        node = block


@inner
def _serve(
    pool: Pool,
    sizes: Sizes,
    work: Work,
    request: int,
    text: NDArray[np.int32],
    table: NDArray[np.int64],
    own: NDArray[np.int64],
) -> None:
    size, tokens = sizes.block_size, work.prompt_tokens[request]
    priority, duration = work.ranges[-1, 2], work.ranges[-1, 3]
    if work.priorities[request] != NO_PRIORITY:
        priority, duration = work.priorities[request], NO_DURATION
    own[2] = True
    refresh(pool, work.expiring, work.arrived[request])
    _load(pool, sizes, work, request, text[:tokens], table, own)
    used = -(-tokens // size)
    computed = tokens + max(work.output_tokens[request], 1) - 1
    while used * size < computed:
        if pool.totals[MADE] == sizes.blocks and pool.totals[FREED] == 0:
            computed = used * size
            break
        table[used] = _take(pool, sizes, priority, duration, own)
        used += 1
    node = work.roots[request]
    for index in range(used):
        part = text[index * size : min((index + 1) * size, computed)]
        block, shared = best(pool, node, part, sizes.partial)
        if block == NOBODY or not (shared == len(part) == pool.length[block]):
            block = table[index]
            detach(pool, block)
            attach(pool, block, node, part)
        node = block
    refresh(pool, work.expiring, work.ended[request])
    for index in range(used - 1, -1, -1):
        free(pool, table[index])
        if pool.duration[table[index]] != NO_DURATION:
            let_expire(pool, work.expiring, table[index], work.ended[request])


@inner
def _load(
    pool: Pool,
    sizes: Sizes,
    work: Work,
    request: int,
    text: NDArray[np.int32],
    table: NDArray[np.int64],
    own: NDArray[np.int64],
) -> None:
    """Find or take the blocks of a prompt."""
    size, node, looks = sizes.block_size, work.roots[request], True
    for index in range(-(-len(text) // size)):
        part = text[index * size : min((index + 1) * size, len(text) - 1)]
        block, shared = NOBODY, 0
        if looks:
            block, shared = best(pool, node, part, sizes.partial)
        looks = False
        priority, duration = _asked_for(work, request, index * size)
        if block != NOBODY:
            own[0] += shared
            own[1] += 1
            own[5] += shared * pool.host[block]
            whole = shared == size == pool.length[block]
            if whole or pool.children[block] == NOBODY:
                if not whole:
                    detach(pool, block)
                claim(pool, block)
                pool.duration[block] = duration
                if priority != NO_PRIORITY:
                    pool.priority[block] = priority
                node, looks = block, whole
            else:
                block = _take(pool, sizes, pool.priority[block], pool.duration[block], own)
                pool.keyed[block] = True
        else:
            block = _take(pool, sizes, priority, duration, own)
            pool.keyed[block] = len(part) > 0
        if pool.host[block]:
            spare = _take(pool, sizes, NO_PRIORITY, NO_DURATION, own)
            _move(pool, block, False)
            _move(pool, spare, True)
            free(pool, spare)
        table[index] = block


@inner
def _take(pool: Pool, sizes: Sizes, priority: int, duration: int, own: NDArray[np.int64]) -> int:
    """Take the next free block of the accelerator; what it held goes to the host, if it can."""
    block = take(pool, 0, sizes.blocks, sizes.bounded)
    worth = pool.keyed[block] and pool.priority[block] >= sizes.offload_min_priority
    if worth and (pool.totals[MADE_HOST] < sizes.host_blocks or pool.totals[FREED_HOST] > 0):
        spare = take(pool, 1, sizes.host_blocks, sizes.host_bounded)
        _move(pool, block, True)
        _move(pool, spare, False)
        pool.duration[block] = NO_DURATION
        free(pool, block)
        own[OFFLOADED] += 1
        block = spare
    before = pool.totals[HELD] + pool.totals[HELD_HOST]
    detach_all(pool, block)
    own[EVICTED] += before - (pool.totals[HELD] + pool.totals[HELD_HOST])
    pool.priority[block] = DEFAULT_PRIORITY if priority == NO_PRIORITY else priority
    pool.duration[block] = duration
    return int(block)


@inner
def _move(pool: Pool, block: int, host: bool) -> None:
    """Give a block memory of the other level."""
    if pool.parent[block] != NOBODY:
        pool.totals[HELD + int(pool.host[block])] -= 1
        pool.totals[HELD + int(host)] += 1
    pool.host[block] = host
    pool.totals[PEAK_HOST] = max(pool.totals[PEAK_HOST], pool.totals[HELD_HOST])
