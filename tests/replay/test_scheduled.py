"""vLLM with its scheduler: its twin in compiled code, its limits, and time worked out by hand."""

import gzip
import json
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_logs import Line, batch, logs, retries

from kvaudit.core.prompts import RequestFacts
from kvaudit.cost.steps import StepCost
from kvaudit.replay.caches import make_interner
from kvaudit.replay.kernels.scheduled import CompiledEngineRun
from kvaudit.replay.models.engine_run import ONE_BY_ONE, EngineRun, EngineSetup
from kvaudit.replay.models.kv_groups import FULL_ATTENTION, parse_groups
from kvaudit.replay.models.layout import Layout
from kvaudit.replay.models.paged import VllmPool
from kvaudit.replay.models.step_limits import StepLimits
from kvaudit.replay.models.vllm_releases import FreeOrder, rules_of

MODELS = pytest.mark.parametrize("model", [EngineRun, CompiledEngineRun])
VERSIONS = [
    f"0.{minor}"
    for minor in (["11.0", "13.0", "14.0", "18.0", "20.2", "23.0", "26.0", "32.0", "33.0"])
]
GROUPS = [
    *("full", "full,swa:3", "full,swa:3,swa:5", "swa:2", "full,chunked:4", "swa:4,full,swa:4"),
    *("full,mamba:align", "full,swa:3,mamba:align", "full,mamba:all,swa:3"),
]

gaps_of = st.lists(st.integers(0, 3), min_size=24, max_size=24)


def cost_of(
    token=0.0, *, view=0.0, row=0.0, pair=0.0, weights=0.0, experts=0.0, kv=0.0, constant=0.0
):
    """Seconds of a model with full attention, a window of 3 and chunks of 4."""
    return StepCost(
        token_s=token,
        view_s=view,
        row_s=row,
        decode_token_s=token,
        reach_kinds=np.array([0, 1, 2]),
        reach_tokens=np.array([0, 3, 4]),
        pair_s=np.full(3, pair),
        decode_pair_s=np.full(3, pair * 2),
        weights_s=weights,
        experts_s=experts,
        expert_missed=0.75,
        kv_s=kv,
        constant_s=constant,
    )


step_times = st.builds(
    cost_of,
    st.sampled_from([0.0, 0.3]),
    view=st.sampled_from([0.0, 0.01]),
    row=st.sampled_from([0.0, 0.7]),
    pair=st.sampled_from([0.0, 0.013]),
    weights=st.sampled_from([0.0, 1.1]),
    experts=st.sampled_from([0.0, 0.9]),
    kv=st.sampled_from([0.0, 0.1]),
    constant=st.sampled_from([0.1, 1.0]),
)


def facts_of(number, *, step=None, seconds=None, priority=None):
    return RequestFacts(str(number), seconds, step, None, None, None, None, None, None, priority)


def prompts_of(log, gaps, *, timed=False, priorities=()):
    """Return the batch with each request's arrival as the sum of the gaps up to it."""
    steps = np.cumsum(gaps).tolist()
    return replace(
        batch(log),
        requests=[
            facts_of(
                i,
                step=None if timed else step,
                seconds=float(step) if timed else None,
                priority=priorities[i] if priorities else None,
            )
            for i, step in enumerate(steps)
        ],
    )


def setup_of(
    *,
    capacity=None,
    version="0.33.0",
    groups="full",
    block_size=2,
    eagle=False,
    retention=None,
    time=None,
    in_order=False,
    **limits,
):
    steps = ONE_BY_ONE if in_order else StepLimits(**limits)
    return EngineSetup(
        capacity_blocks=capacity,
        layout=Layout(
            groups=parse_groups(groups),
            block_size=block_size,
            eagle=eagle,
            retention_tokens=retention,
            budget=None if in_order else steps.max_num_batched_tokens,
        ),
        rules=rules_of(version),
        limits=steps,
        time=time,
        in_order=in_order,
    )


def replayed(model, log, gaps=None, *, priorities=(), **settings):
    setup = setup_of(**settings)
    prompts = prompts_of(
        log, gaps or [0] * len(log), timed=setup.time is not None, priorities=priorities
    )
    blocks = make_interner(block_units=setup.layout.block_size, small=True).intern(prompts)
    return model(setup).replay(prompts, blocks)


def told(outcome):
    """Everything an outcome says, to be compared."""
    parts = {}
    for part in (outcome, outcome.activity):
        for field in fields(part):
            value = getattr(part, field.name)
            if field.name != "activity":
                parts[field.name] = (
                    np.nan_to_num(value, nan=-1).tolist()
                    if isinstance(value, np.ndarray)
                    else value
                )
    return parts


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
    gaps = np.diff([r["arrive"] for r in records], prepend=0).tolist()
    outcome = replayed(model, log, gaps, block_size=16, capacity=400)
    assert outcome.cached_tokens.tolist() == [json.loads(a)["cached_tokens"] for a in answers]
    assert outcome.resumed_cached_tokens.sum() > 0  # the recording preempts


@settings(max_examples=250)
@given(
    log=logs() | retries(),
    gaps=gaps_of,
    capacity=st.none() | st.integers(1, 16),
    version=st.sampled_from(VERSIONS),
    groups=st.sampled_from(GROUPS),
    eagle=st.booleans(),
    retention=st.sampled_from([None, 0, 2, 4]),
    time=st.none() | step_times,
    limits=st.fixed_dictionaries(
        {
            "max_num_batched_tokens": st.integers(2, 20),
            "max_num_seqs": st.integers(1, 5),
            "by_priority": st.booleans(),
            "long_prefill_tokens": st.sampled_from([0, 0, 3]),
            "watermark": st.sampled_from([0.0, 0.0, 0.2]),
        }
    ),
    priorities=st.lists(st.integers(0, 2), min_size=24, max_size=24),
)
def test_the_compiled_scheduler_does_the_same(
    log, gaps, capacity, version, groups, eagle, retention, time, limits, priorities
):
    if "chunked" in groups:
        eagle = False  # the engine refuses both at once
    asked = {
        "capacity": capacity,
        "version": version,
        "groups": groups,
        "eagle": eagle,
        "retention": retention,
        "time": time,
        "priorities": priorities[: len(log)],
        **limits,
    }
    gaps = gaps[: len(log)]
    plain = replayed(EngineRun, log, gaps, **asked)
    assert told(replayed(CompiledEngineRun, log, gaps, **asked)) == told(plain)


@settings(max_examples=60)
@given(
    log=logs() | retries(),
    capacity=st.none() | st.integers(1, 16),
    version=st.sampled_from(VERSIONS),
    groups=st.sampled_from(GROUPS),
)
def test_the_compiled_engine_does_the_same_one_request_at_a_time(log, capacity, version, groups):
    asked = {"capacity": capacity, "version": version, "groups": groups, "in_order": True}
    assert told(replayed(CompiledEngineRun, log, **asked)) == told(
        replayed(EngineRun, log, **asked)
    )


@settings(max_examples=100)
@given(
    logs() | retries(),
    st.integers(1, 12),
    st.sampled_from(["0.20.2", "0.33.0"]),
    st.booleans(),
    st.booleans(),
)
def test_requests_that_never_meet_are_served_as_one_after_the_other(
    log, capacity, version, eagle, in_order
):
    gaps = [1000] * len(log)
    alone = replayed(
        EngineRun, log, gaps, capacity=capacity, version=version, eagle=eagle, in_order=in_order
    )
    prompts = batch(log)
    blocks = make_interner(block_units=2, small=True).intern(prompts)
    sequential = VllmPool(
        capacity_blocks=capacity,
        block_size=2,
        free_order=rules_of(version).free_order,
        eagle=eagle,
    ).replay(prompts, blocks)
    for name in ("cached_tokens", "admitted", "evicted_blocks", "held_blocks"):
        assert getattr(alone, name).tolist() == getattr(sequential, name).tolist()
    assert alone.peak_blocks == sequential.peak_blocks
    assert not alone.resumed_cached_tokens.any()


@MODELS
def test_a_block_is_visible_to_the_same_step_but_the_last_token_is_not(model):
    log = [Line((1, 2, 3, 4, 5), ()), Line((1, 2, 3, 4, 5), ()), Line((1, 2, 3, 4), ())]
    assert replayed(model, log, capacity=20).cached_tokens.tolist() == [0, 4, 2]


@MODELS
def test_a_chunk_shows_only_what_was_scheduled(model):
    log = [Line((1, 2, 3, 4, 5, 6, 7), ()), Line((1, 2, 3, 4, 5, 6, 7), ())]
    outcome = replayed(model, log, capacity=20, max_num_batched_tokens=5)
    # Step 1 computes five tokens of the first request. Step 2 its last two, which completes
    # the third block, and three of the second request's, which by then hits six.
    assert outcome.cached_tokens.tolist() == [0, 6]


@MODELS
def test_the_one_that_came_last_gives_way_and_finds_itself_again(model):
    log = [Line((1, 1, 1, 1), (2, 2, 2, 2, 2)), Line((3, 3, 3, 3), (4, 4, 4, 4, 4))]
    outcome = replayed(model, log, capacity=5)
    assert outcome.cached_tokens.tolist() == [0, 0]
    # The second one comes back when the first has ended, and of its prompt's two blocks and
    # the first of its answer's, the tail was taken meanwhile.
    assert outcome.resumed_cached_tokens.tolist() == [0, 2]
    assert outcome.evicted_blocks.tolist() == [1, 3]
    assert outcome.activity.preemptions == 1
    assert outcome.activity.peak_used_blocks == 5


@MODELS
def test_by_priority_the_least_urgent_gives_way_though_it_came_first(model):
    log = [Line((1, 1, 1, 1), (2, 2, 2, 2, 2)), Line((3, 3, 3, 3), (4, 4, 4, 4, 4))]
    outcome = replayed(model, log, capacity=5, by_priority=True, priorities=(1, 0))
    assert outcome.resumed_cached_tokens[0] > 0
    assert outcome.resumed_cached_tokens[1] == 0


@MODELS
def test_older_releases_begin_a_prompt_whose_end_does_not_fit_yet(model):
    log = [Line((1, 1, 1, 1, 1, 1), (2, 2)), Line((3,) * 6, ())]
    limits = {"capacity": 5, "max_num_batched_tokens": 8}
    newer = replayed(model, log, version="0.19.0", **limits)
    older = replayed(model, log, version="0.18.0", **limits)
    assert older.activity.started.tolist() == [0, 0]
    assert newer.activity.started.tolist() == [0, 2]


@MODELS
def test_a_watermark_keeps_room_for_those_that_run(model):
    log = [Line((1, 1), (1, 1, 1)), Line((2, 2), ())]
    limits = {"capacity": 4, "watermark": 0.6}
    assert replayed(model, log, **limits).activity.started.tolist() == [0, 3]
    assert replayed(model, log, version="0.23.0", **limits).activity.started.tolist() == [0, 0]


@MODELS
def test_a_long_prefill_leaves_room_in_a_step_for_others(model):
    log = [Line((1,) * 6, ()), Line((2, 2), ())]
    outcome = replayed(model, log, capacity=9, max_num_batched_tokens=6, long_prefill_tokens=4)
    assert outcome.activity.first_token.tolist() == [2, 1]


@MODELS
def test_a_prompt_that_never_fits_keeps_nobody_waiting(model):
    log = [Line((1,) * 9, ()), Line((2, 2, 2), ()), Line((2, 2, 2), ())]
    outcome = replayed(model, log, [0, 0, 1], capacity=3)
    assert outcome.admitted.tolist() == [False, True, True]
    assert outcome.cached_tokens.tolist() == [0, 0, 2]


@MODELS
@pytest.mark.parametrize(
    ("version", "queries", "hits", "resumed_queries"),
    [("0.33.0", 8, 0, 5), ("0.26.0", 8, 0, 20), ("0.11.0", 28, 10, 0)],
)
def test_what_the_engines_own_counters_show(model, version, queries, hits, resumed_queries):
    # The second one gives way with 5 tokens, and waits through three more steps until the first
    # has ended; up to 0.26 each look counts.
    log = [Line((1, 1, 1, 1), (2, 2, 2, 2, 2)), Line((3, 3, 3, 3), (4, 4, 4, 4, 4))]
    activity = replayed(model, log, capacity=5, version=version).activity
    assert activity.counted_queries == queries
    assert activity.counted_hits == hits
    assert activity.counted_preempted_queries == resumed_queries


@MODELS
def test_a_timed_run_worked_out_by_hand(model):
    """A token takes 1 s to compute, the weights take 3 s to read, and the KV takes none.

    Request 0 arrives at 0 with 4 tokens and answers with 2; request 1 at 1 s with the same
    prompt and 2 more, and answers with 1; request 2 at 30 s with the 6 tokens of request 1.

    0 to 4 s: 4 tokens. First token of request 0.
    4 to 7 s: the second token of 0 (1 token), and request 1, which came at 1 s. It hits the two
    blocks of 0 and computes 2. Three tokens: 3 s. Both end.
    30 to 33 s: request 2 hits the first two of its three blocks (the last token is computed
    again) and computes 2: 2 s of work, but 3 s to read the weights.
    """
    prompt = (1, 2, 3, 4)
    log = [Line(prompt, (5, 6)), Line((*prompt, 7, 8), ()), Line((*prompt, 7, 8), ())]
    outcome = replayed(model, log, [0, 1, 29], capacity=20, time=cost_of(1.0, weights=3.0))
    assert outcome.cached_tokens.tolist() == [0, 4, 4]
    activity = outcome.activity
    assert activity.started.tolist() == [0, 4, 30]
    assert activity.first_token.tolist() == [4, 7, 33]
    assert activity.ended.tolist() == [7, 7, 33]
    assert activity.met_blocks.tolist() == [0, 2, 0]
    # 2 blocks for 4 s; 3 of request 0 and one of request 1 for 3 s; 3 for 3 s.
    assert activity.peak_used_blocks == 4
    assert activity.mean_used_blocks == pytest.approx((2 * 4 + 4 * 3 + 3 * 3) / 10)


@MODELS
def test_blocks_behind_a_window_are_free_while_their_request_lives(model):
    # The window of 3 needs two blocks of 2, so of the long request's ten blocks at most five and
    # two are held; a pool of 10 holds it only because its window's blocks are given up.
    log = [Line((1,) * 6, (1,) * 8)]
    outcome = replayed(model, log, capacity=10, groups="full,swa:3")
    assert outcome.admitted.tolist() == [True]
    assert outcome.activity.peak_used_blocks <= 10
    assert outcome.activity.preemptions == 0


@MODELS
def test_sparse_retention_keeps_the_end_of_a_prompt_and_not_its_middle(model):
    prompt = tuple(range(12))
    log = [Line(prompt, ()), Line((*prompt[:6], 50, 51, 52), ()), Line((*prompt, 60), ())]
    dense = replayed(model, log, capacity=60, groups="full,swa:3", in_order=True)
    sparse = replayed(model, log, capacity=60, groups="full,swa:3", retention=0, in_order=True)
    assert dense.cached_tokens.tolist() == [0, 6, 12]
    assert sparse.cached_tokens.tolist() == [0, 0, 10]


def test_groups_of_full_attention_alone_are_the_default():
    assert parse_groups("full") == FULL_ATTENTION
    assert rules_of("0.33.0").free_order is FreeOrder.UNKEYED_TO_HEAD


@MODELS
def test_states_are_hit_at_their_last_block_alone_and_a_step_later(model):
    # The state of six tokens is all that a continuation needs; the block of the last token of a
    # repetition is computed again, and no state was kept in the middle of a block.
    log = [Line((1, 2, 3, 4, 5, 6), ()), Line((1, 2, 3, 4, 5, 6, 7), ()), Line((1, 2, 3, 9), ())]
    asked = {"capacity": 40, "groups": "full,mamba:all", "version": "0.28.0"}
    alone = replayed(model, log, in_order=True, **asked)
    assert alone.cached_tokens.tolist() == [0, 6, 2]
    together = replayed(model, log, **asked)
    assert together.activity.started.tolist() == [0, 1, 1]
    before = replayed(model, log, **asked | {"version": "0.16.0"})
    assert before.activity.started.tolist() == [0, 0, 0]


@MODELS
def test_a_prefill_stops_at_its_last_block_boundary_so_that_the_state_there_stays(model):
    # Seven tokens are computed as six and one: the state of six is what a continuation hits. That
    # of two is kept from 0.24 on by the third request, which stops where the others' text ends.
    log = [
        Line((1, 2, 3, 4, 5, 6, 7), ()),
        Line((1, 2, 3, 4, 5, 6, 7, 8), ()),
        Line((1, 2, 9, 9, 9, 9, 9), ()),
        Line((1, 2, 5), ()),
    ]
    asked = {"capacity": 40, "groups": "full,mamba:align"}
    newer = replayed(model, log, [0, 9, 9, 9], **asked)
    assert newer.cached_tokens.tolist() == [0, 6, 0, 2]
    assert newer.activity.first_token.tolist() == [2, 10, 21, 28]
    older = replayed(model, log, [0, 9, 9, 9], **asked | {"version": "0.23.0"})
    assert older.cached_tokens.tolist() == [0, 6, 0, 0]
    assert older.activity.first_token.tolist() == [2, 10, 20, 29]
