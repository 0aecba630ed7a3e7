"""Planted faults: where they say, as often as they say, and nothing else."""

import pytest

from kvaudit.core.errors import UsageError
from kvaudit.core.requests import Request
from kvaudit.traffic.fault import Planted
from kvaudit.traffic.generate import TrafficPlan, generate
from kvaudit.traffic.registry import all_faults

PLAN = {"seed": 3, "requests": 240}
PROMPT = ("messages", "tools")
# What the service says about a request follows from its prompt, so it may differ as well.
FOLLOWS = ("prompt_tokens", "cached_tokens", "ttft_s", "finished_s")


def make(*faults: Planted) -> list[Request]:
    return list(generate(TrafficPlan(**PLAN, faults=faults)))


@pytest.fixture(scope="module")
def clean() -> list[Request]:
    return make()


def fields(request: Request, without: tuple[str, ...]) -> dict[str, object]:
    return {n: getattr(request, n) for n in request.__slots__ if n not in without}


def prompt(request: Request) -> str:
    # repr and not ==: dictionaries that differ in the order of their keys are equal.
    return repr((request.messages, request.tools))


@pytest.mark.parametrize("name", all_faults())
def test_a_fault_changes_prompts_and_nothing_else(name, clean):
    faulty = make(Planted(fault=name))
    unchanged = PROMPT + FOLLOWS
    assert [fields(r, unchanged) for r in faulty] == [fields(r, unchanged) for r in clean]
    assert any(prompt(a) != prompt(b) for a, b in zip(clean, faulty, strict=True))


@pytest.mark.parametrize("name", all_faults())
def test_a_fault_stands_where_it_says(name, clean):
    position = all_faults()[name].position
    for before, after in zip(clean, make(Planted(fault=name)), strict=True):
        if position != "tools":
            assert repr(before.tools) == repr(after.tools)
        if position == "tools":
            assert before.messages == after.messages
        if position == "system":
            # Passages moved before the instructions leave the newest message.
            moved = name == "retrieved-context-first"
            assert before.messages[1:-1] == after.messages[1:-1]
            assert moved or before.messages[1:] == after.messages[1:]
        if position == "fewshot":
            assert before.messages[-1] == after.messages[-1]


def test_a_share_is_the_share_of_the_requests(clean):
    half = make(Planted(fault="sub-day-clock", share=0.5))
    changed = sum(prompt(a) != prompt(b) for a, b in zip(clean, half, strict=True))
    assert 0.4 < changed / len(clean) < 0.6


def test_a_fault_of_one_workload_leaves_the_others_alone(clean):
    faulty = make(Planted(fault="sub-day-clock", workload="agent"))
    changed = {b.model for a, b in zip(clean, faulty, strict=True) if prompt(a) != prompt(b)}
    assert changed == {"shop-agent"}


def test_two_faults_do_not_disturb_each_other(clean):
    def clocks(log: list[Request]) -> list[bool]:
        return ["Current time" in r.messages[0]["content"] for r in log]

    alone = make(Planted(fault="clock-at-the-end", share=0.3))
    both = make(Planted(fault="clock-at-the-end", share=0.3), Planted(fault="random-id", share=0.7))
    assert clocks(alone) == clocks(both)


def test_of_two_faults_in_front_of_the_instructions_neither_replaces_the_other():
    counter, trace = Planted(fault="counter", share=0.5), Planted(fault="random-id", share=0.5)

    def firsts(log: list[Request], word: str) -> list[str]:
        texts = [r.messages[0]["content"] for r in log]
        return [line for text in texts for line in text.split("\n") if line.startswith(word)]

    both = make(counter, trace)
    assert firsts(both, "Request number") == firsts(make(counter), "Request number")
    assert firsts(both, "Trace") == firsts(make(trace), "Trace")


def test_an_unknown_fault_is_named():
    with pytest.raises(UsageError, match="no fault 'tool-orders'; did you mean tool-order"):
        next(generate(TrafficPlan(faults=(Planted(fault="tool-orders"),))))
