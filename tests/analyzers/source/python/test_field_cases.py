"""Snippets of real incidents: the rule that each is known for finds it."""

import json

import pytest

from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.run import documents_of, lint_document
from kvaudit.core.rulebook import load_rules
from kvaudit.core.sources import Source

from .reading import Files

CASES = ["C06", "C13", "C19", "C30", "C32", "C36", "C42", "C51", "C54", "C60", "C61", "C86"]


@pytest.mark.parametrize("case", CASES)
def test_a_python_field_case_is_found_by_its_rule(case, shared_data):
    rows = map(json.loads, (shared_data / "lint_cases.jsonl").read_text("utf-8").splitlines())
    row = next(row for row in rows if row["id"] == case)
    source = Source(row["file"], row["snippet"])
    found = {
        finding.code
        for document in documents_of(source, Files())
        for finding in lint_document(document, load_rules(), Profile())
    }
    assert row["rules"][0] in found
