"""Where kvaudit keeps what it need not make twice."""

import os
from pathlib import Path

from kvaudit.core.cache_folder import cache_folder


def test_what_the_user_names_comes_first(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_folder() == Path("/x/kvaudit")
    monkeypatch.setenv("KVAUDIT_CACHE_DIR", "/own")
    assert cache_folder() == Path("/own")


def test_a_user_without_a_home_has_none(monkeypatch):
    monkeypatch.delenv("KVAUDIT_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert cache_folder() is None
