"""Copilot sessions."""

import pytest

from kvaudit.logs.format import BadRecord

CALL = {
    "timestamp": "2026-06-01T00:00:00Z",
    "duration_ms": 900.0,
    "model": "Model A",
    "tokens": {"prompt": 1300, "completion": 2, "cached": 1152, "total": 1302},
}
ROW = {
    "session_id": "x",
    "date": "2026-06-01",
    "turns": [{"turn_id": "t", "llm_calls": [CALL]}, {"turn_id": "u", "llm_calls": [CALL, CALL]}],
}


def test_every_model_call_is_a_request(parse):
    requests = parse("copilot", ROW).requests
    assert [(r.id, r.parent) for r in requests] == [("x/0", None), ("x/1", "x/0"), ("x/2", "x/1")]
    first = requests[0]
    assert (first.prompt_tokens, first.output_tokens, first.cached_tokens) == (1300, 2, 1152)
    assert first.finished_s - first.arrived_s == pytest.approx(0.9)
    assert first.model == "Model A"


def test_a_session_needs_turns(parse):
    with pytest.raises(BadRecord, match="turns"):
        parse("copilot", ROW | {"turns": None})
    with pytest.raises(BadRecord, match="llm_calls"):
        parse("copilot", ROW | {"turns": [{"llm_calls": [3]}]})
