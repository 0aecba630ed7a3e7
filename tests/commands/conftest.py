"""Every command is tried where no setting comes from outside."""

import os

import pytest


@pytest.fixture(autouse=True)
def _isolated(monkeypatch, tmp_path):
    """No setting from outside, and paths as short as a user's."""
    for name in [n for n in os.environ if n.startswith("KVAUDIT_") or n == "GITHUB_ACTIONS"]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
