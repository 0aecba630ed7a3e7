"""The pytest helper: a builder whose text changes fails the test that names it."""

import random

import pytest

from kvaudit.testing import assert_cache_stable


def stable(name):
    return f"You help {name}."


def unstable():
    return f"You help {random.random()}."


def test_a_stable_builder_passes():
    assert_cache_stable(stable, name="Ada")


def test_an_unstable_one_fails_with_its_cause():
    with pytest.raises(AssertionError, match="random numbers"):
        assert_cache_stable(unstable)


def test_what_cannot_be_called_elsewhere_is_refused():
    with pytest.raises(TypeError, match="imported by another process"):
        assert_cache_stable(lambda: "x")
    with pytest.raises(TypeError, match="not JSON serializable"):
        assert_cache_stable(stable, object())
