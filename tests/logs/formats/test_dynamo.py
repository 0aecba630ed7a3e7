"""Dynamo's request trace and agentic Mooncake files."""

import pytest

from kvaudit.logs.format import BadRecord


def trace(name, session, **request):
    return {
        "schema": "dynamo.request.trace.v1",
        "event_type": "request_end",
        "event_time_unix_ms": 1010,
        "agent_context": {"session_id": session},
        "request": {
            "request_id": name,
            "output_tokens": 2,
            "request_received_ms": 1000,
            "total_time_ms": 10,
            "replay": {
                "trace_block_size": 64,
                "input_length": 130,
                "input_sequence_hashes": [401, 2**64 - 1, 403],
            },
        }
        | request,
    }


HEADER = {"schema": "dynamo.agentic_mooncake", "version": 2, "block_size": 4,
          "hash_id_scope": "local"}  # fmt: skip


def agentic(name, session, *waits):
    return {
        "request_id": name,
        "play_id": "play",
        "session_id": session,
        "model": "m",
        "input_length": 4,
        "output_length": 2,
        "hash_ids": [301],
        "not_before_ms": 0,
        "dependencies": [
            {"request_id": other, "trigger": "completion", "delay_ms": delay, "relation": relation}
            for other, relation, delay in waits
        ],
    }


def test_the_end_of_a_request_is_the_request(parse):
    first, second = parse(
        "dynamo", trace("q1", "s", ttft_ms=3, cached_tokens=64), trace("q2", "s")
    ).requests
    assert (first.id, first.session, first.parent) == ("q1", "s", None)
    assert second.parent == "q1"
    assert (first.arrived_s, first.finished_s, first.ttft_s) == (1.0, 1.01, 0.003)
    assert (first.prompt_tokens, first.output_tokens, first.cached_tokens) == (130, 2, 64)
    assert list(first.block_ids) == [401, -1, 403]
    assert first.block_tokens == 64
    assert first.block_scope is None


def test_other_events_are_counted(parse):
    parsed = parse(
        "dynamo",
        {"event_type": "request_payload", "request_id": "q1"},
        {"schema": "dynamo.request.trace.v1", "event_type": "tool_end", "tool": {}},
    )
    assert parsed.requests == []
    assert sum(parsed.skipped.values()) == 2


def test_an_agentic_file_is_placed_by_what_each_request_waits_for(parse):
    parsed = parse(
        "dynamo",
        HEADER,
        agentic("root", "main"),
        agentic("child", "sub", ("root", "spawn", 5)),
        agentic("join", "main", ("root", "sequence", 1), ("child", "join", 2)),
    )
    root, child, join = parsed.requests
    assert (root.arrived_s, child.arrived_s) == (0.0, 0.005)
    assert join.arrived_s == pytest.approx(0.007)
    assert [r.parent for r in (root, child, join)] == [None, None, "root"]
    assert {r.block_scope for r in parsed.requests} == {"play"}
    assert {r.block_tokens for r in parsed.requests} == {4}
    assert parsed.skipped == {"header line": 1}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"schema": "dynamo.request.trace.v1"}, "event_type"),
        (trace("q", "s") | {"request": None}, "request is missing"),
        (agentic("q", "s") | {"request_id": None}, "request_id"),
        (agentic("q", "s") | {"dependencies": [1]}, "dependencies"),
    ],
)
def test_a_row_that_cannot_be_understood_says_why(parse, row, reason):
    with pytest.raises(BadRecord, match=reason):
        parse("dynamo", row)
