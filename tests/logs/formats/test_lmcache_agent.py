"""LMCache agent rows."""

import pytest

from kvaudit.core.requests import Request
from kvaudit.logs.format import BadRecord

ROW = {"timestamp": 1760428436442742, "input": "a prompt", "output": "an answer", "session_id": "s"}


def test_microseconds_and_text(parse):
    assert parse("lmcache_agent", ROW).requests == [
        Request(id="", arrived_s=1760428436.442742, session="s", prompt="a prompt",
                response="an answer")
    ]  # fmt: skip


def test_a_row_needs_its_prompt(parse):
    with pytest.raises(BadRecord, match="input"):
        parse("lmcache_agent", ROW | {"input": None})
    with pytest.raises(BadRecord, match="input"):
        parse("lmcache_agent", ROW | {"input": ["a"]})
