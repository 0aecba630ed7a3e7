"""One pass over a log gives what real engines recorded at their capacities."""

import json

import pytest

from kvaudit.cli import run
from kvaudit.core.errors import Exit

RECORDED = [
    ("vllm-0.33.0-a-capacity150.jsonl", "0.33.0", 150),
    ("vllm-0.33.0-a-capacity600.jsonl", "0.33.0", 600),
    ("vllm-0.20.2-a-capacity600.jsonl", "0.20.2", 600),
]


@pytest.mark.parametrize(("recording", "version", "blocks"), RECORDED)
def test_the_curve_passes_through_the_recording(
    shared_data, capsys, monkeypatch, recording, version, blocks
):
    for name in ("KVAUDIT_FORMAT", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    folder = shared_data / "golden"
    rows = map(json.loads, (folder / recording).read_text("utf-8").splitlines())
    options = ["--engine-version", version, "--capacities", f"{blocks}blocks", "--no-optimal"]
    log = str(folder / "log-a.jsonl.gz")
    assert run(["sweep", log, *options, "--isolated", "--format", "json"]) == Exit.OK
    (point,) = json.loads(capsys.readouterr().out)["curve"]
    assert point["hit_tokens"] == sum(row["cached_tokens"] for row in rows)
    assert point["exactness"] == "exact"
