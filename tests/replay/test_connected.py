"""LMCache below vLLM's own cache: what it adds, and what it leaves as it is."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_logs import Line, batch, halves, logs, retries

from kvaudit.replay.caches import make_interner, make_vllm_pool
from kvaudit.replay.connected import ConnectedStore
from kvaudit.replay.models.chunks import ChunkStore
from kvaudit.replay.tiers import TierRules

RULES = TierRules(names=("hbm", "dram", "disk"), whole_prompt=False, keeps_output=False)


def store(chunk, capacity, lower, **more):
    return ChunkStore(
        capacity_chunks=capacity, chunk_size=chunk, policy="lru", lower_chunks=lower, **more
    )


def pool(block, blocks, *, small=True):
    return make_vllm_pool(version="0.33.0", capacity_blocks=blocks, block_size=block, small=small)


def connected(
    log,
    *,
    block=2,
    blocks=None,
    chunk=4,
    capacity=None,
    lower=(),
    small=True,
    lmcache_namespaces=(),
    **more,
):
    """Return hit tokens by tier for each request, and the ledger."""
    cache = ConnectedStore(
        pool(block, blocks, small=small),
        store(chunk, capacity, lower, **more),
        RULES,
        block_size=block,
        small=small,
        lmcache_namespaces=lmcache_namespaces,
    )
    interner = make_interner(block_units=block, small=small)
    found = []
    for lines in halves(log):
        prompts = batch(lines)
        outcome = cache.replay(prompts, interner.intern(prompts))
        assert np.array_equal(outcome.tier_tokens.sum(axis=0), outcome.cached_tokens)
        found += outcome.tier_tokens.T.tolist()
    return found, cache


def alone(log, cache, block):
    interner = make_interner(block_units=block, tails=True, small=True)
    found = []
    for lines in halves(log):
        prompts = batch(lines)
        found += cache.replay(prompts, interner.intern(prompts)).cached_tokens.tolist()
    return found


sizes = st.integers(1, 4)


@settings(max_examples=100)
@given(logs() | retries(), sizes, sizes, st.none() | st.integers(2, 12), st.booleans())
def test_an_endless_store_adds_what_it_has_and_vllm_has_not(log, block, chunk, blocks, decoded):
    found, _ = connected(
        log, block=block, blocks=blocks, chunk=chunk, lower=(3,), saves_decoded=decoded
    )
    own = alone(log, pool(block, blocks), block)
    # vLLM hits what it does alone; and the longer of the two hits is the hit, short of the last
    # token of the prompt.
    assert [row[0] for row in found] == own
    fits = [blocks is None or -(-len(line.prompt) // block) <= blocks for line in log]
    served = [line for line, is_served in zip(log, fits, strict=True) if is_served]
    below = iter(alone(served, store(chunk, None, (), saves_decoded=decoded), chunk))
    for row, mine, is_served in zip(found, own, fits, strict=True):
        assert sum(row) == (max(mine, next(below)) if is_served else 0)


@settings(max_examples=60)
@given(logs(), sizes, st.integers(1, 8), st.integers(2, 12), st.integers(1, 6), st.booleans())
def test_a_log_of_any_size_gets_the_same_answer(log, chunk, capacity, blocks, disk, partial):
    asked = {"blocks": blocks, "chunk": chunk, "capacity": capacity, "lower": (disk,)}
    plain, one = connected(log, keeps_partial=partial, **asked)
    fast, other = connected(log, keeps_partial=partial, small=False, **asked)
    assert plain == fast
    assert one.lower_tiers == other.lower_tiers
    written = [
        [column.values().tolist() for column in cache.stored_tokens] for cache in (one, other)
    ]
    assert written[0] == written[1]


def test_the_store_is_read_from_the_chunk_in_which_vllms_hit_ends():
    prompt = (1, 1, 2, 2, 3, 3, 4, 4)
    # Of five blocks vLLM gives the prompt's last ones to what comes between.
    found, _ = connected([Line(prompt), Line((7,) * 6), Line((*prompt, 9))], blocks=5)
    assert found[-1] == [4, 4]
    # All of a chunk is read, and what vLLM has of it is no hit of the store's.
    found, _ = connected([Line(prompt), Line((7,) * 4), Line((*prompt, 9))], blocks=5)
    assert found[-1] == [6, 2]


def test_a_prompt_that_is_held_to_its_end_has_one_token_computed():
    found, _ = connected([Line((1, 1, 2, 2)), Line((7,) * 8), Line((1, 1, 2, 2))], blocks=4)
    assert found[-1] == [0, 3]


def test_nothing_is_read_for_a_last_token_that_is_computed_anyway():
    a, b = Line((1, 1, 2, 2)), Line((5, 5, 6, 6))
    log = [a, b, a]
    found, cache = connected(log, block=3, chunk=2, capacity=2, lower=(None,))
    assert found[-1] == [3, 0, 0]
    # Nothing came back from the disk into CPU memory.
    assert cache.stored_tokens[0].values().tolist() == [4, 4, 0]


def test_what_vllm_has_and_the_store_lost_is_stored_again():
    a, b = Line((1, 1, 2, 2, 9)), Line((5, 5, 6, 6, 9))
    found, cache = connected([a, b, a, b], capacity=1)
    assert found[2:] == [[4, 0], [4, 0]]
    assert cache.stored_tokens[0].values().tolist() == [4, 4, 4, 4]


def crossed(log, wide, **more):
    """Return the tokens that each request would read of another namespace."""
    _, cache = connected(log, lmcache_namespaces=wide, **more)
    return cache.cross_tokens.values().tolist()


def test_hits_across_adapters_are_told_and_not_counted():
    a, b = Line((1, 1, 2, 2, 9)), Line((1, 1, 2, 2, 9), namespace=1)
    found, cache = connected([a, b, b, a], blocks=3, lmcache_namespaces=[0, 0])
    assert found == [[0, 0], [0, 0], [4, 0], [0, 4]]
    # The first of b reads what a computed. Afterwards both have the one chunk, which is a's.
    assert cache.cross_tokens.values().tolist() == [0, 4, 0, 0]
    (said, warned) = cache.remarks(slice(None))
    assert "in chunks of 4 tokens, lru" in said
    assert "1 of 4 requests would read 4 tokens" in warned
    assert crossed([a, b, b, a], [0, 1], blocks=3) == [0] * 4
    assert crossed([a, b, b, a], [], blocks=3) == [0] * 4


def test_what_is_stored_again_is_of_the_one_that_had_it():
    a, b = Line((1, 1, 2, 2, 9)), Line((1, 1, 2, 2, 9), namespace=1)
    others = [Line((5, 5, 6, 6, 9)), Line((7, 7, 8, 8, 9))]
    short = [Line((n, n, n)) for n in range(20, 24)]
    # Both compute the chunk, and the store loses it each time. vLLM has it of a only, so that it
    # is stored again; b has lost its second block, and would read a's.
    log = [a, others[0], b, others[1], a, *short, b]
    assert crossed(log, [0, 0], blocks=10, capacity=1) == [0] * 9 + [2]


@settings(max_examples=150)
@given(logs(), sizes, sizes, st.integers(2, 12))
def test_with_room_for_all_a_chunk_is_its_first_computers(log, block, chunk, blocks):
    log = [line for line in log if -(-len(line.prompt) // block) <= blocks]
    more = {"block": block, "chunk": chunk, "blocks": blocks}
    found, cache = connected(log, lmcache_namespaces=[0, 0], **more)
    computers, expected = {}, []
    for line, (own, *_) in zip(log, found, strict=True):
        size = len(line.prompt)
        chunks = [line.prompt[: end + chunk] for end in range(0, size - chunk + 1, chunk)]
        hit = next((n for n, text in enumerate(chunks) if text not in computers), len(chunks))
        read = chunks[own // chunk : hit] if hit * chunk - own > (hit * chunk == size) else []
        others = [len(text) for text in read if computers[text] != line.namespace]
        expected.append(sum(min(chunk, end - own) for end in others))
        computers |= dict.fromkeys(chunks[hit:], line.namespace)
    assert cache.cross_tokens.values().tolist() == expected


def test_what_never_fits_is_not_stored():
    long = Line((1,) * 12)
    found, cache = connected([long, long], blocks=4)
    assert found == [[0, 0], [0, 0]]
    assert cache.lower_tiers[0].peak_blocks == 0
