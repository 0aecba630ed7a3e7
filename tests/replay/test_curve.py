"""The curve of one pass against a replay at every capacity, where it claims to be exact."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from replay_logs import Line, batch, halves, logs, retries

from kvaudit.replay.caches import make_ideal, make_interner, make_stack, make_vllm_pool
from kvaudit.replay.curve import CapacityCurve, Weights, ramps_of
from kvaudit.replay.curve_rows import full_block_rows, ideal_rows

COMPILED = [False, True]


def ideal_runs(lines, size, compiled):
    """Runs, batches and blocks of a log in two batches."""
    interner = make_interner(block_units=size, tails=size > 1, small=not compiled)
    stack = make_stack(small=not compiled)
    parts = [batch(part) for part in halves(lines)]
    blocks = [interner.intern(part) for part in parts]
    rows = [ideal_rows(p, b) for p, b in zip(parts, blocks, strict=True)]
    return [stack.feed(r) for r in rows], parts, blocks, rows


def paged_runs(lines, size, compiled, *, tail_stays):
    interner = make_interner(block_units=size, small=not compiled)
    stack = make_stack(small=not compiled)
    parts = [batch(part) for part in halves(lines)]
    blocks = [interner.intern(part) for part in parts]
    rows = [
        full_block_rows(p, b, block_tokens=size, tail_stays=tail_stays, recomputes=True)
        for p, b in zip(parts, blocks, strict=True)
    ]
    return [stack.feed(r) for r in rows], parts, blocks, rows


def largest(rows):
    return max(int((r.lengths + r.extra + r.holes).max(initial=1)) for r in rows)


def by_request(runs, per_request, parts, size, capacity):
    """Hit tokens of each request at one capacity."""
    tokens = np.concatenate([p.prompt_tokens for p in parts])
    ramps = ramps_of(runs, per_request, Weights(np.full(len(tokens), size), tokens), 0)
    return ramps.tokens_by(capacity, np.arange(len(tokens)), len(tokens)).tolist()


@settings(max_examples=400)
@given(lines=logs(16), size=st.integers(1, 3), compiled=st.sampled_from(COMPILED))
def test_ideal_lru_is_the_replay_at_every_capacity(lines, size, compiled):
    assume(lines)
    runs, parts, blocks, rows = ideal_runs(lines, size, compiled)
    for capacity in [*range(largest(rows), 30), None]:
        cache = make_ideal(capacity_blocks=capacity, small=not compiled)
        replayed = [
            cache.replay(p, b).cached_tokens.tolist() for p, b in zip(parts, blocks, strict=True)
        ]
        assert by_request(runs, 2, parts, size, capacity) == [t for part in replayed for t in part]


@settings(max_examples=600)
@given(
    lines=logs(16),
    size=st.integers(1, 3),
    version=st.sampled_from(["0.23.0", "0.24.0"]),
    compiled=st.sampled_from(COMPILED),
)
def test_the_pool_of_vllm_is_the_replay_at_every_capacity(lines, size, version, compiled):
    runs, parts, blocks, rows = paged_runs(lines, size, compiled, tail_stays=version == "0.23.0")
    assume(all((r.seen <= q.lookups).all() for r, q in zip(runs, rows, strict=True)))
    for capacity in [*range(largest(rows), 30), None]:
        pool = make_vllm_pool(
            version=version, capacity_blocks=capacity, block_size=size, small=not compiled
        )
        replayed = [
            pool.replay(p, b).cached_tokens.tolist() for p, b in zip(parts, blocks, strict=True)
        ]
        assert by_request(runs, 1, parts, size, capacity) == [t for part in replayed for t in part]


@settings(max_examples=200)
@given(lines=logs() | retries(), size=st.integers(1, 3), tail_stays=st.booleans())
def test_kernel_and_reference_give_the_same_runs(lines, size, tail_stays):
    plain, *_ = paged_runs(lines, size, False, tail_stays=tail_stays)
    kernel, *_ = paged_runs(lines, size, True, tail_stays=tail_stays)
    for a, b in zip(plain, kernel, strict=True):
        assert [column.tolist() for column in a] == [column.tolist() for column in b]


ramp_lists = st.lists(
    st.tuples(st.integers(1, 30), st.integers(1, 10), st.integers(1, 5)), max_size=12
)


@given(ramp_lists)
def test_a_curve_is_the_sum_of_its_ramps_at_every_capacity(ramps):
    first, count, weight = np.array(ramps, np.int64).reshape(-1, 3).T
    curve = CapacityCurve(first, count, weight)

    def hits(capacity):
        return sum(w * min(max(capacity - f + 1, 0), n) for f, n, w in ramps)

    assert [curve.at(c) for c in range(45)] == [hits(c) for c in range(45)]
    assert curve.at(None) == curve.total == hits(99)
    assert curve.full_capacity == min(c for c in range(99) if hits(c) == curve.total)
    for wanted in range(curve.total + 1):
        assert curve.least_capacity(wanted) == min(c for c in range(99) if hits(c) >= wanted)


@given(ramp_lists.filter(bool))
def test_the_knee_stands_highest_above_the_chord(ramps):
    curve = CapacityCurve(*np.array(ramps, np.int64).T)

    def height(capacity):
        return curve.at(capacity) / curve.total - capacity / curve.full_capacity

    highest = max(height(c) for c in range(curve.full_capacity + 1))
    assert height(curve.knee()) == pytest.approx(highest)


def test_a_partial_last_block_weighs_what_is_left_of_the_prompt():
    runs, parts, *_ = ideal_runs([Line((1, 2, 3, 4, 5))] * 2, 2, False)
    assert by_request(runs, 2, parts, 2, 3) == [0, 5]
    assert by_request(runs, 2, parts, 2, 2) == [0, 4]


def test_ramps_that_lie_far_apart_add_up_too():
    # Many times more capacities than ramps: these are sorted and not counted in a table.
    far = 10**12
    curve = CapacityCurve(*np.array([(far, 10, 2), (1, 5, 1), (far + 5, 5, 1)], np.int64).T)
    assert curve.corners.tolist() == [0, 5, far - 1, far + 4, far + 9]
    assert [curve.at(c) for c in (0, 3, 5, far - 1, far + 1, far + 6, far + 9)] == [
        *(0, 3, 5, 5, 9, 21, 30),
    ]
