"""The memo never lies, and never holds more than it may."""

from sys import getsizeof

from hypothesis import given
from hypothesis import strategies as st

from kvaudit.tokens.memo import Memo

uses = st.lists(st.integers(0, 12), max_size=80)


def ids_of(number):
    return bytes([number]) * (number * 4)


@given(uses, st.integers(0, 4000))
def test_what_it_remembers_is_what_was_put(numbers, capacity):
    memo = Memo(capacity)
    for number in numbers:
        remembered = memo.get(f"text {number}")
        assert remembered in (None, ids_of(number))
        if remembered is None:
            memo.put(f"text {number}", ids_of(number))
        held = {**memo._old, **memo._young}
        assert sum(getsizeof(text) + getsizeof(ids) for text, ids in held.items()) <= capacity


def test_what_is_used_again_and_again_stays():
    memo = Memo(20_000)
    memo.put("system prompt", b"ids")
    for number in range(1000):
        memo.put(f"new {number}", b"12345678" * 10)
        assert memo.get("system prompt") == b"ids"
    assert memo.get("new 0") is None


def test_something_larger_than_half_the_memo_is_not_kept():
    memo = Memo(1000)
    memo.put("small", b"1")
    memo.put("large", bytes(600))
    assert memo.get("large") is None
    assert memo.get("small") == b"1"


def test_the_young_generation_can_be_asked_directly():
    memo = Memo(2000)
    for number in range(100):
        memo.put(f"text {number}", ids_of(1))
        assert memo.get_young(f"text {number}") == ids_of(1)
