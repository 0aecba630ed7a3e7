"""The user's function in its own process: what it may give, and how it may fail."""

import pytest

from kvaudit.core.errors import InputError, UsageError
from kvaudit.core.foreign import ForeignFunction, is_function

MODULE = """
import time
print("hello")
def near(a, b):
    print("noise")
    return a.lower() == b.lower()
def share(a, b):
    return 0.25
def digest(a, b):
    return bytes([int(a), int(b)])
def slow(a, b):
    time.sleep(30)
def broken(a, b):
    raise RuntimeError("no index")
def odd(a, b):
    return [a]
async def later(a, b):
    return a == b
def reads(a, b):
    import sys
    return sys.stdin.read() or "nothing"
def dies(a, b):
    import os
    os._exit(1)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_cache.py").write_text(MODULE)


@pytest.mark.parametrize("name", ["own_cache:near", "own_cache.py:near"])
def test_it_is_called_again_and_again(module, name):
    with ForeignFunction(name) as near:
        assert [near("A", "a"), near("A", "b"), near("ä", "Ä")] == [True, False, True]


def test_numbers_come_back(module):
    with ForeignFunction("own_cache:share") as share:
        assert share("a", "b") == 0.25


def test_a_coroutine_is_waited_for(module):
    with ForeignFunction("own_cache:later") as later:
        assert [later("a", "a"), later("a", "b")] == [True, False]


def test_calls_are_no_standard_input(module):
    with ForeignFunction("own_cache:reads", limit_s=10) as reads:
        assert [reads("a", "b"), reads("a", "b")] == ["nothing", "nothing"]


def test_different_bytes_stay_different(module):
    with ForeignFunction("own_cache:digest") as digest:
        assert len({digest(*pair) for pair in (("255", "1"), ("254", "1"), ("97", "1"))}) == 3
        assert digest("97", "98") == "ab"


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("broken", "RuntimeError: no index"),
        ("odd", "gives list"),
        ("dies", "ended without an answer"),
        ("absent", "has no attribute"),
    ],
)
def test_failures_are_sentences(module, function, says):
    with ForeignFunction(f"own_cache:{function}") as called, pytest.raises(InputError, match=says):
        called("a", "b")


def test_a_call_has_a_time_limit(module):
    with (
        ForeignFunction("own_cache:slow", limit_s=1.5) as slow,
        pytest.raises(InputError, match=r"took more than 1\.5 s"),
    ):
        slow("a", "b")


def test_what_is_no_name(module):
    assert not is_function("plain")
    assert not is_function("module:not-a-name")
    with pytest.raises(UsageError, match="MODULE:FUNCTION"):
        ForeignFunction("plain")
    with pytest.raises(UsageError, match="is no file"):
        ForeignFunction("absent.py:function")
