"""The logs on which linters of this kind go wrong: how much each fault costs, in plain text.

Sharing is counted by definition, in characters: what a prompt has in common, from its start,
with any earlier one of its tenant.
"""

import json
from collections import defaultdict
from os.path import commonprefix

import pytest

from kvaudit.core.requests import Request
from kvaudit.traffic.fault import Planted
from kvaudit.traffic.generate import TrafficPlan, generate


def text(request: Request) -> str:
    tools = json.dumps(request.tools) if request.tools else ""
    return tools + "".join(f"<{m['role']}>{m['content']}" for m in request.messages)


def shared_characters(a: str, b: str) -> int:
    return len(commonprefix([a, b]))  # noqa: RUF071 - characters are what is meant


def shared(workload: str, *faults: Planted, tenants: int = 1, requests: int = 60) -> float:
    """Return the share of the prompts' characters that an endless cache would reuse."""
    plan = TrafficPlan(
        seed=5, requests=requests, workloads=(workload,), tenants=tenants, faults=faults
    )
    earlier: dict[str, list[str]] = defaultdict(list)
    hits = total = 0
    for request in generate(plan):
        prompt = text(request)
        before = earlier[request.tenant]
        hits += max((shared_characters(prompt, other) for other in before), default=0)
        total += len(prompt)
        before.append(prompt)
    return hits / total


@pytest.mark.parametrize("tenants", [1, 2])
def test_sound_conversations_share_nearly_all(tenants):
    assert shared("support", tenants=tenants) > 0.85


@pytest.mark.parametrize("fault", ["sub-day-clock", "random-id", "identity", "user-text-first"])
def test_what_changes_at_the_top_costs_nearly_all(fault):
    # Not all: now and then two requests come within the same second.
    assert shared("labelling", Planted(fault=fault)) < 0.2


def test_the_same_clock_at_the_end_costs_little():
    assert shared("labelling", Planted(fault="clock-at-the-end")) > 0.85


def test_a_calendar_date_costs_nothing_within_its_day():
    assert shared("labelling", Planted(fault="calendar-date")) == pytest.approx(
        shared("labelling"), abs=0.01
    )


@pytest.mark.parametrize("workload", ["labelling", "extraction"])
def test_shuffled_examples_cost_what_stands_after_the_first(workload):
    assert 0.2 < shared(workload, Planted(fault="shuffled-examples")) < 0.8
    assert shared(workload) > 0.85


@pytest.mark.parametrize("fault", ["tool-order", "json-key-order"])
def test_unstable_tools_cost_what_stands_after_them(fault):
    assert shared("agent", Planted(fault=fault)) < 0.3
    assert shared("agent") > 0.85


def test_passages_before_the_instructions_cost_the_instructions():
    moved = shared("retrieval", Planted(fault="retrieved-context-first"))
    assert moved < shared("retrieval") - 0.2


def test_two_spellings_of_one_template_share_all_but_once_each():
    halves = shared("labelling", Planted(fault="whitespace-drift", share=0.5), requests=200)
    assert halves > 0.9
