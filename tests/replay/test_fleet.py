"""Fleets: one replica is the plain cache, several add up; what sharing and affinity promise."""

from contextlib import nullcontext
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvaudit.core.errors import UsageError
from kvaudit.core.quantities import Capacity
from kvaudit.core.requests import Request
from kvaudit.replay import beginning
from kvaudit.replay.fleet.invalidation import Invalidation
from kvaudit.replay.fleet.plan import FleetPlan, HashSeeds, Sharing
from kvaudit.replay.fleet.router import known_routers
from kvaudit.replay.plan import Plan
from kvaudit.replay.prompts import Prompts
from kvaudit.replay.run import replay_log

ROUTERS = sorted(known_routers())
ENGINES = ("vllm", "sglang", "lmcache", "trtllm", "ideal")


class Rows:
    """Collects per-request rows."""

    def __init__(self):
        self.rows = []

    def write(self, columns):
        self.rows += [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]


def replayed(requests, fleet=None, *, capacity="inf", rows=None, **plan):
    log = Prompts(requests, encoder=None)
    asked = Plan(capacity=Capacity.parse(capacity), fleet=fleet, **plan)
    return replay_log(log, asked, lambda: nullcontext(rows))


@st.composite
def traffic(draw):
    """Requests of a few sessions whose prompts often begin alike, with or without times."""
    timed, ended = draw(st.booleans()), draw(st.booleans())
    requests = []
    for i in range(draw(st.integers(1, 14))):
        prompt = draw(st.lists(st.integers(0, 1), min_size=1, max_size=10))
        requests.append(
            Request(
                id=str(i),
                token_ids=prompt,
                output_ids=draw(st.lists(st.integers(0, 1), max_size=3)),
                session=draw(st.sampled_from(["a", "b", "c", None])),
                salt=draw(st.sampled_from([None, None, "x"])),
                instance=draw(st.sampled_from(["east", "west", "north"])),
                arrived_s=float(i // 2) if timed else None,
                finished_s=i + 3.0 if timed and ended else None,
            )
        )
    return requests


capacities = st.sampled_from(["inf", "4blocks", "7blocks"])


@pytest.mark.parametrize("router", ROUTERS)
@settings(max_examples=12)
@given(log=traffic(), engine=st.sampled_from(ENGINES), capacity=capacities)
def test_one_replica_is_the_cache_without_a_router(router, log, engine, capacity):
    log = [replace(request, instance="only") for request in log]
    plain = replayed(log, engine=engine, capacity=capacity, block_size=2, schedule="sequential")
    # A broadcast is no part of this: it pins the common prefix, whatever is evicted.
    for sharing in (Sharing.NONE, Sharing.POOL):
        plan = FleetPlan(instances=1, router=router, sharing=sharing)
        one = replayed(log, plan, engine=engine, capacity=capacity, block_size=2)
        assert replace(one.prefix, definition="") == replace(plain.prefix, definition="")
        assert one.lost == plain.lost
        assert one.namespaces == plain.namespaces
        assert one.fleet.one_cache.hit_tokens == plain.prefix.hit_tokens
        assert one.fleet.moved_tokens == one.fleet.other_replica_tokens == 0


@pytest.mark.parametrize("router", ROUTERS)
@settings(max_examples=12)
@given(
    log=traffic(),
    engine=st.sampled_from(ENGINES),
    capacity=capacities,
    sharing=st.sampled_from(list(Sharing)),
)
def test_replicas_add_up_and_every_token_has_one_place(router, log, engine, capacity, sharing):
    rows = Rows()
    plan = FleetPlan(instances=3, router=router, sharing=sharing, broadcast_after=2)
    result = replayed(log, plan, engine=engine, capacity=capacity, block_size=2, rows=rows)
    fleet, prefix, lost = result.fleet, result.prefix, result.lost
    each = fleet.per_instance
    assert len(each) == 3 or router == "logged"
    assert sum(i.requests for i in each) == prefix.requests
    assert sum(i.prompt_tokens for i in each) == prefix.prompt_tokens
    assert sum(i.hit_tokens for i in each) == prefix.hit_tokens
    assert sum(i.evicted_blocks for i in each) == prefix.evicted_blocks
    assert fleet.local_hit_tokens + fleet.shared_hit_tokens == prefix.hit_tokens
    whole = lost.first_seen + lost.other_replica + lost.evicted + lost.last_block
    assert whole == prefix.computed_tokens
    assert min(lost.first_seen, lost.other_replica, lost.evicted, lost.last_block) >= 0
    if sharing is Sharing.POOL:
        assert lost.other_replica == 0
        assert fleet.moved_tokens == fleet.shared_hit_tokens
    if capacity == "inf":
        assert lost.evicted == 0
    for i in each:
        own = [row for row in rows.rows if row["instance"] == i.instance]
        assert sum(row["cached_tokens"] for row in own) == i.hit_tokens


@settings(max_examples=12)
@given(traffic(), st.sampled_from(ROUTERS), capacities, st.sampled_from(list(Sharing)))
def test_compiled_replicas_give_the_same_report(log, router, capacity, sharing):
    plan = FleetPlan(instances=2 if router != "logged" else 3, router=router, sharing=sharing)
    for engine in ("vllm", "ideal"):
        asked = {"engine": engine, "capacity": capacity, "block_size": 2}
        plain = replayed(log, plan, **asked)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(beginning, "SMALL_REQUESTS", 0)
            assert replayed(log, plan, **asked).fleet == plain.fleet


@settings(max_examples=30)
@given(traffic(), st.sampled_from(ROUTERS))
def test_ideal_replicas_with_a_pool_are_one_cache_without_a_bound(log, router):
    plain = replayed(log, engine="ideal", block_size=2)
    plan = FleetPlan(instances=3, router=router, sharing=Sharing.POOL)
    pooled = replayed(log, plan, engine="ideal", block_size=2)
    assert pooled.prefix.hit_tokens == plain.prefix.hit_tokens
    assert pooled.lost == plain.lost


@settings(max_examples=60)
@given(traffic(), st.sampled_from(ROUTERS), st.integers(1, 3))
def test_instances_with_one_pool_of_chunks_hit_what_one_store_does(log, router, size):
    plan = FleetPlan(instances=3, router=router, sharing=Sharing.POOL)
    one = replayed(log, engine="lmcache", block_size=size)
    pooled = replayed(log, plan, engine="lmcache", block_size=size)
    assert pooled.prefix.hit_tokens == one.prefix.hit_tokens


@settings(max_examples=30)
@given(traffic())
def test_affinity_keeps_a_session_on_one_replica(log):
    rows = Rows()
    plan = FleetPlan(instances=4, router="session-affinity")
    replayed(log, plan, engine="vllm", block_size=2, rows=rows)
    places = {}
    for request, row in zip(log, rows.rows, strict=True):
        if request.session is not None:
            assert places.setdefault(request.session, row["instance"]) == row["instance"]


@settings(max_examples=30)
@given(traffic(), st.permutations(["east", "west", "north"]), capacities)
def test_names_of_replicas_do_not_matter(log, names, capacity):
    renamed = dict(zip(["east", "west", "north"], names, strict=True))
    other = [replace(request, instance=renamed[request.instance]) for request in log]
    plan = FleetPlan(instances=None, router="logged")
    one, two = (
        replayed(requests, plan, engine="vllm", block_size=2, capacity=capacity)
        for requests in (log, other)
    )
    assert (one.prefix, one.lost) == (two.prefix, two.lost)
    assert [replace(i, instance=renamed[i.instance]) for i in one.fleet.per_instance] == list(
        two.fleet.per_instance
    )


def tokens(i, prompt, **more):
    return Request(id=str(i), token_ids=prompt, **more)


def test_what_another_replica_held_is_told_apart_from_what_nobody_holds():
    shared = [1, 2, 3, 4]
    log = [tokens(i, [*shared, i]) for i in range(2)]
    result = replayed(
        log, FleetPlan(instances=2, router="round-robin"), engine="vllm", block_size=2
    )
    assert (result.prefix.hit_tokens, result.lost.other_replica) == (0, 4)
    assert result.fleet.one_cache.hit_tokens == 4
    # The replica that held it has evicted it when the other one asks.
    log = [tokens(0, [*shared, 9]), tokens(1, [7]), tokens(2, [8] * 6), tokens(3, [*shared, 5])]
    result = replayed(
        log,
        FleetPlan(instances=2, router="round-robin"),
        engine="vllm",
        block_size=2,
        capacity="3blocks",
    )
    assert (result.lost.other_replica, result.lost.evicted) == (0, 4)


def test_a_pool_moves_what_it_gives_and_other_seeds_leave_it_empty():
    log = [tokens(i, [1, 2, 3, 4, i]) for i in range(3)]
    plan = FleetPlan(instances=3, router="round-robin", sharing=Sharing.POOL)
    pooled = replayed(log, plan, engine="vllm", block_size=2, kv_bytes_per_token=10)
    assert (pooled.prefix.hit_tokens, pooled.fleet.moved_tokens) == (8, 8)
    assert pooled.fleet.moved_bytes == 80
    seeds = replace(plan, hash_seeds=HashSeeds.DIFFER)
    alone = replayed(log, seeds, engine="vllm", block_size=2)
    assert (alone.prefix.hit_tokens, alone.fleet.moved_tokens) == (0, 0)
    assert alone.lost.other_replica == 8
    assert "seed" in alone.fleet.sharing_rule


def test_a_broadcast_begins_when_enough_sessions_asked():
    log = [tokens(i, [1, 2, 3, 4, i], session=s) for i, s in enumerate("aabcd")]
    plan = FleetPlan(
        instances=4, router="round-robin", sharing=Sharing.BROADCAST, broadcast_after=2
    )
    rows = Rows()
    result = replayed(log, plan, engine="vllm", block_size=2, rows=rows)
    # The second session asks with the third request, and replicas 0 to 2 computed it by then.
    assert [row["cached_tokens"] for row in rows.rows] == [0, 0, 0, 4, 4]
    assert result.fleet.shared_hit_tokens == 4
    assert (result.fleet.moved_tokens, result.fleet.pinned_tokens) == (4, 4)


def test_the_log_decides_and_must_say_so():
    log = [tokens(i, [1, 2, 3], instance=name) for i, name in enumerate(["x", "y", "x"])]
    result = replayed(log, FleetPlan(instances=None, router="logged"), engine="vllm", block_size=2)
    assert [i.instance for i in result.fleet.per_instance] == ["x", "y"]
    bounded = replayed(
        log,
        FleetPlan(instances=None, router="logged"),
        engine="vllm",
        block_size=2,
        capacity="4blocks",
    )
    assert bounded.fleet.one_cache is None  # how many replicas there are shows at the end
    assert result.prefix.hit_tokens == 2
    with pytest.raises(UsageError, match="names more instances"):
        replayed(log, FleetPlan(instances=1, router="logged"), engine="vllm", block_size=2)
    with pytest.raises(UsageError, match="which instance"):
        replayed([tokens(0, [1])], FleetPlan(instances=None, router="logged"), engine="vllm")


def test_a_cache_that_must_know_the_future_has_no_replicas():
    log = [tokens(i, [i, 1]) for i in range(3)]
    with pytest.raises(UsageError, match="optimal"):
        replayed(
            log,
            FleetPlan(instances=2, router="round-robin"),
            engine="ideal",
            policy="optimal",
            capacity="2blocks",
        )


def reload(at, reach, reason="reload"):
    return Invalidation(at_request=at, reach=reach, reason=reason)


def test_a_reload_that_reaches_all_leaves_nothing_to_hit():
    log = [tokens(i, [1, 2, 3, 4, i]) for i in range(4)]
    plan = FleetPlan(instances=1, router="round-robin", invalidations=[reload(3, None)])
    rows = Rows()
    result = replayed(log, plan, engine="vllm", block_size=2, rows=rows)
    assert [row["cached_tokens"] for row in rows.rows] == [0, 4, 0, 4]
    assert (result.lost.invalidated, result.lost.evicted) == (4, 0)
    found = result.fleet.invalidation
    assert (found.lost_tokens, found.stale_hit_tokens, found.stale_requests) == (4, 0, 0)
    assert [(e.reached, e.before_request) for e in found.events] == [(1, 3)]


def test_a_reload_that_reaches_nobody_leaves_stale_hits_and_what_grows_on_them():
    log = [
        tokens(0, [1, 2, 3]),
        tokens(1, [1, 2, 3, 4, 5]),  # two stale tokens, and a block on top of them
        tokens(2, [1, 2, 3, 4, 6]),  # two stale ones, two inconsistent ones
        tokens(3, [7, 8, 9]),
        tokens(4, [7, 8, 9]),  # computed after the event, on nothing
    ]
    plan = FleetPlan(instances=1, router="round-robin", invalidations=[reload(2, 0)])
    result = replayed(log, plan, engine="vllm", block_size=2)
    found = result.fleet.invalidation
    assert (found.stale_hit_tokens, found.stale_requests) == (4, 2)
    assert found.inconsistent_hit_tokens == 2
    assert (result.prefix.hit_tokens, found.lost_tokens) == (8, 0)


def test_a_pool_carries_stale_kv_to_replicas_that_were_reached():
    log = [tokens(i, [1, 2, 3]) for i in range(4)]
    events = [reload(3, 1)]
    plan = FleetPlan(instances=2, router="round-robin", invalidations=events)
    alone = replayed(log, plan, engine="vllm", block_size=2)
    # Replica 0 computes again with the third request; replica 1 never does.
    assert alone.fleet.invalidation.stale_hit_tokens == 2
    pooled = replayed(log, replace(plan, sharing=Sharing.POOL), engine="vllm", block_size=2)
    assert pooled.fleet.invalidation.stale_hit_tokens == 4


def test_events_have_times_where_the_log_has():
    timed = [tokens(i, [1, 2, 3], arrived_s=10.0 * i) for i in range(4)]
    event = Invalidation(at_s=15.0, reach=None, reason="reload")
    late = Invalidation(at_s=1e9, reach=None, reason="late")
    plan = FleetPlan(instances=1, router="round-robin", invalidations=[late, event])
    found = replayed(timed, plan, engine="vllm", block_size=2).fleet.invalidation
    assert [(e.reason, e.before_request) for e in found.events] == [("reload", 3), ("late", None)]
    with pytest.raises(UsageError, match="arrival times"):
        replayed([tokens(0, [1])], plan, engine="vllm")


@settings(max_examples=30)
@given(
    log=traffic(),
    engine=st.sampled_from(ENGINES),
    capacity=capacities,
    events=st.lists(
        st.builds(reload, st.integers(1, 16), st.sampled_from([None, 0, 1, 2])), max_size=3
    ),
    sharing=st.sampled_from([Sharing.NONE, Sharing.POOL]),
    router=st.sampled_from(ROUTERS),
)
def test_events_lose_stale_and_keep_every_token_in_one_place(
    log, engine, capacity, events, sharing, router
):
    plan = FleetPlan(instances=3, router=router, sharing=sharing, invalidations=events)
    result = replayed(log, plan, engine=engine, capacity=capacity, block_size=2)
    lost, prefix = result.lost, result.prefix
    parts = (lost.first_seen, lost.other_replica, lost.invalidated, lost.evicted, lost.last_block)
    assert sum(parts) == prefix.computed_tokens
    assert min(parts) >= 0
    if not events:
        assert result.fleet.invalidation is None
        return
    found = result.fleet.invalidation
    assert found.stale_hit_tokens + found.inconsistent_hit_tokens <= prefix.hit_tokens
    if all(event.reach is None for event in events):
        assert found.stale_hit_tokens == found.inconsistent_hit_tokens == 0
    if capacity == "inf":
        assert lost.evicted == 0
