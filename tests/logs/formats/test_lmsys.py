"""LMSYS-Chat-1M and WildChat rows."""

from datetime import UTC, datetime

import pytest

from kvaudit.logs.format import BadRecord

LMSYS = {
    "conversation_id": "33f01939",
    "model": "vicuna-33b",
    "conversation": [
        {"role": "user", "content": "how do I start?"},
        {"role": "assistant", "content": "Begin."},
    ],
    "turn": 1,
    "language": "English",
}
WILDCHAT = {
    "conversation_hash": "cf1267ca",
    "model": "gpt-4",
    "timestamp": datetime(2023, 4, 9, 0, 2, 53, tzinfo=UTC),
    "hashed_ip": "a-user",
    "conversation": [
        {"role": "user", "content": "Hey", "timestamp": None},
        {"role": "assistant", "content": "Hello", "timestamp": "2023-04-09T00:01:00+00:00"},
        {"role": "user", "content": "Bye", "timestamp": None},
        {"role": "assistant", "content": "Goodbye", "timestamp": None},
    ],
}


def test_lmsys_has_text_and_no_times(parse):
    (request,) = parse("lmsys", LMSYS).requests
    assert (request.id, request.session, request.model) == ("33f01939/1", "33f01939", "vicuna-33b")
    assert request.messages == [{"role": "user", "content": "how do I start?"}]
    assert request.response == "Begin."
    assert request.arrived_s is None


def test_wildchat_names_the_user_and_stamps_turns(parse):
    first, second = parse("lmsys", WILDCHAT).requests
    assert first.user == second.user == "a-user"
    assert first.arrived_s == datetime(2023, 4, 9, 0, 1, tzinfo=UTC).timestamp()
    assert second.arrived_s == datetime(2023, 4, 9, 0, 2, 53, tzinfo=UTC).timestamp()
    assert second.parent == first.id


def test_turns_need_a_role(parse):
    with pytest.raises(BadRecord, match="role"):
        parse("lmsys", LMSYS | {"conversation": [{"content": "?"}]})
    with pytest.raises(BadRecord, match="conversation"):
        parse("lmsys", LMSYS | {"conversation": None})
