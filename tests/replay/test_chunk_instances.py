"""Instances of LMCache with tiers of their own and one remote store."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_logs import Line, batch, halves, logs, retries

from kvaudit.replay.caches import make_interner
from kvaudit.replay.connected import ConnectedStore
from kvaudit.replay.engine import CacheSettings, find_engine
from kvaudit.replay.fleet.chunk_members import ChunkMembers
from kvaudit.replay.fleet.connected_members import ConnectedMembers
from kvaudit.replay.models.chunk_places import Remote
from kvaudit.replay.models.chunks import ChunkStore


def instances(count, *, lower, size=2, capacity=None, same_keys=True, has_disk=True, **more):
    def make(remote):
        return ChunkStore(
            capacity_chunks=capacity,
            chunk_size=size,
            lower_chunks=lower,
            has_disk=has_disk,
            remote=remote,
            **{"policy": "lru"} | more,
        )

    remote = Remote(lower[-1]) if len(lower) > has_disk else None
    members = ChunkMembers(make, remote, same_keys=same_keys)
    members.grow(count)
    return members


def served(log, routes, members, *, size=2):
    """Return the hit tokens of each request by tier, and what each instance would have hit."""
    interner = make_interner(block_units=size, tails=True, small=True)
    tiers, looked, start = [], [], 0
    for lines in halves(log):
        prompts = batch(lines)
        here = np.array(routes[start : start + len(lines)], np.int64)
        start += len(lines)
        found = members.serve(prompts, interner.intern(prompts), here)
        tiers += members.tier_tokens.T.tolist()
        looked += found.cached_tokens.T.tolist()
    return tiers, looked


def routes_of(log, count):
    return [(7 * n + n // 3) % count for n in range(len(log))]


sizes = st.none() | st.integers(1, 12)


@settings(max_examples=100)
@given(logs() | retries(), st.integers(1, 3), sizes, sizes, sizes, st.booleans(), st.booleans())
def test_one_instance_is_the_store_alone(log, size, capacity, disk, remote, has_disk, same_keys):
    lower = (disk, remote) if has_disk else (remote,)
    more = {"capacity": capacity, "has_disk": has_disk, "saves_decoded": True}
    members = instances(1, lower=lower, size=size, same_keys=same_keys, **more)
    tiers, looked = served(log, [0] * len(log), members, size=size)
    alone = ChunkStore(
        capacity_chunks=capacity,
        chunk_size=size,
        policy="lru",
        saves_decoded=True,
        lower_chunks=lower,
        has_disk=has_disk,
    )
    interner = make_interner(block_units=size, tails=True, small=True)
    expected = []
    for lines in halves(log):
        prompts = batch(lines)
        outcome = alone.replay(prompts, interner.intern(prompts))
        expected += outcome.tier_tokens.T.tolist()
    assert tiers == expected
    assert [sum(row) for row in expected] == [row[0] for row in looked]
    assert members.lower_tiers == alone.lower_tiers
    assert members.unreachable_blocks() == alone.unreachable_blocks()


@settings(max_examples=100)
@given(logs() | retries(), st.integers(2, 4), st.integers(8, 12))
def test_an_endless_remote_store_is_one_store_for_all(log, count, capacity):
    log = [line for line in log if len(line.prompt) <= 2 * capacity]
    one, _ = served(log, [0] * len(log), instances(1, lower=(None,), has_disk=False))
    shared = instances(count, lower=(None,), has_disk=False, capacity=capacity)
    found, _ = served(log, routes_of(log, count), shared)
    assert [sum(tokens) for tokens in found] == [sum(tokens) for tokens in one]


@settings(max_examples=100)
@given(logs() | retries(), st.integers(2, 4), sizes, sizes)
def test_with_keys_of_their_own_instances_have_nothing_of_each_other(log, count, capacity, disk):
    routes = routes_of(log, count)
    shared = instances(count, lower=(disk, None), capacity=capacity, same_keys=False)
    found, _ = served(log, routes, shared)
    for n in range(count):
        own = [line for line, route in zip(log, routes, strict=True) if route == n]
        alone = instances(1, lower=(disk, None), capacity=capacity)
        expected, _ = served(own, [0] * len(own), alone)
        assert [f for f, route in zip(found, routes, strict=True) if route == n] == expected


A, B = Line((1, 1, 9)), Line((2, 2, 9))


def test_what_another_instance_wrote_is_read_from_the_remote_store_once():
    members = instances(2, lower=(None, None), capacity=4)
    tiers, looked = served([A, A, A, A], [0, 1, 1, 0], members)
    # CPU memory, disk, remote: what was read is held in CPU memory, and nothing goes to the disk.
    assert tiers == [[0, 0, 0], [0, 0, 2], [2, 0, 0], [2, 0, 0]]
    assert looked == [[0, 0], [2, 2], [2, 2], [2, 2]]
    assert [tier.peak_blocks for tier in members.lower_tiers] == [1, 1]


def test_a_disk_is_one_instances_own():
    members = instances(2, lower=(None,), capacity=1)
    tiers, looked = served([A, B, A, A], [0, 0, 0, 1], members)
    assert tiers == [[0, 0], [0, 0], [0, 2], [0, 0]]
    assert looked[-1] == [2, 0]


def test_a_bounded_remote_store_is_filled_by_all():
    members = instances(2, lower=(1,), has_disk=False, capacity=1)
    tiers, _ = served([A, B, A, B, B], [0, 1, 1, 0, 0], members)
    # Each drops what the other wrote, so that only CPU memory hits.
    assert tiers == [[0, 0], [0, 0], [0, 0], [0, 0], [2, 0]]


VLLM = find_engine("vllm")


def of_vllm(blocks):
    return CacheSettings(
        version="0.33.0",
        block_size=2,
        capacity_blocks=blocks,
        policy="lru",
        eagle=False,
        schedule="sequential",
        small=True,
    )


@settings(max_examples=80)
@given(logs(), st.integers(1, 3), st.integers(2, 12), sizes, sizes, st.booleans())
def test_one_instance_of_vllm_is_it_with_its_store_alone(
    log, chunk, blocks, capacity, disk, decoded
):
    more = {"policy": "lru", "saves_decoded": decoded, "chunk_size": chunk}

    def make(remote):
        lower = (disk, None)
        return ChunkStore(capacity_chunks=capacity, lower_chunks=lower, remote=remote, **more)

    asked = of_vllm(blocks)
    members = ConnectedMembers(VLLM, asked, ChunkMembers(make, Remote(None), same_keys=True))
    members.grow(1)
    alone = ConnectedStore(VLLM.build(asked), make(None), VLLM.tiers, block_size=2, small=True)
    interner = make_interner(block_units=2, small=True)
    for lines in filter(None, halves(log)):
        prompts = batch(lines)
        keys = interner.intern(prompts)
        found = members.serve(prompts, keys, np.zeros(len(lines), np.int64))
        expected = alone.replay(prompts, keys)
        served = found.admitted[0].astype(bool)
        assert np.array_equal(members.tier_tokens, expected.tier_tokens)
        assert np.array_equal(served, expected.admitted)
        assert np.array_equal(found.cached_tokens[0][served], expected.cached_tokens[served])
    assert members.lower_tiers == alone.lower_tiers


def test_instances_of_vllm_read_what_another_wrote_beyond_their_own_hit():
    def make(remote):
        return ChunkStore(
            capacity_chunks=8,
            chunk_size=4,
            policy="lru",
            lower_chunks=(None,),
            has_disk=False,
            remote=remote,
        )

    asked = of_vllm(None)
    members = ConnectedMembers(VLLM, asked, ChunkMembers(make, Remote(None), same_keys=True))
    members.grow(2)
    short, long = Line((1, 1, 2, 2, 3, 3)), Line((1, 1, 2, 2, 3, 3, 4, 4, 5))
    log = [short, long, long]
    prompts = batch(log)
    keys = make_interner(block_units=2, small=True).intern(prompts)
    found = members.serve(prompts, keys, np.array([0, 1, 0]))
    # vLLM, CPU memory, remote store: the second instance has nothing itself; the first has four
    # tokens of the long prompt in vLLM, and reads the chunk that the second wrote.
    assert members.tier_tokens.T.tolist() == [[0, 0, 0], [0, 0, 4], [6, 0, 2]]
    assert found.cached_tokens.T.tolist() == [[0, 0], [6, 4], [8, 8]]
