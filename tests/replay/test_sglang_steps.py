"""SGLang's scheduler: the compiled twin, and what it does that requests in a row do not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_logs import Line, batch, logs

from kvaudit.core.prompts import PromptBatch, RequestFacts
from kvaudit.replay.caches import make_interner
from kvaudit.replay.kernels.sglang_steps import CompiledSglangRun
from kvaudit.replay.models import sglang_queue, sglang_run
from kvaudit.replay.models.sglang_queue import SglangLimits
from kvaudit.replay.models.sglang_releases import POLICIES, rules
from kvaudit.replay.models.sglang_run import SglangRun, SglangSetup
from kvaudit.replay.outcomes import CacheOutcome

FACTS = RequestFacts("", None, 0, None, None, None, None, None, None)


def in_steps(lines: list[Line], arrivals: list[int]) -> PromptBatch:
    facts = [FACTS._replace(arrive_step=step, priority=step % 3) for step in arrivals]
    return replace(batch(lines), requests=facts)


def served(
    prompts: PromptBatch, *, capacity: int | None, page: int = 1, small: bool = True, **limits: object
) -> CacheOutcome:
    policy = str(limits.pop("policy", "lru"))
    setup = SglangSetup(
        capacity_pages=capacity,
        page_size=page,
        rules=rules("0.5.9"),
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
    st.booleans(),
    st.sampled_from([1, 2, 64]),
    st.sampled_from([1, 2, 64]),
)
@settings(max_examples=60, deadline=None)
def test_the_kernel_is_the_reference(
    lines, gaps, page, capacity, policy, longest, reserves, places, chunk
):
    arrivals = np.cumsum([max(0, gap - 5) for gap in gaps])[: len(lines)].tolist()
    prompts = in_steps(lines, arrivals)
    limits = {
        "by_longest_prefix": longest,
        "reserves_page": reserves,
        "max_running": places,
        "chunk_tokens": chunk * page,
        "policy": policy,
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
