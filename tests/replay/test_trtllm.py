"""TensorRT-LLM's pool: what its rules say, and what holds whatever the log."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_logs import Line, batch, halves, logs, retries

from kvaudit.cli import run
from kvaudit.core.errors import Exit
from kvaudit.replay.caches import make_interner
from kvaudit.replay.models.trtllm import TrtllmPool

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
    assert len(inside) == len(set(inside)) == pool.held_blocks
    assert len(pool.free) == pool.allocated_blocks
    assert capacity is None or pool.allocated_blocks <= capacity
    assert set(inside) <= set(pool.free)
    found = [n for outcome in outcomes for n in outcome.cached_tokens.tolist()]
    for i, (line, hit) in enumerate(zip(log, found, strict=True)):
        earlier = [e.prompt + e.output for e in log[:i] if e.namespace == line.namespace]
        assert hit <= len(line.prompt) - 1
        assert hit == 0 or any(text[:hit] == line.prompt[:hit] for text in earlier)


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
