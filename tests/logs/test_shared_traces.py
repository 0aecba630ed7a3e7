"""Every real trace is recognised, read whole, and gives the requests its source says it has."""

import pytest

from kvaudit.logs.read import LogReader

TRACES = [
    ("azure_llm_2023_conv.csv.gz", "azure", 19366),
    ("dynamo_fixture_agentic-mooncake.jsonl.gz", "dynamo", 3),
    ("dynamo_fixture_dynamo-agentic.jsonl.gz", "dynamo", 4),
    ("dynamo_fixture_dynamo-standard.jsonl.gz", "dynamo", 2),
    ("dynamo_fixture_mooncake-delta.jsonl.gz", "mooncake", 2),
    ("dynamo_fixture_mooncake.jsonl.gz", "mooncake", 2),
    ("dynamo_mooncake_tiny.jsonl.gz", "mooncake", 16),
    ("kv_cache_tester_sample29.jsonl.gz", "kv-cache-tester", 765),
    ("lmcache_agent_magagent.jsonl.zst", "lmcache-agent", 746),
    ("lmcache_agent_miniswe.jsonl.zst", "lmcache-agent", 402),
    ("mooncake_fast25_conversation.jsonl.gz", "mooncake", 12031),
    ("ragpulse_trace.jsonl.gz", "ragpulse", 7106),
    ("swe_agent_demo_trajectories.jsonl.zst", "swe-agent", 23),
    ("tracelab_example_rounds.jsonl.gz", "tracelab", 19),
]


@pytest.mark.parametrize(("file", "name", "requests"), TRACES)
def test_a_trace_is_recognised_and_read_whole(shared_data, file, name, requests):
    reader = LogReader([shared_data / "traces" / file])
    assert sum(1 for _ in reader) == requests
    assert reader.format_name == name
    assert reader.broken == 0
