"""Snippets of real incidents in JSON, JSONL and YAML: the rule each is known for finds it."""

import json

import pytest

from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.run import documents_of, lint_document
from kvaudit.core.rulebook import load_rules
from kvaudit.core.sources import Source

CASES = ["C22", "C23", "C25", "C29", "C33", "C35", "C37", "C41", "C56"]


class NoProject:
    """A project of one file."""

    def __init__(self):
        self.variables = {}

    def sibling(self, source, name):
        return None

    def module(self, source, dotted):
        return None


@pytest.mark.parametrize("case", CASES)
def test_a_field_case_is_found_by_its_rule(case, shared_data):
    rows = map(json.loads, (shared_data / "lint_cases.jsonl").read_text("utf-8").splitlines())
    row = next(row for row in rows if row["id"] == case)
    documents = documents_of(Source(row["file"], row["snippet"]), NoProject())
    found = {f.code for d in documents for f in lint_document(d, load_rules(), Profile())}
    assert row["rules"][0] in found
