"""On real traces, time costs no hit where nothing is decoded and there is room for all."""

from contextlib import nullcontext
from dataclasses import replace

import pytest

from kvaudit.core.quantities import Capacity
from kvaudit.logs.read import LogReader
from kvaudit.replay.models.step_limits import StepLimits
from kvaudit.replay.plan import Plan
from kvaudit.replay.prompts import Prompts
from kvaudit.replay.run import replay_log

ALL_AT_ONCE = StepLimits(max_num_batched_tokens=2**40, max_num_seqs=4096)


class Rows:
    """Takes the hits of every request."""

    def __init__(self):
        self.cached = []

    def write(self, columns):
        self.cached += columns["cached_tokens"]


def replayed(requests, **plan):
    rows = Rows()
    asked = Plan(engine="vllm", limits=ALL_AT_ONCE, **plan)
    result = replay_log(Prompts(requests, encoder=None), asked, lambda: nullcontext(rows))
    return result, rows.cached


@pytest.fixture(
    scope="module",
    params=[
        "mooncake_fast25_conversation.jsonl.gz",
        "kv_cache_tester_sample29.jsonl.gz",
    ],
)
def trace(request, shared_data):
    requests = LogReader([shared_data / "traces" / request.param])
    return [replace(r, output_tokens=0, output_ids=None, response=None) for r in requests]


def test_it_hits_what_requests_one_after_the_other_hit(trace):
    unbounded = Capacity.parse("inf")
    timed, in_time = replayed(trace, capacity=unbounded, schedule="timed")
    _, in_turn = replayed(trace, capacity=unbounded, schedule="sequential")
    assert in_time == in_turn
    assert sum(in_time) > 0
    assert timed.lost.not_ready == timed.lost.evicted == 0


def test_with_a_bound_it_shows_what_is_in_flight(trace):
    timed, _ = replayed(trace, capacity=Capacity.parse("20kblocks"))
    assert timed.engine.schedule == "timed"
    assert timed.schedule.peak_in_flight_blocks >= timed.schedule.mean_in_flight_blocks > 0
    assert max(blocks for _, blocks in timed.schedule.in_flight) <= 20_000
