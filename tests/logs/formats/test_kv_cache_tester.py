"""WEKA sessions: sub-agents, scopes and times."""

import pytest

from kvaudit.core.requests import Status
from kvaudit.logs.format import BadRecord

AGENT = {
    "t": 4.0,
    "type": "subagent",
    "agent_id": "explore",
    "requests": [
        {"t": 0.0, "type": "n", "in": 130, "out": 5, "hash_ids": [1, 9]},
        {"t": 2.0, "type": "n", "in": 200, "out": 5, "hash_ids": [1, 9, 10]},
    ],
}
SESSION = {
    "id": "trace_0001",
    "models": ["m"],
    "block_size": 64,
    "hash_id_scope": "local",
    "requests": [
        {"t": 0.0, "type": "s", "model": "m", "in": 195, "out": 20, "hash_ids": [1, 2, 3],
         "api_time": 2.5, "ttft": 0.5, "stop": "tool_use"},
        AGENT,
        {"t": 5.0, "type": "n", "model": "m", "in": 260, "out": 7, "hash_ids": [1, 2, 3, 4],
         "api_time": 1.5},
    ],
}  # fmt: skip


def test_sub_agents_share_the_session_and_its_ids_in_order_of_time(parse):
    requests = parse("kv_cache_tester", SESSION).requests
    assert [(r.id, r.arrived_s) for r in requests] == [
        ("trace_0001/0", 0.0),
        ("trace_0001/explore/0", 4.0),
        ("trace_0001/1", 5.0),
        ("trace_0001/explore/1", 6.0),
    ]
    assert [r.parent for r in requests] == [None, None, "trace_0001/0", "trace_0001/explore/0"]
    assert {r.session for r in requests} == {r.block_scope for r in requests} == {"trace_0001"}


def test_fields_of_one_request(parse):
    first, _, later, _ = parse("kv_cache_tester", SESSION).requests
    assert first.status is Status.OK
    assert (first.finished_s, first.ttft_s) == (2.5, 0.5)
    assert later.finished_s == 6.5
    assert (first.prompt_tokens, first.output_tokens, first.block_tokens) == (195, 20, 64)
    assert list(first.block_ids) == [1, 2, 3]
    assert first.model == "m"


def test_global_ids_have_no_scope(parse):
    requests = parse("kv_cache_tester", SESSION | {"hash_id_scope": "global"}).requests
    assert {r.block_scope for r in requests} == {None}


def test_sub_agents_of_sub_agents_add_up_their_times(parse):
    deep = AGENT | {"requests": [AGENT]}
    requests = parse("kv_cache_tester", SESSION | {"requests": [deep]}).requests
    assert [r.arrived_s for r in requests] == [8.0, 10.0]
    assert requests[0].id == "trace_0001/explore/explore/0"


def test_an_empty_session_is_counted(parse):
    parsed = parse("kv_cache_tester", SESSION | {"requests": []})
    assert parsed.requests == []
    assert sum(parsed.skipped.values()) == 1


def test_a_session_needs_a_name_and_objects(parse):
    with pytest.raises(BadRecord, match="id"):
        parse("kv_cache_tester", SESSION | {"id": None})
    with pytest.raises(BadRecord, match="requests"):
        parse("kv_cache_tester", SESSION | {"requests": [1]})
