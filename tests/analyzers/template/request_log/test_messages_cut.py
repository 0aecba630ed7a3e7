"""How many messages were cut off in front, where what is left may be written anew."""

import pytest

from kvaudit.analyzers.template.request_log.cuts import messages_cut
from kvaudit.analyzers.template.request_log.request import Message

WHOLE = [("user", "go"), *((("assistant", "tool")[n % 2], f"step {n}") for n in range(8))]


def messages(turns):
    return [Message(role=role, path=(), said=said) for role, said in turns]


def anew(turns, *places):
    return [(role, "cut" if n in places else said) for n, (role, said) in enumerate(turns)]


@pytest.mark.parametrize(
    ("left", "cut"),
    [
        (WHOLE[3:], 3),
        (anew(WHOLE[3:], 0), 3),
        (anew(WHOLE[3:], 0, 2), 3),
        (anew(WHOLE[3:], 0, 1, 2, 3), 0),
        (anew(WHOLE, 2, 4), 0),
        ([("user", "all is well"), *WHOLE[4:]], 4),
        ([("user", "all is well"), *WHOLE[1:]], 0),
        ([("user", "another"), ("assistant", "answer"), *WHOLE[4:]], 0),
    ],
)
def test_messages_that_are_left_stand_as_they_did(left, cut):
    at = next(n for n, pair in enumerate(zip(WHOLE, left, strict=False)) if pair[0] != pair[1])
    assert messages_cut(messages(WHOLE), messages(left), at) == cut
