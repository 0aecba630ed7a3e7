"""SGLang's scheduler: the compiled twin, and what it does that requests in a row do not."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_logs import Line, batch, logs

from kvaudit.core.errors import UsageError
from kvaudit.core.prompts import PromptBatch, RequestFacts
from kvaudit.replay.caches import make_interner
from kvaudit.replay.kernels.sglang_run import CompiledSglangRun
from kvaudit.replay.models.sglang_queue import MAX_PREFILL_TOKENS, SglangLimits
from kvaudit.replay.models.sglang_releases import POLICIES, admitting, rules
from kvaudit.replay.models.sglang_run import SglangRun, SglangSetup
from kvaudit.replay.outcomes import CacheOutcome

ANSWERS = [
    json.loads(line)
    for line in (Path(__file__).parent / "sglang_answers.jsonl").read_text("utf-8").splitlines()
]
"""What SGLang's own scheduler, cache and allocators answered on random logs of tiny prompts, driven
on a CPU: a request is its prompt and output as digits, and the step in which it arrives."""

FACTS = RequestFacts("", None, 0, None, None, None, None, None, None)


def in_steps(lines: list[Line], arrivals: list[int]) -> PromptBatch:
    facts = [FACTS._replace(arrive_step=step, priority=step % 3) for step in arrivals]
    return replace(batch(lines), requests=facts)


def served(
    prompts: PromptBatch,
    *,
    capacity: int | None,
    page: int = 1,
    small: bool = True,
    **limits: object,
) -> CacheOutcome:
    policy = str(limits.pop("policy", "lru"))
    setup = SglangSetup(
        capacity_pages=capacity,
        page_size=page,
        rules=rules(str(limits.pop("version", "0.5.9"))),
        policy=policy,
        limits=SglangLimits(**{"max_running": 64, "chunk_tokens": 8192, **limits}),
    )
    run = SglangRun(setup) if small else CompiledSglangRun(setup)
    return run.replay(prompts, make_interner(block_units=page, small=True).intern(prompts))


@given(
    logs(),
    st.lists(st.integers(0, 9), min_size=24, max_size=24),
    st.sampled_from([1, 1, 2, 4]),
    st.integers(8, 30) | st.none(),
    st.sampled_from(POLICIES),
    st.booleans(),
    st.sampled_from(["0.5.9", "0.5.10", "0.5.11", "0.5.13", "0.5.17"]),
    st.sampled_from([1, 2, 64]),
    st.sampled_from([1, 2, 64]),
)
@settings(max_examples=60, deadline=None)
def test_the_kernel_is_the_reference(
    lines, gaps, page, capacity, policy, longest, version, places, chunk
):
    arrivals = np.cumsum([max(0, gap - 5) for gap in gaps])[: len(lines)].tolist()
    prompts = in_steps(lines, arrivals)
    limits = {
        "by_longest_prefix": longest,
        **admitting(version)._asdict(),
        "prefill_tokens": 12 if places == 2 else MAX_PREFILL_TOKENS,
        "max_running": places,
        "chunk_tokens": chunk * page,
        "policy": policy,
        "version": version,
    }
    one = served(prompts, capacity=capacity, page=page, **limits)
    two = served(prompts, capacity=capacity, page=page, small=False, **limits)
    for name in ("cached_tokens", "admitted", "evicted_blocks", "resumed_cached_tokens"):
        assert getattr(one, name).tolist() == getattr(two, name).tolist(), name
    assert one.peak_blocks == two.peak_blocks
    for name in one.activity.__slots__:
        np.testing.assert_array_equal(
            getattr(one.activity, name), getattr(two.activity, name), err_msg=name
        )


@pytest.mark.parametrize("small", [True, False], ids=["reference", "kernel"])
@pytest.mark.parametrize("version", sorted({asked["version"] for asked in ANSWERS}))
def test_the_engine_said_the_same(version, small):
    for asked in ANSWERS:
        if asked["version"] != version:
            continue
        texts = [(tuple(map(int, p)), tuple(map(int, o))) for p, o, _ in asked["requests"]]
        prompts = in_steps([Line(*t) for t in texts], [r[2] for r in asked["requests"]])
        outcome = served(
            prompts,
            capacity=asked["capacity"],
            page=asked["page"],
            small=small,
            version=version,
            policy=asked["policy"],
            by_longest_prefix=asked["scheduling"] == "lpm",
            chunk_tokens=asked["chunk"],
            max_running=asked["running"],
            prefill_tokens=asked.get("prefill", MAX_PREFILL_TOKENS),
            **admitting(version)._asdict(),
        )
        assert outcome.cached_tokens.tolist() == asked["cached"]
        assert outcome.activity.started.tolist() == asked["started"]


@pytest.mark.parametrize("small", [True, False], ids=["reference", "kernel"])
def test_equal_prompts_of_one_step_wait_for_the_first_where_the_longest_prefix_goes_first(small):
    log = in_steps([Line(tuple(range(40)), (7,) * 4)] * 3, [0, 0, 0])
    assert served(log, capacity=None, small=small).cached_tokens.tolist() == [0, 0, 0]
    waits = served(log, capacity=None, small=small, by_longest_prefix=True)
    # The first is computed in step 0 and in the tree once step 1 is over. The other two are last
    # in the queue of step 0, not out of it: a step that holds a prompt only leaves them behind.
    assert waits.cached_tokens.tolist() == [0, 0, 0]
    one = served(log, capacity=None, small=small, by_longest_prefix=True, chunk_tokens=40)
    assert one.cached_tokens.tolist() == [0, 0, 39]
    assert one.activity.started.tolist() == [0, 1, 2]


@pytest.mark.parametrize("small", [True, False], ids=["reference", "kernel"])
def test_who_generated_least_gives_way_and_is_computed_again(small):
    # 4 and 40 tokens each in a pool of 80: the second is let in at step 5, since of what the first
    # is still to generate a share is counted. They need 85 in the end, so the second gives way,
    # and starts again from the part of its own prompt that is still there: nothing.
    log = in_steps([Line((1, 2, 3, 4), (5,) * 40), Line((6, 7, 8, 9), (5,) * 40)], [0, 5])
    outcome = served(log, capacity=80, small=small)
    assert outcome.activity.preemptions == 1
    assert outcome.activity.started.tolist() == [0, 5]
    assert outcome.activity.ended.tolist() == [42, 50]


@pytest.mark.parametrize(
    ("version", "nearest"), [("0.5.8", "0.5.9"), ("0.5.19", "0.5.18"), ("0.5.23", "0.5.18")]
)
def test_a_scheduler_that_was_not_read_is_refused(version, nearest):
    with pytest.raises(UsageError, match=f"use --engine-version {nearest}, or"):
        admitting(version)


@pytest.mark.parametrize("small", [True, False], ids=["reference", "kernel"])
@pytest.mark.parametrize(("version", "started"), [("0.5.12", [0, 1]), ("0.5.13", [0, 0])])
def test_a_chunk_alone_bounds_a_prefill_since_0_5_13(small, version, started):
    log = in_steps([Line((1,) * 6, (5,)), Line((2,) * 6, (5,))], [0, 0])
    outcome = served(
        log,
        capacity=None,
        small=small,
        version=version,
        prefill_tokens=10,
        **admitting(version)._asdict(),
    )
    assert outcome.activity.started.tolist() == started


@pytest.mark.parametrize("small", [True, False], ids=["reference", "kernel"])
@pytest.mark.parametrize(("version", "started"), [("0.5.12", [20, 21]), ("0.5.13", [21, 20])])
def test_a_prompt_that_is_there_to_its_end_sorts_short_of_its_last_token(small, version, started):
    """The tree has 8 tokens of a prompt of 8 and of one of 9, and each step computes one."""
    held, longer = Line((1,) * 8, (5,)), Line((1,) * 8 + (7,), (5,))
    outcome = served(
        in_steps([held, held, longer], [0, 20, 20]),
        capacity=None,
        small=small,
        version=version,
        by_longest_prefix=True,
        chunk_tokens=1,
        **admitting(version)._asdict(),
    )
    assert outcome.activity.started.tolist()[1:] == started
