"""Files in which a finding is information only: no user's prompt is built in a test.

Nor in an example, an evaluation or a migration, which are started by hand and ask once.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_OF_TESTS = frozenset({
    "__fixtures__", "__mocks__", "__snapshots__", "__tests__", "bench", "benches", "benchmark",
    "benchmarks", "e2e", "fixture", "fixtures", "mock", "mocks", "snapshots", "spec", "specs",
    "test", "test_data", "testdata", "testing", "tests",
})  # fmt: skip
_FOLDERS = _OF_TESTS | {
    "cookbook", "cookbooks", "demo", "demos", "doc", "docs", "documentation", "eval", "evals",
    "evaluation", "evaluations", "example", "examples", "experiments", "migrations", "notebook",
    "notebooks", "sample", "samples", "tutorial", "tutorials",
}  # fmt: skip
_FOLDER = re.compile(
    r"(unit|integ(ration)?|e2e|functional|acceptance|smoke|api)[_-]?tests?|tests?[_-]\w+"
)
# Of code only: a template called test_plan.j2 is a prompt that plans tests.
_FILE = re.compile(
    r"(test_.*|tests?|conftest|bench(mark)?_.*|.*[._-](tests?|spec|bench|benchmark|e2e|stories))"
    r"\.(py|[cm]?[jt]sx?|go|rs|ipynb)|.*\.ipynb"
)


def low_stakes(path: str) -> bool:
    """Whether a file, by its path in the project, is a test, an example, a script or a page."""
    return _stands_in(path, _FOLDERS)


def of_test(path: str) -> bool:
    """Whether a file is a test or what tests are given: an example is copied, and these are not."""
    return _stands_in(path, _OF_TESTS) and not path.lower().endswith(".ipynb")


def _stands_in(path: str, folders: frozenset[str]) -> bool:
    parts = [part.lower() for part in PurePosixPath(path).parts]
    if not parts:
        return False
    if any(part in folders or _FOLDER.fullmatch(part) for part in parts[:-1]):
        return True
    return _FILE.fullmatch(parts[-1]) is not None
