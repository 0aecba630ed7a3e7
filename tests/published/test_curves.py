"""The published curves, as `kvaudit sweep` prints them: every capacity, to the token.

Hit tokens over the second half of the requests, contiguous prefix; FIFO by admission, LRU of
leaves only, and the clairvoyant choice of the leaf used last, with bypass. The LRU curve comes
from one pass wherever the largest request fits.
"""

import json

import pytest

from kvaudit.cli import run
from kvaudit.core.errors import Exit


@pytest.fixture
def sweep(shared_data, capsys, monkeypatch):
    """Return a function from a trace and options to the document of a sweep."""
    for name in ("KVAUDIT_FORMAT", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)

    def sweep(trace, *options):
        log = str(shared_data / "traces" / trace)
        assert run(["sweep", log, "--isolated", "--format", "json", *options]) == Exit.OK
        return json.loads(capsys.readouterr().out)

    return sweep


def hit_tokens(points):
    return {point["capacity_blocks"]: point["hit_tokens"] for point in points}


def published_columns(table):
    """FIFO, LRU and optimal: from (capacity, three hit tokens) to three curves."""
    return [{int(c): row[column] for c, row in table.items()} for column in range(3)]


def test_kvcache_simulator_on_mooncake(published, sweep):
    figures = published["kvcache_simulator_0_1_3"]["conversation"]
    fifo, lru, optimal = published_columns(figures["blocks"])
    asked = "--capacities", ",".join(map(str, lru)) + "blocks", "--warmup", "0.5"
    trace = "mooncake_fast25_conversation.jsonl.gz"
    found = sweep(trace, *asked)
    assert hit_tokens(found["curve"]) == lru
    assert hit_tokens(found["optimal"]) == optimal
    assert [found["possible_tokens"], found["prompt_tokens"]] == figures["ceiling"]
    assert list(hit_tokens(found["curve"])) == list(lru)  # in the order asked for
    largest = found["largest_request_blocks"]
    for point in found["curve"]:
        one_pass = point["capacity_blocks"] >= largest
        assert point["exactness"] == ("exact" if one_pass else "replayed")
    found = sweep(trace, *asked, "--policy", "fifo", "--no-optimal")
    assert hit_tokens(found["curve"]) == fifo
    assert found["exactness"] == "replayed"


def test_kvcache_ai_lab_on_ragpulse(published, sweep):
    lab = published["kvcache_lab"]["ragpulse"]
    table = {c: lab["capacityResults"][c] for c in lab["prefix_semantics"]}
    assert len(table) == 203
    fifo, lru, optimal = published_columns(table)
    asked = "--capacities", ",".join(map(str, lru)) + "blocks", "--warmup", "0.5"
    found = sweep("ragpulse_trace.jsonl.gz", *asked, "--policies", "fifo")
    assert hit_tokens(found["curve"]) == lru
    assert hit_tokens(found["optimal"]) == optimal
    assert hit_tokens(found["policies"][0]["curve"]) == fifo
    assert found["prompt_tokens"] == lab["summary"]["totalMeasuredTokens"]
    exact = sum(point["exactness"] == "exact" for point in found["curve"])
    assert exact > 150
