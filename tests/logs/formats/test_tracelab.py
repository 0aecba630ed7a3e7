"""TraceLab rounds."""

import pytest

from kvaudit.logs.format import BadRecord

ROW = {
    "provider": "codex",
    "session_id": "codex:a6",
    "round_id": "r0",
    "model": "gpt-5.4",
    "input_tokens_total": 9324,
    "prefix_tokens": 6912,
    "newly_append_tokens": 2412,
    "output_tokens": 444,
    "timing_events": [
        {"event_type": "tool_result", "timestamp": "2026-06-01T05:41:17.000Z"},
        {"event_type": "tool_result", "timestamp": "2026-06-01T05:41:18.500Z"},
        {"event_type": "reasoning", "timestamp": "2026-06-01T05:41:25.000Z"},
        {"event_type": "text", "timestamp": "2026-06-01T05:41:27.000Z"},
        {"event_type": "tool_result", "timestamp": "2026-06-01T05:41:30.000Z"},
    ],
}


def test_counts_of_a_round(parse):
    first, second = parse("tracelab", ROW, ROW | {"round_id": "r1"}).requests
    assert (first.prompt_tokens, first.cached_tokens, first.output_tokens) == (9324, 6912, 444)
    assert (first.id, second.parent) == ("r0", "r0")
    assert first.model == "gpt-5.4"
    assert not first.has_prompt


def test_a_round_begins_with_its_last_input_and_ends_with_its_last_output(parse):
    (request,) = parse("tracelab", ROW).requests
    assert request.finished_s - request.arrived_s == 8.5


def test_events_need_a_type(parse):
    with pytest.raises(BadRecord, match="timing_events"):
        parse("tracelab", ROW | {"timing_events": [{"timestamp": "2026-06-01T05:41:17.000Z"}]})
