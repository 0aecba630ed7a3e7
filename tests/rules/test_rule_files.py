"""Every example in every rule file is a test: bad ones find exactly their marked spans."""

import pytest

from kvaudit.analyzers.check import find_check
from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.reader import all_readers
from kvaudit.analyzers.run import documents_of, lint_document
from kvaudit.core.rulebook import load_rules
from kvaudit.core.sources import Source

RULES = load_rules()
CASES = [pytest.param(r, e, id=f"{r.name}:{e.line}") for r in RULES for e in r.examples]

FILE_OF = {"python": "prompt.py", "typescript": "prompt.ts", "javascript": "prompt.js"}
"""File names for fences whose first word is no suffix of its own."""


class NoProject:
    """A project of one file."""

    def __init__(self):
        self.variables = {}

    def sibling(self, source, name):
        return None

    def module(self, source, dotted):
        return None


def found(rule, example):
    name = example.file or FILE_OF.get(example.language, f"prompt.{example.language}")
    documents = documents_of(Source(name, example.text), NoProject())
    assert documents is not None, f"no reader takes {name}"
    return [f for document in documents for f in lint_document(document, [rule], Profile())]


@pytest.mark.parametrize(("rule", "example"), CASES)
def test_example(rule, example):
    assert sorted({finding.span for finding in found(rule, example)}) == list(example.spans)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_shows_what_is_bad_and_what_to_write_instead(rule):
    assert {example.good for example in rule.examples} == {True, False}
    assert all(bool(example.spans) != example.good for example in rule.examples)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_names_a_check_and_inputs_that_exist(rule):
    assert find_check(rule)
    known = {reader.name for reader in all_readers()} | {"any"}
    assert set(rule.inputs) <= known
