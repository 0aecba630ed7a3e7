"""Caches as replicas: looking at a request tells what serving it would hit, and changes nothing."""

import copy
import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_logs import batch, logs

from kvaudit.core.prompts import RequestFacts
from kvaudit.replay.batches import take
from kvaudit.replay.caches import make_interner
from kvaudit.replay.kernels.ideal import CompiledIdealCache
from kvaudit.replay.kernels.paged import CompiledVllmPool
from kvaudit.replay.key_runs import runs_of_keys
from kvaudit.replay.models.chunks import ChunkStore
from kvaudit.replay.models.ideal import IdealCache, IdealPolicy
from kvaudit.replay.models.paged import VllmPool
from kvaudit.replay.models.sglang import SglangCache
from kvaudit.replay.models.sglang_releases import NEWEST, rules
from kvaudit.replay.models.trtllm import TrtllmPool
from kvaudit.replay.models.vllm_releases import FreeOrder

UNITS = 2
ORDER = FreeOrder.UNKEYED_TO_HEAD

MAKERS = {
    "vllm": lambda n: VllmPool(capacity_blocks=n, block_size=UNITS, free_order=ORDER),
    "vllm compiled": lambda n: CompiledVllmPool(
        capacity_blocks=n, block_size=UNITS, free_order=ORDER
    ),
    "vllm eagle": lambda n: VllmPool(
        capacity_blocks=n, block_size=UNITS, free_order=ORDER, eagle=True
    ),
    "vllm compiled, unbounded": lambda n: CompiledVllmPool(
        capacity_blocks=None, block_size=UNITS, free_order=ORDER
    ),
    "sglang": lambda n: SglangCache(
        capacity_tokens=n * UNITS, page_size=UNITS, rules=rules(NEWEST)
    ),
    "trtllm": lambda n: TrtllmPool(capacity_blocks=n, block_size=UNITS),
    "lmcache": lambda n: ChunkStore(capacity_chunks=n, chunk_size=UNITS, policy="lru"),
    "ideal": lambda n: IdealCache(capacity_blocks=n, policy=IdealPolicy.LRU),
    "ideal compiled": lambda n: CompiledIdealCache(capacity_blocks=n, policy=IdealPolicy.FIFO),
}


def one(keys, index):
    """The block keys of one request of a batch."""
    start, end = keys.key_offsets[index : index + 2]
    tails = {
        name: getattr(keys, name)[index : index + 1]
        for name in ("shared_units", "new_units", "prompt_tails", "end_tails")
        if getattr(keys, name) is not None
    }
    offsets = np.array([0, end - start])
    return dataclasses.replace(
        keys,
        runs=runs_of_keys(keys.keys[start:end], offsets),
        key_offsets=offsets,
        known_before=keys.known_before[index : index + 2],
        **tails,
    )


@pytest.mark.parametrize("kind", MAKERS)
@settings(max_examples=40)
@given(log=logs(), data=st.data(), capacity=st.integers(2, 9))
def test_a_look_finds_what_serving_would_and_leaves_no_trace(kind, log, data, capacity):
    prompts = batch([line for line in log if line.prompt])
    count = len(prompts.prompt_tokens)
    served = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), np.bool_)
    facts = [RequestFacts(str(number), *[None] * 8) for number in range(count)]
    prompts = dataclasses.replace(prompts, requests=facts)
    keys = make_interner(block_units=UNITS, tails="ideal" in kind, small=True).intern(prompts)
    found = MAKERS[kind](capacity).replay_some(prompts, keys, served)
    step_by_step = MAKERS[kind](capacity)
    for index in range(count):
        alone = take(prompts, np.array([index]))
        cache = step_by_step if served[index] else copy.deepcopy(step_by_step)
        expected = cache.replay(alone, one(keys, index))
        assert found.cached_tokens[index] == expected.cached_tokens[0]
        assert found.hit_blocks[index] == expected.hit_blocks[0]
        if served[index]:
            assert found.admitted[index] == expected.admitted[0]
            assert found.evicted_blocks[index] == expected.evicted_blocks[0]
            assert found.held_blocks[index] == expected.held_blocks[0]
