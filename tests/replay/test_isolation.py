"""Whose KV is hit, and what keeping tenants apart costs, against the definition."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kvaudit.core.quantities import Capacity
from kvaudit.core.requests import Request
from kvaudit.replay.fleet.plan import FleetPlan, Sharing
from kvaudit.replay.isolation import IsolationPlan
from kvaudit.replay.plan import Plan
from kvaudit.replay.prompts import Prompts
from kvaudit.replay.run import replay_log

SIZE = 2


def replayed(requests, *, capacity="inf", namespace=(), **plan):
    plan.setdefault("engine", "vllm")
    plan.setdefault("block_size", SIZE)
    log = Prompts(requests, encoder=None, namespace=namespace)
    return replay_log(
        log, Plan(capacity=Capacity.parse(capacity), **plan), lambda: nullcontext(None)
    )


traffic = st.lists(
    st.builds(
        lambda prompt, tenant, salt: Request(id="r", token_ids=prompt, tenant=tenant, salt=salt),
        st.lists(st.integers(0, 1), min_size=1, max_size=9),
        st.sampled_from(["a", "b", "c", None]),
        st.sampled_from([None, None, "x"]),
    ),
    min_size=1,
    max_size=14,
)
APART = IsolationPlan(fields=("tenant",))


def cross_by_definition(log):
    """Hit tokens of an unbounded cache whose block was last computed for another tenant."""
    computed, total = {}, 0
    for request in log:
        ids = tuple(request.token_ids)
        blocks = [(request.salt, ids[:n]) for n in range(SIZE, len(ids) + 1, SIZE)]
        hits = 0
        while hits < (len(ids) - 1) // SIZE and blocks[hits] in computed:
            owner = computed[blocks[hits]]
            total += SIZE * (None not in (owner, request.tenant) and owner != request.tenant)
            hits += 1
        computed.update(dict.fromkeys(blocks[hits:], request.tenant))
    return total


@settings(max_examples=40)
@given(traffic)
def test_cross_tenant_hits_are_those_of_the_definition(log):
    found = replayed(log).isolation
    if found is None:
        assert all(request.tenant is None for request in log)
        return
    assert found.cross_hit_tokens == cross_by_definition(log)
    assert found.cross_hit_tokens <= found.hit_tokens
    assert found.parties == len({r.tenant for r in log} - {None})


@settings(max_examples=40)
@given(
    traffic,
    st.sampled_from(["vllm", "sglang", "lmcache", "ideal"]),
    st.sampled_from(["inf", "5blocks"]),
)
def test_the_price_is_that_of_a_replay_with_the_tenant_in_the_namespace(log, engine, capacity):
    apart = replayed(log, engine=engine, capacity=capacity, namespace=("tenant",))
    priced = replayed(log, engine=engine, capacity=capacity, isolation=APART)
    assert priced.isolation.apart.hit_tokens == apart.prefix.hit_tokens
    assert priced.isolation.apart.lost_tokens == (
        priced.prefix.hit_tokens - apart.prefix.hit_tokens
    )
    assert apart.isolation is None or apart.isolation.cross_hit_tokens == 0


@settings(max_examples=40)
@given(
    traffic,
    st.sampled_from(["vllm", "sglang", "lmcache", "ideal"]),
    st.sampled_from(["inf", "5blocks"]),
    st.integers(0, 9),
)
def test_public_prefixes_lie_between_apart_and_shared(log, engine, capacity, public):
    def run(tokens):
        plan = IsolationPlan(fields=("tenant",), public_tokens=tokens, public_name="some")
        return replayed(log, engine=engine, capacity=capacity, isolation=plan)

    none, some, everything = run(0), run(public), run(100)
    assert none.isolation.apart_but_public.hit_tokens == none.isolation.apart.hit_tokens
    if engine != "ideal":  # which keeps partial last blocks, and these are never public
        assert everything.isolation.apart_but_public.hit_tokens == everything.prefix.hit_tokens
    if capacity == "inf":
        low, high = some.isolation.apart.hit_tokens, some.prefix.hit_tokens
        assert low <= some.isolation.apart_but_public.hit_tokens <= high


def tokens(i, prompt, **more):
    return Request(id=str(i), token_ids=prompt, **more)


def test_a_public_text_is_shared_as_far_as_it_goes():
    system = [1, 2, 3, 4, 5, 6]
    log = [tokens(i, [*system, 7, 7, i], tenant=f"t{i}") for i in range(3)]
    plan = IsolationPlan(
        fields=("tenant",),
        public_texts=lambda: [np.array([1, 2, 3, 4, 9], np.int32), np.array([8], np.int32)],
        public_name="a text",
    )
    found = replayed(log, isolation=plan).isolation
    assert found.cross_hit_tokens == 2 * 8
    assert found.apart.hit_tokens == 0
    # Four tokens agree with the first text, which is two blocks.
    assert found.apart_but_public.hit_tokens == 2 * 4


def test_kv_from_a_pool_is_its_owners():
    log = [tokens(i, [1, 2, 3, 4, i], tenant=t) for i, t in enumerate("aab")]
    plan = FleetPlan(instances=3, router="round-robin", sharing=Sharing.POOL)
    found = replayed(log, fleet=plan).isolation
    # The second request fetches its own tenant's blocks, the third another one's.
    assert (found.hit_tokens, found.cross_hit_tokens, found.cross_requests) == (8, 4, 1)
    alone = replayed(log, fleet=replace(plan, sharing=Sharing.NONE)).isolation
    assert alone.cross_hit_tokens == 0


def test_users_stand_in_for_tenants():
    log = [tokens(i, [1, 2, 3], user=u) for i, u in enumerate("uv")]
    found = replayed(log).isolation
    assert (found.field, found.parties, found.cross_hit_tokens) == ("user", 2, 2)
    assert replayed([tokens(0, [1])]).isolation is None
