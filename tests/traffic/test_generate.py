"""Made logs: the same for a plan, in order, and consistent in themselves."""

import hashlib
import json
from itertools import pairwise

import pytest

from kvaudit.core.errors import UsageError
from kvaudit.core.requests import Request, Status
from kvaudit.traffic.generate import TrafficPlan, generate

PLAN = TrafficPlan(seed=1, requests=600)
FIELDS = (
    "id", "arrived_s", "finished_s", "tenant", "session", "parent", "messages", "tools",
    "response", "prompt_tokens", "cached_tokens", "instance",
)  # fmt: skip


@pytest.fixture(scope="module")
def log() -> list[Request]:
    return list(generate(PLAN))


def digest(requests: list[Request]) -> str:
    rows = [[getattr(request, name) for name in FIELDS] for request in requests]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def test_a_plan_gives_the_same_bytes_here_and_everywhere(log):
    # Changes with every deliberate change of the generator, and must not change otherwise.
    assert digest(log) == "8a5345c284bbcb6b0bed4023ae8872517b12244b3809cf7e908d659894e51103"


def test_another_seed_gives_another_log(log):
    other = list(generate(TrafficPlan(seed=2, requests=600)))
    assert digest(other) != digest(log)


def test_a_longer_log_begins_with_the_shorter_one(log):
    assert digest(list(generate(TrafficPlan(seed=1, requests=200)))) == digest(log[:200])


def test_requests_stand_in_order_of_arrival_under_unique_ids(log):
    assert len(log) == 600
    assert all(a.arrived_s <= b.arrived_s for a, b in pairwise(log))
    assert len({r.id for r in log}) == 600


def test_a_request_comes_after_its_parent_was_answered_and_carries_on_from_it(log):
    by_id = {r.id: r for r in log}
    children = [r for r in log if r.parent]
    assert len(children) > 200
    for child in children:
        parent = by_id[child.parent]
        assert parent.session == child.session
        assert parent.finished_s < child.arrived_s
        assert child.messages[: len(parent.messages)] == parent.messages
        assert child.messages[len(parent.messages)]["content"] == parent.response


def test_what_the_service_reports_is_possible(log):
    assert all(r.status is Status.OK for r in log)
    assert all(0 <= r.cached_tokens < r.prompt_tokens for r in log)
    assert all(r.cached_tokens == 0 or r.cached_tokens >= 1024 for r in log)
    assert 0.3 < sum(r.cached_tokens for r in log) / sum(r.prompt_tokens for r in log) < 0.9


def test_every_workload_and_language_is_in_it(log):
    systems = {r.messages[0]["content"] for r in log}
    assert {r.model for r in log} == {"shop-chat-large", "shop-chat-small", "shop-agent"}
    assert {r.tenant for r in log} == {f"tenant-{n}" for n in range(1, 5)}
    assert any("客服" in text for text in systems)
    assert any(r.tools for r in log)
    assert any(m["role"] == "tool" for r in log for m in r.messages)


def test_texts_do_not_repeat(log):
    answers = [r.response for r in log if r.model == "shop-chat-large"]
    assert len(set(answers)) == len(answers)


def test_an_unknown_workload_is_named():
    with pytest.raises(UsageError, match="no workload 'chess'; known: agent, extraction"):
        next(generate(TrafficPlan(workloads=("chess",))))
