"""What vLLM itself answered, request by request (see the README beside the recordings)."""

import gzip
import json
from pathlib import Path

import pytest
from replay_logs import Line, batch

from kvaudit.replay.caches import make_interner, make_vllm_pool

RECORDINGS = [
    ("vllm-0.33.0-a-capacity150", "0.33.0", 150),
    ("vllm-0.33.0-a-capacity600", "0.33.0", 600),
    ("vllm-0.20.2-a-capacity600", "0.20.2", 600),
]


def read_log(path: Path) -> list[Line]:
    """Requests share only within one pair of salt and adapter."""
    with gzip.open(path, "rt") as lines:
        records = [json.loads(line) for line in lines]
    names: dict[tuple[str | None, str | None], int] = {}
    return [
        Line(
            tuple(r["token_ids"]),
            tuple(r["output_ids"]),
            namespace=names.setdefault((r.get("salt"), r.get("lora")), len(names)),
        )
        for r in records
    ]


@pytest.mark.parametrize(("recording", "version", "capacity"), RECORDINGS)
@pytest.mark.parametrize("compiled", [False, True], ids=["reference", "kernel"])
def test_sequential(shared_data, recording, version, capacity, compiled):
    golden = shared_data / "golden"
    answers = (golden / f"{recording}.jsonl").read_text().splitlines()
    prompts = batch(read_log(golden / "log-a.jsonl.gz"))
    blocks = make_interner(block_units=16, small=not compiled).intern(prompts)
    pool = make_vllm_pool(
        version=version, capacity_blocks=capacity, block_size=16, small=not compiled
    )
    cached = pool.replay(prompts, blocks).cached_tokens
    assert cached.tolist() == [json.loads(answer)["cached_tokens"] for answer in answers]
