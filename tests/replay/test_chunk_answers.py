"""What LMCache answered below vLLM's cache, with answers stored, and from several instances."""

import json
from pathlib import Path

import numpy as np
import pytest
from replay_logs import Line, batch

from kvaudit.replay.caches import make_interner
from kvaudit.replay.models.chunk_places import Remote
from kvaudit.replay.models.chunks import ChunkStore, spare_last_token

ANSWERS = Path(__file__).parent / "lmcache_request_answers.jsonl"
"""What the vLLM adapter of LMCache, its engine, storage manager and backends answered on random
logs, driven on a CPU with the model's forward left out: a line is one log. A request is prompt and
known output as digits, unknown output tokens, the instance that served it, the tokens that vLLM's
own cache had of it, and the hit tokens of each tier. The remote store was one map; chunks reached
the disk in order, once all of a step's had been offered."""


@pytest.mark.parametrize("line", ANSWERS.read_text("utf-8").splitlines(), ids=lambda _: "log")
def test_what_lmcache_answered(line):
    asked = json.loads(line)
    remote = Remote(None) if asked["remote"] else None
    lower = [asked["disk"]] * (asked["disk"] is not None) + [None] * asked["remote"]
    settings = ("chunk_size", "policy", "keeps_partial", "saves_decoded")
    stores = [
        ChunkStore(
            capacity_chunks=asked["capacity"],
            lower_chunks=lower,
            has_disk=asked["disk"] is not None,
            remote=remote,
            **{name: asked[name] for name in settings},
        )
        for _ in range(asked["instances"])
    ]
    texts = [(prompt, output, unknown) for prompt, output, unknown, *_ in asked["requests"]]
    prompts = batch([Line(tuple(map(int, p)), tuple(map(int, o)), u) for p, o, u in texts])
    interner = make_interner(block_units=asked["chunk_size"], tails=True, small=True)
    requests = stores[0].requests.of(prompts, interner.intern(prompts))
    for request, (prompt, *_, instance, own, hits) in zip(requests, asked["requests"], strict=True):
        visit = stores[instance].serve(request._replace(own_tokens=own))
        tokens = np.array([[own], *([n] for n in visit.hit_tokens)])
        spare_last_token(tokens, np.array([len(prompt)]))
        assert tokens[1:, 0].tolist() == hits
