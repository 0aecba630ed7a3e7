"""Routers on small cases worked out by hand from their sources."""

from contextlib import nullcontext

import pytest

from kvaudit.core.errors import UsageError
from kvaudit.core.prompts import RequestFacts
from kvaudit.core.quantities import Capacity
from kvaudit.core.requests import Request
from kvaudit.replay.fleet.plan import FleetPlan
from kvaudit.replay.fleet.ring import HashRing
from kvaudit.replay.fleet.router import find_router
from kvaudit.replay.fleet.timeline import Timeline
from kvaudit.replay.models.step_limits import StepLimits
from kvaudit.replay.plan import Plan
from kvaudit.replay.prompts import Prompts
from kvaudit.replay.run import replay_log

A, B, C = ([n * 100 + i for i in range(32)] for n in (1, 2, 3))
"""Three prompts of two blocks that have nothing in common."""
ONE_AT_A_TIME = StepLimits(max_num_seqs=1)


class Places:
    def __init__(self):
        self.of = []

    def write(self, columns):
        self.of += [int(name.removeprefix("replica-")) for name in columns["instance"]]


def routed(router, requests, *, instances, capacity="inf", seed=0, **plan):
    places = Places()
    asked = Plan(
        engine="vllm",
        capacity=Capacity.parse(capacity),
        fleet=FleetPlan(instances=instances, router=router, seed=seed),
        **plan,
    )
    replay_log(Prompts(requests, encoder=None), asked, lambda: nullcontext(places))
    return places.of


def request(i, prompt, *, arrived=None, ended=1000.0, first=0.0, **more):
    at = float(i) if arrived is None else arrived
    return Request(
        id=str(i), token_ids=prompt, arrived_s=at, finished_s=ended, ttft_s=first, **more
    )


def test_round_robin_takes_turns():
    assert routed("round-robin", [request(i, A) for i in range(5)], instances=3) == [0, 1, 2, 0, 1]


def test_least_loaded_goes_where_a_request_has_ended():
    log = [request(0, A), request(1, A, ended=1.5), request(2, A), request(3, A)]
    assert routed("least-loaded", log, instances=3) == [0, 1, 2, 1]


def test_dynamo_weighs_the_prefix_against_what_is_in_use():
    x, again, other, longer = routed(
        "dynamo",
        [request(0, A), request(1, A), request(2, B), request(3, A + list(range(96)))],
        instances=2,
    )
    # Where A is: 0 blocks to prefill + 2 in use = 2; on the other one 2 + 2 = 4.
    assert again == x
    # Where A is: 2 + (2 + 2) = 6, and 2 + 2 = 4 on the idle one.
    assert other != x
    # Six more blocks behind A: 6 + (2 + 6) = 14, and 8 + (2 + 8) = 18.
    assert longer == x


def test_dynamo_counts_prompts_that_wait_for_their_prefill():
    waiting = [request(0, A + B, first=500.0), request(1, A)]
    x, again = routed("dynamo", waiting, instances=2)
    # Where A is: 4 blocks wait, 2 - 2 are left, 4 in use: 8. On the idle one 2 + 2 = 4.
    assert again != x
    x, again = routed("dynamo", [request(0, A + B), request(1, A)], instances=2)
    # Prefilled by then: 0 + 4 in use, and 2 + 2. A tie is drawn; alike log, alike draw.
    assert [x, again] == routed("dynamo", [request(0, A + B), request(1, A)], instances=2)


def test_llm_d_adds_up_three_scores():
    log = [request(0, A), request(1, A), request(2, A)]
    x, again, third = routed("llm-d", log, instances=2, limits=ONE_AT_A_TIME)
    # All of it matches: 3 + 2 + queue 0 against queue 2 + 2.
    assert [x, again, third] == [x] * 3
    # Half of it matches: 1.5 + 2 + queue 0 against queue 2 + 2.
    *_, half = routed("llm-d", [*log, request(3, A + C)], instances=2, limits=ONE_AT_A_TIME)
    assert half != x
    # Nobody waits: 1.5 + 2 + 2 against 2 + 2.
    *_, half = routed("llm-d", [*log, request(3, A + C)], instances=2)
    assert half == x


def test_llm_d_prefers_free_kv():
    log = [request(0, A), request(1, B)]
    places = [routed("llm-d", log, instances=2, seed=seed) for seed in range(8)]
    assert {x == other for x, other in places} == {True, False}  # drawn
    places = [routed("llm-d", log, instances=2, seed=seed, capacity="3blocks") for seed in range(8)]
    assert {x == other for x, other in places} == {False}


def test_aibrix_follows_the_prefix_unless_that_replica_stands_out():
    # Of four replicas with 1, 0, 0, 0 requests the mean is 0.25 and the deviation 0.5.
    x, while_busy = routed("aibrix", [request(0, A), request(1, A)], instances=4)
    assert while_busy != x
    x, when_idle = routed("aibrix", [request(0, A, ended=0.5), request(1, A)], instances=4)
    assert when_idle == x
    # Of two with 1 and 0 the bound is 0.5 + 0.71.
    assert len(set(routed("aibrix", [request(i, A) for i in range(6)], instances=2))) == 1


def test_aibrix_forgets_after_twenty_minutes():
    def last_two_apart(last):
        log = [request(0, A, ended=1.0), request(1, B, arrived=1199.0, ended=9e9)]
        log.append(request(2, A, arrived=last, ended=9e9))
        places = [routed("aibrix", log, instances=2, seed=seed) for seed in range(8)]
        return {other != late for _, other, late in places}

    # Where B happens to have gone where A was, A follows; later it is not matched, and goes
    # to the one without B.
    assert last_two_apart(1200.0) == {True, False}
    assert last_two_apart(1201.0) == {True}


def test_sglang_follows_the_first_owner_until_loads_part():
    log = [request(0, A), request(1, B), request(2, B), request(3, A), request(4, A + B + C)]
    # The last one matches 2 of 6 blocks, more than 0.3.
    assert routed("sglang", log, instances=2) == [0, 1, 1, 0, 0]
    assert routed("sglang", [request(0, A), request(1, A + B + C + C)], instances=2) == [0, 1]
    many = routed("sglang", [request(i, A, arrived=i / 100) for i in range(67)], instances=2)
    # 65 in flight on the first: a difference of more than 64. One more, and it is 64 again.
    assert many == [0] * 65 + [1, 0]


def test_prefix_hash_goes_by_the_beginning_within_the_load_factor():
    long = list(range(256))
    log = [request(i, [*long, i], arrived=float(i), ended=i + 0.5) for i in range(6)]
    assert len(set(routed("prefix-hash", log, instances=5))) == 1
    own, second, third = routed(
        "prefix-hash", [request(i, [*long, i]) for i in range(3)], instances=2
    )
    # One in flight: at most 2 / 2 * 1.25. Two: at most 1.875.
    assert [second, third] == [own, 1 - own]


def test_session_affinity_takes_the_user_where_there_is_no_session():
    log = [request(i, A, user="u") for i in range(6)]
    assert len(set(routed("session-affinity", log, instances=5))) == 1
    log = [request(i, A) for i in range(40)]
    assert len(set(routed("session-affinity", log, instances=3))) == 3


def test_few_keys_move_when_a_replica_is_added():
    keys = [str(n).encode() for n in range(2000)]
    before, after = HashRing(4), HashRing(5)
    moved = [key for key in keys if before.replica(key) != after.replica(key)]
    assert all(after.replica(key) == 4 for key in moved)
    assert 0.1 < len(moved) / len(keys) < 0.35


def facts(**known):
    nothing = dict.fromkeys(RequestFacts._fields)
    return RequestFacts(**{**nothing, "id": "r", **known})


def test_moments_are_logged_guessed_or_counted_in_tokens():
    logged = Timeline(2)
    assert logged.span(facts(arrived_s=5.0, finished_s=9.0, ttft_s=1.0), 10, 10) == (5, 6, 9)
    assert logged.basis() == "from arrived_s to finished_s, as logged"
    guessed = Timeline(2)
    assert guessed.span(facts(arrived_s=5.0), 20_000, 40) == (5, 7, 8)
    assert "guess" in guessed.basis()
    counted = Timeline(2)
    assert counted.span(facts(), 30, 10) == (0, 30, 40)
    assert counted.span(facts(), 30, 10) == (20, 50, 60)
    assert "no arrival times" in counted.basis()
    mixed = Timeline(2)
    mixed.span(facts(arrived_s=1.0), 10, 10)
    mixed.span(facts(arrived_s=1.0, finished_s=2.0), 10, 10)
    assert "1 of 2 requests" in mixed.basis()


def test_an_unknown_router_is_named_with_the_nearest():
    with pytest.raises(UsageError, match="round-robin"):
        find_router("roundrobin")
