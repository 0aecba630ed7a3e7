"""JSON in a text: how two spellings of it differ, and one spelling for all."""

import json

import pytest

from kvaudit.analyzers.divergence.json_texts import json_texts, reordered, what_differs
from kvaudit.analyzers.divergence.repairs.one_form import OneToolOrder
from kvaudit.analyzers.divergence.repairs.one_tool_set import OneToolSet
from kvaudit.core.requests import Request
from kvaudit.core.why import Cause

TOOLS = [
    {"name": f"tool_{n}", "description": f"Looks up what box {n} holds.", "limit": n}
    for n in range(3)
]
BACK = [dict(reversed(tool.items())) for tool in TOOLS]


def prompt(tools, *, indent=None):
    return f"You have [two] tools:\n{json.dumps(tools, indent=indent)}\n\nAnswer in one word."


def lines(tools):
    return "<tools>\n{}\n</tools>\n\nAnswer.".format("\n".join(map(json.dumps, tools)))


def parting(one, other):
    return next(n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)


@pytest.mark.parametrize(
    ("tools", "cause"),
    [
        (BACK, Cause.JSON_KEY_ORDER),
        (TOOLS[::-1], Cause.TOOL_ORDER),
        (TOOLS[1:], Cause.TOOL_SET),
        ([{"name": "other", "description": "Looks up quite another thing, and says so."}], None),
    ],
)
def test_what_differs_is_told_from_the_values(tools, cause):
    one, other = prompt(TOOLS), prompt(tools)
    assert what_differs(other, one, parting(other, one)) == cause


@pytest.mark.parametrize(
    ("tools", "cause"),
    [
        (BACK, Cause.JSON_KEY_ORDER),
        (TOOLS[::-1], Cause.TOOL_ORDER),
        (TOOLS[1:], Cause.TOOL_SET),
        (TOOLS[:2], Cause.TOOL_SET),
        (TOOLS[:1], Cause.TOOL_SET),
    ],
)
def test_tools_that_follow_one_another_are_a_list(tools, cause):
    one, other = lines(TOOLS), lines(tools)
    assert what_differs(other, one, parting(other, one)) == cause


def test_records_that_follow_one_another_are_no_tools():
    text = "\n".join(json.dumps({"name": f"Ada {n}", "city": "x" * 60}) for n in range(3))
    assert len(json_texts(text)) == 3


def test_tools_that_follow_one_another_are_sent_in_one_order():
    repair = OneToolOrder(keys=False)
    for tools, mended in ((TOOLS, TOOLS), (TOOLS[::-1], TOOLS), (BACK[1:][::-1], BACK[1:])):
        assert repair.mend(Request(id="a", prompt=lines(tools))).prompt == lines(mended)


def test_the_keys_of_tools_that_follow_one_another_are_sent_in_one_order():
    repair = OneToolOrder(keys=True)
    for tools, mended in ((TOOLS, TOOLS), (BACK[:2], TOOLS[:2]), (BACK[::-1], TOOLS[::-1])):
        assert repair.mend(Request(id="a", prompt=lines(tools))).prompt == lines(mended)


def test_all_tools_are_sent_where_they_follow_one_another():
    sets = {"How are you?": TOOLS[:2], "Where is it?": TOOLS[1:], "Why?": TOOLS}
    requests = [Request(id="a", prompt=f"{lines(sets[asked])}\n{asked}") for asked in sets]
    repair = OneToolSet(lambda: requests)
    mended = [repair.mend(request).prompt for request in requests]
    assert mended == [f"{lines(TOOLS)}\n{asked}" for asked in sets]


def test_a_parting_outside_of_the_value_is_none_of_its():
    one, other = prompt(TOOLS), f"{prompt(BACK)[:20]}!{prompt(BACK)[20:]}"
    assert what_differs(other, one, 20) is None


def test_what_is_no_json_or_short_is_no_value():
    assert json_texts("a [b] {c: d} [1, 2]" + " [x" * 100) == ()


@pytest.mark.parametrize("keys", [False, True])
def test_one_order_is_that_which_was_met_first(keys):
    repair = OneToolOrder(keys=keys)
    first = Request(id="a", prompt=prompt(TOOLS, indent=2))
    assert repair.mend(first) is first or repair.mend(first).prompt == first.prompt
    for tools in (BACK, TOOLS[::-1]):
        assert repair.mend(Request(id="b", prompt=prompt(tools))).prompt == first.prompt


@pytest.mark.parametrize(("tools", "found"), [(BACK, True), (TOOLS[::-1], True), (TOOLS, False)])
def test_a_value_in_other_bytes_is_found_wherever_it_stands(tools, found):
    assert reordered(f"It is 09:31.\n{prompt(tools)}", prompt(TOOLS)) is found
