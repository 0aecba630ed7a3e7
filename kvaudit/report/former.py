"""Whether a file holds a result of `kvaudit lint`, so that a later one may take its place."""

from __future__ import annotations

import re

_HEADS = (
    r'\{\s*"schema": \d+,\s*"findings": \[',  # JSON, and baselines
    r'\{\s*"\$schema": "[^"]*sarif[^"]*",\s*"version": "2\.1\.0",\s*"runs": \[\s*\{\s*"tool": \{'
    r'\s*"driver": \{\s*"name": "kvaudit"',
    r'\[\s*(?:\]|\{\s*"check_name": "[^"]*",\s*"description": )',  # GitLab
    r'<testsuites>\s*<testsuite name="kvaudit lint"',
)
_HEAD = re.compile("|".join(_HEADS))
_SUMMARY = re.compile(
    r"(?:^|\n)(?:summary: )?\d[\d,]* files? checked · [^\n]*(?:\n[^\n]*){0,4}\s*\Z"
)
"""The last line of the formats for people, which may be wrapped."""


def is_lint_result(text: str) -> bool:
    """Whether some format of a lint result, or a baseline, looks like this."""
    return _HEAD.match(text) is not None or _SUMMARY.search(text[-400:]) is not None
