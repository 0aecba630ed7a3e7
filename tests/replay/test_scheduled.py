"""The step scheduler: the engine's recording, its twin in compiled code, and its limits."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_logs import Line, batch, logs, retries

from kvaudit.core.prompts import RequestFacts
from kvaudit.replay.caches import make_interner
from kvaudit.replay.kernels.scheduled import CompiledScheduledVllm
from kvaudit.replay.models.paged import VllmPool
from kvaudit.replay.models.scheduled import ScheduledVllm
from kvaudit.replay.models.vllm_releases import FreeOrder

MODELS = pytest.mark.parametrize("model", [ScheduledVllm, CompiledScheduledVllm])

gaps_of = st.lists(st.integers(0, 3), min_size=24, max_size=24)


def prompts_of(log, gaps):
    """Return the batch with each request's arrival as the sum of the gaps up to it."""
    prompts = batch(log)
    steps = np.cumsum(gaps).tolist()
    facts = [
        RequestFacts(str(i), None, step, None, None, None, None, None, None)
        for i, step in enumerate(steps)
    ]
    return replace(prompts, requests=facts)


def replayed(model, log, gaps, *, block_size=2, **limits):
    prompts = prompts_of(log, gaps)
    blocks = make_interner(block_units=block_size, small=True).intern(prompts)
    return model(block_size=block_size, **limits).replay(prompts, blocks)


def columns(outcome):
    return {
        name: getattr(outcome, name).tolist()
        for name in (
            "cached_tokens",
            "resumed_cached_tokens",
            "admitted",
            "evicted_blocks",
            "held_blocks",
        )
    } | {"peak_blocks": outcome.peak_blocks}


@MODELS
def test_the_engines_own_scheduler(shared_data, model):
    golden = shared_data / "golden"
    with gzip.open(golden / "log-c.jsonl.gz", "rt") as file:
        records = [json.loads(line) for line in file]
    names = {}
    log = [
        Line(
            tuple(r["token_ids"]),
            tuple(r["output_ids"]),
            namespace=names.setdefault((r.get("salt"), r.get("lora")), len(names)),
        )
        for r in records
    ]
    answers = (golden / "vllm-0.33.0-c-capacity400-modescheduler.jsonl").read_text().splitlines()
    arrivals = [r["arrive"] for r in records]
    outcome = replayed(
        model,
        log,
        np.diff(arrivals, prepend=0),
        block_size=16,
        capacity_blocks=400,
        free_order=FreeOrder.UNKEYED_TO_HEAD,
    )
    assert outcome.cached_tokens.tolist() == [json.loads(a)["cached_tokens"] for a in answers]
    assert outcome.resumed_cached_tokens.sum() > 0  # the recording preempts


@settings(max_examples=300)
@given(
    logs() | retries(),
    gaps_of,
    st.none() | st.integers(1, 12),
    st.sampled_from(FreeOrder),
    st.booleans(),
    st.integers(1, 20),
    st.integers(1, 5),
)
def test_the_compiled_scheduler_does_the_same(log, gaps, capacity, order, eagle, budget, seqs):
    limits = {
        "capacity_blocks": capacity,
        "free_order": order,
        "eagle": eagle,
        "max_num_batched_tokens": budget,
        "max_num_seqs": seqs,
    }
    gaps = gaps[: len(log)]
    plain = replayed(ScheduledVllm, log, gaps, **limits)
    assert columns(replayed(CompiledScheduledVllm, log, gaps, **limits)) == columns(plain)


@settings(max_examples=100)
@given(logs() | retries(), st.integers(1, 12), st.sampled_from(FreeOrder), st.booleans())
def test_requests_that_never_meet_are_served_as_one_after_the_other(log, capacity, order, eagle):
    gaps = [1000] * len(log)
    limits = {"capacity_blocks": capacity, "free_order": order, "eagle": eagle}
    alone = replayed(ScheduledVllm, log, gaps, **limits)
    sequential = replayed(VllmPool, log, gaps, **limits)
    for name in ("cached_tokens", "admitted", "evicted_blocks", "held_blocks"):
        assert getattr(alone, name).tolist() == getattr(sequential, name).tolist()
    assert alone.peak_blocks == sequential.peak_blocks
    assert not alone.resumed_cached_tokens.any()


@MODELS
def test_a_block_is_visible_to_the_same_step_but_the_last_token_is_not(model):
    log = [Line((1, 2, 3, 4, 5), ()), Line((1, 2, 3, 4, 5), ()), Line((1, 2, 3, 4), ())]
    order = FreeOrder.UNKEYED_TO_HEAD
    outcome = replayed(model, log, [0, 0, 0], capacity_blocks=20, free_order=order)
    assert outcome.cached_tokens.tolist() == [0, 4, 2]


@MODELS
def test_a_chunk_shows_only_what_was_scheduled(model):
    log = [Line((1, 2, 3, 4, 5, 6, 7), ()), Line((1, 2, 3, 4, 5, 6, 7), ())]
    outcome = replayed(
        model,
        log,
        [0, 0],
        capacity_blocks=20,
        free_order=FreeOrder.UNKEYED_TO_HEAD,
        max_num_batched_tokens=5,
    )
    # Step 1 computes five tokens of the first request. Step 2 its last two, which completes
    # the third block, and three of the second request's, which by then hits six.
    assert outcome.cached_tokens.tolist() == [0, 6]


@MODELS
def test_the_one_that_came_last_gives_way_and_finds_itself_again(model):
    log = [Line((1, 1, 1, 1), (2, 2, 2, 2, 2)), Line((3, 3, 3, 3), (4, 4, 4, 4, 4))]
    outcome = replayed(model, log, [0, 0], capacity_blocks=5, free_order=FreeOrder.UNKEYED_TO_HEAD)
    assert outcome.cached_tokens.tolist() == [0, 0]
    # The second one comes back when the first has ended, and of its prompt's two blocks and
    # the first of its answer's, the tail was taken meanwhile.
    assert outcome.resumed_cached_tokens.tolist() == [0, 2]
    assert outcome.evicted_blocks.tolist() == [1, 3]


@MODELS
def test_a_prompt_that_never_fits_keeps_nobody_waiting(model):
    log = [Line((1,) * 9, ()), Line((2, 2, 2), ()), Line((2, 2, 2), ())]
    outcome = replayed(
        model, log, [0, 0, 1], capacity_blocks=3, free_order=FreeOrder.UNKEYED_TO_HEAD
    )
    assert outcome.admitted.tolist() == [False, True, True]
    assert outcome.cached_tokens.tolist() == [0, 0, 2]
