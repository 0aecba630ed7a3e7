"""Which full blocks get a key, compiled: those that a later hit could use."""

from __future__ import annotations

from kvaudit.replay.kernels.block_pool import HELD, NULL, Pool
from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.kv_layers import DENSE, MAMBA, SLIDING, Layers, Work
from kvaudit.replay.models.paged import UNKNOWN


@compiled
def _is_kept(layers: Layers, group: int, index: int, prompt_tokens: int, junction: int) -> bool:
    """Whether a full block gets a key."""
    state = layers.kind[group] == MAMBA
    if not layers.sparse or not (state or layers.kind[group] == SLIDING):
        return True
    size, retention = layers.block_size, layers.retention_tokens
    if state and (not layers.sparse_states or retention == DENSE):
        return True
    eagle = 1 if layers.eagle and not state else 0
    needed = 1 if state else -(-(layers.tokens[group] - 1) // size) + eagle
    segment = 1 if retention == DENSE else retention // size
    if segment > 0:
        if needed >= segment:
            return True
        if index >= eagle and (index - eagle) % segment >= segment - needed:
            return True
    if retention == DENSE:
        return False
    for number in range(4):
        if number == 0:
            boundary = prompt_tokens - 1
            if layers.eagle and layers.both_replays:
                boundary = max((prompt_tokens - 1) // size * size - size, 0)
        elif number == 1:
            if not (layers.eagle and layers.both_replays):
                continue
            boundary = max(prompt_tokens // size * size - size, 0)
        else:
            if not layers.junctions or junction == 0:
                continue
            boundary = junction
            if number == 3:
                if not (layers.eagle and layers.eagle_junctions):
                    continue
                boundary = junction - size
        last = boundary // size + eagle
        if last - needed <= index < last:
            return True
    return False


@compiled
def _hold_back(layers: Layers, work: Work, request: int, group: int, end: int) -> None:
    """Let the last state of a prompt that can be hit count as computed by this step, too."""
    size, eagle = layers.block_size, 1 if layers.eagle else 0
    if len(layers.kind) > 1 and eagle == 0:
        end = end // size * size
    last = (work.prompt_tokens[request] - 1 + eagle) // size * size - eagle * size
    index = last // size - 1
    if end != last or last <= 0 or index >= work.known[request]:
        return
    if work.tables[work.slot[request], group, index] != NULL:
        key = work.keys[work.starts[request] + index] * len(layers.kind) + group
        work.state_step[key] = work.step[0]


@compiled
def hits_unfinished_state(layers: Layers, work: Work, request: int) -> bool:
    """Whether a state of the hit looked up last is one that this step computes."""
    groups = len(layers.kind)
    for group in range(groups):
        length = work.hit_end[layers.spec_of[group]]
        if layers.kind[group] == MAMBA and length > 0:
            key = work.keys[work.starts[request] + length - 1] * groups + group
            if work.state_step[key] == work.step[0]:
                return True
    return False


@compiled
def key_blocks(pool: Pool, layers: Layers, work: Work, request: int, end: int) -> None:
    """Give keys to the blocks that are full now, but for those that no hit could use."""
    full = end // layers.block_size
    slot, groups = work.slot[request], len(layers.kind)
    for group in range(groups):
        state = layers.kind[group] == MAMBA
        if layers.aligns[group] and layers.states_wait_again:
            _hold_back(layers, work, request, group, end)
        for index in range(work.keyed[slot, group], full):
            block = work.tables[slot, group, index]
            if block == NULL or not _is_kept(
                layers, group, index, work.prompt_tokens[request], work.junction[request]
            ):
                continue
            pool.counts[HELD] += 1
            if index >= work.known[request]:
                pool.key[block] = UNKNOWN
                continue
            key = work.keys[work.starts[request] + index] * groups + group
            if state:
                work.state_step[key] = work.step[0]
            pool.key[block] = key
            pool.copy[block] = NULL
            if pool.first[key] == NULL:
                pool.first[key] = block
            else:
                pool.copy[pool.last[key]] = block
            pool.last[key] = block
        work.keyed[slot, group] = max(work.keyed[slot, group], full)
