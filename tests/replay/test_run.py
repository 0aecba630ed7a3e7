"""A whole replay: columns that add up, order, warm-up, bounds, namespaces."""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvaudit.core import batching
from kvaudit.core.errors import UsageError
from kvaudit.core.quantities import Capacity
from kvaudit.core.requests import Request
from kvaudit.replay import arrival, beginning
from kvaudit.replay.plan import Plan
from kvaudit.replay.prompts import Prompts
from kvaudit.replay.run import replay_log

token_logs = st.lists(
    st.tuples(
        st.lists(st.integers(0, 2), min_size=1, max_size=12),
        st.lists(st.integers(0, 2), max_size=4),
        st.sampled_from(["a", "b"]),
    ),
    min_size=1,
    max_size=25,
)


class Rows:
    """Collects per-request rows; remembers how often it was opened."""

    def __init__(self):
        self.rows, self.opened = [], 0

    @contextmanager
    def open(self):
        self.opened += 1
        self.rows = []
        yield self

    def write(self, columns):
        names = list(columns)
        self.rows += [
            dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]


def replayed(requests, rows=None, *, namespace=(), **plan):
    plan.setdefault("capacity", Capacity.parse("inf"))
    rows = rows or Rows()
    log = Prompts(requests, encoder=CharacterEncoder, namespace=namespace)
    return replay_log(log, Plan(**plan), rows.open)


class CharacterEncoder:
    def start_over(self):
        pass

    def encode_turns(self, requests):
        prompts = [[ord(c) for c in r.prompt] for r in requests]
        rows = [
            p + [ord(c) for c in r.response or ""] for p, r in zip(prompts, requests, strict=True)
        ]
        offsets = np.cumsum([0, *map(len, rows)])
        return (
            np.array([i for row in rows for i in row], np.int32),
            offsets,
            np.array([len(p) for p in prompts]),
        )


def from_tokens(log):
    return [
        Request(id=str(i), token_ids=prompt, output_ids=output, salt=salt, session=salt)
        for i, (prompt, output, salt) in enumerate(log)
    ]


@settings(max_examples=60)
@given(token_logs, st.integers(1, 3), st.sampled_from(["inf", "4blocks", "9blocks"]))
def test_every_prompt_token_is_a_hit_or_lost_for_one_reason(log, block_size, capacity):
    rows = Rows()
    result = replayed(
        from_tokens(log), rows, block_size=block_size, capacity=Capacity.parse(capacity)
    )
    lost = result.lost
    assert lost.first_seen + lost.evicted + lost.last_block == result.prefix.computed_tokens
    assert min(lost.first_seen, lost.last_block) >= 0
    assert result.ideal.hit_tokens >= result.prefix.hit_tokens
    assert sum(row["cached_tokens"] for row in rows.rows) == result.prefix.hit_tokens
    assert sum(n.hit_tokens for n in result.namespaces) == result.prefix.hit_tokens
    assert sum(s.hit_tokens for s in result.sessions.most_computed) == result.prefix.hit_tokens
    if capacity == "inf":
        assert lost.evicted == 0


@settings(max_examples=40)
@given(token_logs, st.sampled_from(["inf", "5blocks"]))
def test_the_compiled_path_gives_the_same_report(log, capacity):
    plan = {"block_size": 2, "capacity": Capacity.parse(capacity)}
    plain = replayed(from_tokens(log), **plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beginning, "SMALL_REQUESTS", 0)
        compiled = replayed(from_tokens(log), **plan)
    for part in ("prefix", "ideal", "lost", "namespaces", "sessions"):
        assert getattr(plain, part) == getattr(compiled, part)


def test_a_log_written_newest_first_gives_the_report_of_the_sorted_one():
    log = [Request(id=str(i), token_ids=[1] * 5 + [2] * i, arrived_s=float(i)) for i in range(40)]
    rows, backwards = Rows(), Rows()
    expected = replayed(log, rows, block_size=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrival, "WINDOW_REQUESTS", 4)
        patch.setattr("kvaudit.core.batching.BATCH_REQUESTS", 3)
        result = replayed(log[::-1], backwards, block_size=2)
    assert result.prefix == expected.prefix
    assert backwards.rows == rows.rows
    assert backwards.opened == 2


def test_the_warm_up_fills_the_cache_and_is_not_counted():
    log = [Request(id=str(i), token_ids=[1, 2, 3, 4, 5]) for i in range(4)]
    by_share = replayed(log, block_size=2, warmup=0.5)
    assert (by_share.prefix.requests, by_share.prefix.hit_tokens) == (2, 8)
    assert replayed(log, block_size=2, warmup=2).prefix == by_share.prefix
    assert "warm-up" in by_share.prefix.definition


def test_logged_responses_give_two_bounds():
    log = [
        Request(id="1", prompt="abcd", response="efgh"),
        Request(id="2", prompt="abcdefghij"),
    ]
    result = replayed(log, block_size=2)
    assert result.prefix.hit_tokens == 4  # prompts only
    assert result.prefix.bounds.low == 4 / 14
    # Seven of the eight tokens were computed before the first request ended.
    assert result.prefix.bounds.high == 6 / 14
    assert result.ideal.bounds.high == 8 / 14


def test_responses_that_begin_late_in_a_log_give_bounds_too(monkeypatch):
    log = [Request(id=str(i), prompt="abcd", arrived_s=float(i)) for i in range(20)]
    log.append(Request(id="20", prompt="abcdx", response="efgh", arrived_s=20.0))
    log.append(Request(id="21", prompt="abcdxefgh", arrived_s=21.0))
    expected = replayed(log, block_size=2)
    monkeypatch.setattr(arrival, "WINDOW_REQUESTS", 2)
    monkeypatch.setattr(batching, "BATCH_REQUESTS", 1)
    monkeypatch.setattr(beginning, "SMALL_REQUESTS", 1)
    rows = Rows()
    result = replayed(log, rows, block_size=2)
    assert rows.opened == 2
    assert result.prefix.bounds is not None
    assert (result.prefix, result.ideal) == (expected.prefix, expected.ideal)


def test_block_hashes_are_replayed_by_the_ideal_cache_at_their_own_size():
    log = [
        Request(id="1", block_ids=[10, 11, 12], block_tokens=512, prompt_tokens=1100),
        Request(id="2", block_ids=[10, 11, 13], block_tokens=512, prompt_tokens=1200),
        Request(id="3", block_ids=[10, 11, 12], block_tokens=512, prompt_tokens=1100),
    ]
    result = replayed(log)
    assert (result.engine.name, result.engine.block_size) == ("ideal", 512)
    assert result.prefix.hit_tokens == 1024 + 1100
    assert result.prefix.block_hit_rate == 5 / 9
    assert result.ideal == result.prefix
    with pytest.raises(UsageError, match="512"):
        replayed(log, block_size=16)
    # vLLM over the same hashes: full blocks only, and never the last token.
    assert replayed(log, engine="vllm").prefix.hit_tokens == 1024 + 1024


def test_a_bounded_ideal_cache_evicts_by_the_policy_asked_for():
    log = [Request(id=str(i), token_ids=ids) for i, ids in enumerate([[1, 2], [3], [1, 2], [3]])]
    capacity = Capacity.parse("2blocks")
    hits = {
        policy: replayed(log, engine="ideal", capacity=capacity, policy=policy).prefix.hit_tokens
        for policy in ("lru", "fifo", "optimal")
    }
    # lru drops 2 for 3, then 3 for 2; fifo drops 1, then 2; foresight never admits 3.
    assert hits == {"lru": 1, "fifo": 0, "optimal": 2}


def test_nothing_to_replay_is_none():
    assert replayed([Request(id="1", prompt_tokens=5)]) is None


def test_what_the_log_reports_stands_beside():
    log = [
        Request(id="1", token_ids=[1, 2, 3], cached_tokens=0),
        Request(id="2", token_ids=[1, 2, 3], cached_tokens=2, prompt_tokens=4),
        Request(id="3", token_ids=[1, 2, 3]),
    ]
    result = replayed(log)
    assert (result.reported.hit_tokens, result.reported.prompt_tokens) == (2, 7)
    assert "2 of 3" in result.reported.definition
    assert result.reported.block_hit_rate is None
