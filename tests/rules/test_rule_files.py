"""Every example in every rule file is a test: bad ones find exactly their marked spans."""

import pytest

from kvaudit.analyzers.examples import found_in
from kvaudit.analyzers.fixing import applied
from kvaudit.core.rulebook import load_rules

RULES = load_rules()
CASES = [pytest.param(r, e, id=f"{r.name}:{e.line}") for r in RULES for e in r.examples]


@pytest.mark.parametrize(("rule", "example"), CASES)
def test_example(rule, example):
    found = found_in(rule, example, RULES)
    assert sorted({finding.span for finding in found}) == list(example.spans)
    if example.fixed is not None:
        assert applied(example.text, found) == example.fixed


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_shows_what_is_bad_and_what_to_write_instead(rule):
    assert {example.good for example in rule.examples} == {True, False}
    assert all(bool(example.spans) != example.good for example in rule.examples)
