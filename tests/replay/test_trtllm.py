"""TensorRT-LLM's pool: what its rules say, and what holds whatever the log."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_logs import Line, batch, halves, logs, retries

from kvaudit.cli import run
from kvaudit.core.errors import Exit, UsageError
from kvaudit.core.prompts import RequestFacts
from kvaudit.replay.caches import make_interner
from kvaudit.replay.kernels.trtllm import CompiledTrtllmPool
from kvaudit.replay.models.trtllm import TrtllmPool
from kvaudit.replay.models.trtllm_retention import (
    PartialReuse,
    Retained,
    Retention,
    TokenRange,
    TrtllmOptions,
    parse_retention,
)

SIZE = 4


def replayed(log, *, capacity=None, size=SIZE):
    pool = TrtllmPool(capacity_blocks=capacity, block_size=size)
    interner = make_interner(block_units=size, small=True)
    outcomes = []
    for lines in log:
        prompts = batch(lines)
        outcomes.append(pool.replay(prompts, interner.intern(prompts)))
    return outcomes, pool


def hits(log, **sizes):
    return [n for o in replayed([log], **sizes)[0] for n in o.cached_tokens.tolist()]


def tree(pool):
    waiting = list(pool._roots.values())
    while waiting:
        block = waiting.pop()
        for text, child in block.children.items():
            assert (child.text, child.parent) == (text, block)
            yield child
            waiting.append(child)


def shared(one, other):
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)


some_logs = (logs() | retries()).map(lambda log: [line for line in log if line.prompt])


@settings(max_examples=300)
@given(some_logs, st.integers(1, 4), st.none() | st.integers(1, 12))
def test_blocks_are_neither_lost_nor_shared_and_no_hit_is_invented(log, size, capacity):
    outcomes, pool = replayed(halves(log), capacity=capacity, size=size)
    inside = list(tree(pool))
    assert len(inside) == len(set(inside)) == pool.held_blocks[0]
    assert len(pool.free.all_free()) == pool.free.made[0]
    assert capacity is None or pool.free.made[0] <= capacity
    assert set(inside) <= set(pool.free.all_free())
    found = [n for outcome in outcomes for n in outcome.cached_tokens.tolist()]
    for i, (line, hit) in enumerate(zip(log, found, strict=True)):
        earlier = [e.prompt + e.output for e in log[:i] if e.namespace == line.namespace]
        assert hit <= len(line.prompt) - 1
        assert hit == 0 or any(text[:hit] == line.prompt[:hit] for text in earlier)


def facts(priority=None, arrived_s=None, finished_s=None):
    names = [f for f in RequestFacts._fields if f not in RequestFacts._field_defaults]
    times = {"arrived_s": arrived_s, "finished_s": finished_s}
    return RequestFacts(**dict.fromkeys(names) | times, priority=priority)


_retained = st.builds(
    Retained,
    st.sampled_from([0, 29, 30, 35, 80]),
    st.sampled_from([-1, -1, 0, 1_500_000, 4_000_000]),
)
_parts = st.tuples(st.integers(0, 3), st.integers(1, 6), _retained, _retained).map(
    lambda p: (TokenRange(p[0], p[0] + p[1], p[2]), TokenRange(p[0] + p[1], None, p[3]))
)
options = st.builds(
    TrtllmOptions,
    retention=st.builds(Retention, st.just(()) | _parts, _retained),
    offload_min_priority=st.sampled_from([0, 30, 60]),
    partial_reuse=st.sampled_from(PartialReuse),
)
_lives = st.tuples(st.none() | st.integers(0, 2), st.none() | st.integers(0, 3))
lives = st.lists(_lives, min_size=24, max_size=24)
"""Seconds after the request before it, and until its end."""


def timed(spans):
    """Return arrival and end of each request."""
    now = 0
    for after, during in spans:
        now += after or 0
        yield None if after is None else now, None if during is None else now + during


@settings(max_examples=250)
@given(
    some_logs,
    st.integers(2, 4),
    st.none() | st.integers(1, 12),
    st.sampled_from([0, 1, 3, 9, None]),
    st.lists(st.sampled_from([None, None, 0, 29, 30, 35, 100]), min_size=24, max_size=24),
    st.lists(st.booleans(), min_size=24, max_size=24),
    options,
    lives,
)
def test_the_kernel_equals_the_reference(
    log, size, capacity, host, priorities, served, options, lives
):
    sizes = {"capacity_blocks": capacity, "block_size": size, "host_blocks": host}
    sizes |= {"options": options}
    asked = [facts(p, *t) for p, t in zip(priorities, timed(lives), strict=True)]
    plain, fast = TrtllmPool(**sizes), CompiledTrtllmPool(**sizes)
    interner = make_interner(block_units=size, small=True)
    done = 0
    for lines in halves(log):
        prompts = batch(lines)
        own = slice(done, done + len(lines))
        prompts = dataclasses.replace(prompts, requests=asked[own])
        marks = np.array(served[own], np.bool_) | (np.arange(len(lines)) % 2 == 0)
        done += len(lines)
        blocks = interner.intern(prompts)
        one = plain.replay_some(prompts, blocks, marks)
        other = fast.replay_some(prompts, blocks, marks)
        for field in dataclasses.fields(one):
            values = getattr(one, field.name), getattr(other, field.name)
            assert np.array_equal(*values), field.name
        assert plain.moved_tokens.tolist() == fast.moved_tokens.tolist()
        assert plain.lower_tiers == fast.lower_tiers


@settings(max_examples=150)
@given(some_logs, st.integers(1, 4))
def test_a_prompt_that_comes_again_at_once_is_found_to_its_last_token(log, size):
    twice = [twin for line in log for twin in (line, dataclasses.replace(line))]
    found = [n for o in replayed([twice], size=size)[0] for n in o.cached_tokens.tolist()]
    assert found[1::2] == [len(line.prompt) - 1 for line in log]


@pytest.mark.parametrize("tokens", [1, 2, SIZE, SIZE + 1, 3 * SIZE - 1])
def test_a_hit_ends_inside_a_block(tokens):
    long = tuple(range(3 * SIZE))
    assert hits([Line(long), Line((*long[:tokens], 99))])[-1] == tokens


def test_generated_tokens_are_found_all_but_the_last():
    log = [Line((1, 2, 3), (4, 5, 6)), Line((1, 2, 3, 4, 5, 6, 7, 8))]
    assert hits(log) == [0, 5]


def test_a_free_leaf_is_taken_and_what_it_held_beyond_is_lost():
    first, other = Line((1, 2, 3, 4)), Line((1, 2, 7, 7))
    # The only block of the first prompt is a leaf. The second prompt takes it for its first two
    # tokens and writes over the rest.
    assert hits([first, other, first]) == [0, 2, 2]


def test_a_block_that_others_continue_is_copied():
    first, other = Line((1, 2, 3, 4, 5, 6, 9)), Line((1, 2, 7, 7, 9))
    assert hits([first, other, first]) == [0, 2, 6]


def test_the_block_freed_first_goes_first_and_tails_before_heads():
    a, b = Line((*range(8), 0)), Line((20, 21, 22, 23, 0))
    c = Line((30, 31, 32, 33, 0))
    # Five blocks: three of a, of which the last is empty, two of b; c needs two. They are the
    # empty one of a and its tail.
    assert hits([a, b, c, a], capacity=5) == [0, 0, 0, 4]


def retained_hits(log, rows, *, capacity=None, **options):
    """Hits of requests with given facts."""
    found = []
    for kind in TrtllmPool, CompiledTrtllmPool:
        pool = kind(capacity_blocks=capacity, block_size=SIZE, options=TrtllmOptions(**options))
        prompts = dataclasses.replace(batch(log), requests=rows)
        blocks = make_interner(block_units=SIZE, small=True).intern(prompts)
        found.append(pool.replay(prompts, blocks).cached_tokens.tolist())
    assert found[0] == found[1]
    return found[0]


PLAIN = 35
"""The priority of a request that asks for it, and so for no range."""


def test_a_range_of_tokens_is_retained_longer_than_the_rest():
    a, b, c = Line((*range(8), 0)), Line((*range(20, 24), 0)), Line((*range(40, 52), 0))
    log = [a, b, c, a]
    rows = [facts(), facts(PLAIN), facts(PLAIN), facts()]
    # Five blocks, three of the first prompt. The third takes four: the first prompt's last two
    # and the second's two where its head is retained, else all three of the first.
    asked = parse_retention("0-4:80")
    assert retained_hits(log, rows, capacity=5) == [0, 0, 0, 0]
    assert retained_hits(log, rows, capacity=5, retention=asked) == [0, 0, 0, 4]


@pytest.mark.parametrize(("second", "hit"), [(11.9, 4), (12.0, 0)])
def test_a_priority_lasts_as_long_as_was_asked_from_the_end_of_the_request_on(second, hit):
    log = [Line((*range(4), 0)), Line((*range(20, 24), 0)), Line((*range(40, 48), 0))]
    rows = [facts(None, 0.0, 2.0), facts(PLAIN, second), facts(PLAIN, second), facts()]
    asked = parse_retention("0-4:80:10s")
    assert retained_hits([*log, log[0]], rows, capacity=4, retention=asked)[-1] == hit


@pytest.mark.parametrize(("asks", "hit"), [(None, 0), (80, 4)])
def test_one_that_finds_a_block_says_anew_how_long_it_is_retained(asks, hit):
    head = Line((*range(4), 0))
    log = [head, head, Line((*range(20, 24), 0)), Line((*range(40, 48), 0)), head]
    # The second request asks for 80 without an end, or for what the first one asked for.
    rows = [facts(None, 0.0), facts(asks, 1.0), *[facts(PLAIN, 99.0)] * 3]
    asked = parse_retention("0-4:80:10s")
    assert retained_hits(log, rows, capacity=4, retention=asked)[-1] == hit


@pytest.mark.parametrize(("reuse", "hit"), [("copy", 6), ("leaf", 4), ("off", 4)])
def test_what_may_be_reused_in_part(reuse, hit):
    first, other = Line((*range(9), 0)), Line((*range(6), 99, 99, 99))
    # The second block of the first prompt is continued by a third one.
    found = retained_hits([first, other], [facts()] * 2, partial_reuse=PartialReuse(reuse))
    assert found == [0, hit]


@pytest.mark.parametrize(
    "text",
    [
        *("", "0:80", "8-4:80", "0-8:80,4-9:50", "0-:80,4-9:50", "0-8:101", "0-8:80:3m"),
        *("0-8:80,0-:50", "0-:80,0-8:50", f"0-8:80:{'9' * 400}s", f"0-8:{'9' * 5000}"),
    ],
)
def test_what_is_no_retention_is_refused(text):
    with pytest.raises(UsageError, match="--retain"):
        parse_retention(text)


def host_hits(log, priorities=(), *, capacity, host):
    pool = TrtllmPool(capacity_blocks=capacity, block_size=SIZE, host_blocks=host)
    prompts = batch(log)
    prompts = dataclasses.replace(prompts, requests=[facts(p) for p in priorities])
    blocks = make_interner(block_units=SIZE, small=True).intern(prompts)
    outcome = pool.replay(prompts, blocks)
    return outcome.tier_tokens.tolist(), (pool.moved_tokens[0] // SIZE).tolist()


A, B, C = (Line((*range(n, n + 8), 0)) for n in (0, 20, 40))
"""Each fills three blocks; the last one is looked up by nobody, since it ends a prompt."""


def test_what_is_evicted_goes_to_the_host_and_comes_back():
    # B takes the three blocks of A, which go to the host. A then sends those of B there.
    tiers, offloaded = host_hits([A, B, A], capacity=3, host=6)
    assert tiers == [[0, 0, 0], [0, 0, 8]]
    assert offloaded == [0, 3, 3]


def test_a_full_host_forgets_what_came_there_first():
    # The tail of A comes to the host first, and its head then takes that place.
    tiers, _ = host_hits([A, B, A], capacity=3, host=1)
    assert tiers == [[0, 0, 0], [0, 0, 4]]


def test_what_is_retained_at_little_does_not_go_to_the_host():
    assert host_hits([A, B, A], [29, None, None], capacity=3, host=9)[0][1] == [0, 0, 0]
    # A place of the host that was never used counts as retained at 35, so that what comes there
    # at less pushes out what came before it: the head of A is left of its three blocks.
    assert host_hits([A, B, A], [30, None, None], capacity=3, host=9)[0][1] == [0, 0, 4]
    assert host_hits([A, B, A], [35, None, None], capacity=3, host=9)[0][1] == [0, 0, 8]


def test_the_lowest_priority_goes_first_whenever_it_was_used():
    # Nine blocks hold all; the tenth to twelfth are those of B, though A was used before it.
    log = [A, B, C, Line((*range(60, 68), 0)), A, B]
    tiers, _ = host_hits(log, [50, 10, 50, 50, None, None], capacity=9, host=1)
    assert np.sum(tiers, axis=0).tolist() == [0, 0, 0, 0, 8, 0]


def test_a_priority_that_the_engine_does_not_have(capsys, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"id": "a", "token_ids": [1, 2], "priority": 101}\n')
    assert run(["replay", str(log), "--engine", "trtllm", "--isolated"]) == Exit.ERROR
    assert "the nearest is 100" in capsys.readouterr().err


TOLD = {
    "retention": ["--retain", "0-4:80"],
    "reuse": ["--partial-reuse", "off"],
    "offload": ["--offload-min-priority", "60", "--l2", "4blocks"],
}


@pytest.mark.parametrize(("told", "hit"), [((), 6), (("retention",), 6), (("reuse",), 4)])
def test_what_the_command_line_tells_the_cache(told, hit, capsys, tmp_path):
    a, b = [*range(9)], [*range(6), 99, 99, 99, 99, 99]
    log = tmp_path / "log.jsonl"
    rows = [{"id": str(n), "token_ids": ids} for n, ids in enumerate((a, b))]
    log.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    args = [part for name in told for part in TOLD[name]]
    shared = ["--engine", "trtllm", "--block-size", "4", "--capacity", "9blocks", "--isolated"]
    run(["replay", str(log), *shared, *args, "--format", "json"])
    found = json.loads(capsys.readouterr().out)["prefix"]["hit_tokens"]
    assert found == hit


@pytest.mark.parametrize("told", TOLD)
def test_what_other_engines_are_not_told(told, capsys, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"id": "a", "token_ids": [1, 2]}\n')
    shared = ["--capacity", "9blocks", "--isolated"]
    assert run(["replay", str(log), *shared, *TOLD[told]]) == Exit.ERROR
    assert "--engine trtllm" in capsys.readouterr().err


def test_a_duration_needs_times(capsys, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"id": "a", "token_ids": [1, 2]}\n')
    args = ["--engine", "trtllm", "--capacity", "9blocks", "--retain", "0-4:80:9s", "--isolated"]
    assert run(["replay", str(log), *args]) == Exit.ERROR
    assert "arrived_s" in capsys.readouterr().err


def test_a_prompt_longer_than_the_pool_is_not_admitted():
    (outcome,), _ = replayed([[Line((1,) * 9)]], capacity=2)
    assert outcome.admitted.tolist() == [False]


@pytest.mark.parametrize(
    ("version", "nearest"), [("0.21.0", "1.0.0"), ("9", "1.2.1"), ("2.0", "1.2.1")]
)
def test_a_release_outside_the_range_is_told_the_nearest(version, nearest, capsys, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"id": "a", "token_ids": [1, 2]}\n')
    args = ["--engine", "trtllm", "--engine-version", version, "--isolated"]
    assert run(["replay", str(log), *args]) == Exit.ERROR
    assert f"--engine-version {nearest}" in capsys.readouterr().err
