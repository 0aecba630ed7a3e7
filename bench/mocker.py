"""One bounded vLLM replay: kvaudit against the mocker that NVIDIA Dynamo replays traces with.

    python -m bench.mocker --dynamo-python ~/dynamo/bin/python [--requests N] [--runs N]

The environment named holds ai-dynamo and ai-dynamo-runtime 1.6.1. The mocker reads a trace of
block ids from a file, one JSON line a request, and its time holds that reading. Such ids have to
come from somewhere: Dynamo's own function for hashing the blocks of a prompt, on token ids that lie
ready as lists, is timed apart. kvaudit is timed from token ids in memory, and its pool alone from
block keys. Requests come one at a time
(`replay_concurrency` 1), with one output token, and no telemetry is kept while the clock runs.
Both must reuse the same tokens of every request. CPU seconds are of all threads.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from bench.replay import BLOCK, batches, make_log
from kvaudit.replay.caches import make_interner, make_vllm_pool
from kvaudit.replay.models.vllm_releases import NEWEST

# Hashes prompts, and replays a trace twice, once with what became of each request; prints CPU
# seconds of both and the reuse.
THEIRS = """
import json, sys, time
from array import array
from dynamo._core import compute_block_hash_for_seq, run_mocker_trace_replay as replay
path, blocks, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ids, offsets = array("i"), array("q")
for name, numbers in (("ids", ids), ("offsets", offsets)):
    with open(path + "." + name, "rb") as file:
        numbers.frombytes(file.read())
prompts = [ids[a:b].tolist() for a, b in zip(offsets, offsets[1:])]
start = time.process_time()
for prompt in prompts:
    compute_block_hash_for_seq(prompt, size)
hashing = time.process_time() - start
engine = {"backend": "vllm", "block_size": size, "num_gpu_blocks": blocks, "max_num_seqs": 1,
          "enable_prefix_caching": True, "max_num_batched_tokens": 1 << 20}
options = dict(extra_engine_args={"engine": engine}, replay_concurrency=1, trace_block_size=size)
start = time.process_time()
replay([path], capture_planner_details=False, **options)
seconds = time.process_time() - start
rows = replay([path], capture_per_request=True, **options).per_request
rows.sort(key=lambda row: int(row["session_id"].rpartition("_")[2]))
print(json.dumps([hashing, seconds, [row["reused_input_tokens"] for row in rows]]))
"""


def ours(ids, offsets, capacity):
    """CPU seconds in all and of the pool, hits of each request, keys of its full blocks."""
    interner = make_interner(block_units=BLOCK, small=False)
    pool = make_vllm_pool(version=NEWEST, capacity_blocks=capacity, block_size=BLOCK, small=False)
    hits, keys, pool_s = [], [], 0.0
    start = time.process_time()
    for batch in batches(ids, offsets):
        batch = replace(batch, output_tokens=np.ones_like(batch.prompt_tokens))
        blocks = interner.intern(batch)
        named = time.process_time()
        hits.append(pool.replay(batch, blocks).cached_tokens)
        pool_s += time.process_time() - named
        keys.append((blocks.keys, blocks.key_offsets))
    seconds = time.process_time() - start
    rows = [k[a:b].tolist() for k, cuts in keys for a, b in pairwise(cuts)]
    return seconds, pool_s, np.concatenate(hits), rows


def write_trace(path, rows, lengths):
    """Write Mooncake's form: one id a block, a partial last one too, which is nobody else's."""
    own = 1 + max(max(row, default=0) for row in rows)
    with path.open("w") as out:
        for number, (row, tokens) in enumerate(zip(rows, lengths, strict=True)):
            partial = [own + number] if tokens % BLOCK else []
            line = {"request_id": str(number), "timestamp": number, "input_length": tokens}
            print(json.dumps({**line, "output_length": 1, "hash_ids": row + partial}), file=out)


def main():
    """Print both times and their ratio, or what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dynamo-python", required=True)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--capacity", type=int, default=20_000, help="blocks")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    ids, offsets = make_log(options.requests)
    ours(ids, offsets[:100], options.capacity)  # compiles
    times = []
    with tempfile.TemporaryDirectory() as name:
        trace = Path(name) / "trace.jsonl"
        _, _, _, rows = ours(ids, offsets, options.capacity)
        write_trace(trace, rows, np.diff(offsets).tolist())
        ids.tofile(f"{trace}.ids")
        offsets.tofile(f"{trace}.offsets")
        command = [options.dynamo_python, "-c", THEIRS, trace, str(options.capacity), str(BLOCK)]
        for _ in range(options.runs):
            answer = subprocess.run(command, check=True, capture_output=True, text=True)
            hashing_s, their_s, their_hits = json.loads(answer.stdout)
            our_s, pool_s, our_hits, _ = ours(ids, offsets, options.capacity)
            differing = int((np.array(their_hits) != our_hits).sum())
            if differing:
                sys.exit(f"{differing} of {len(our_hits)} requests differ")
            times.append((hashing_s, their_s, our_s, pool_s))
    print(f"{options.requests} requests, {len(ids) / 1e6:.1f} M tokens, {options.capacity} blocks;")
    print(f"hit rate {our_hits.sum() / len(ids):.4f}, equal for every request")
    hashing_s, their_s, our_s, pool_s = (statistics.median(t) for t in zip(*times, strict=True))
    print(f"CPU   mocker {their_s:.3f} s from block ids, and {hashing_s:.3f} s to hash blocks")
    print(f"      kvaudit {our_s:.3f} s from token ids, {pool_s:.3f} s of it after naming blocks")
    for what, ratio in (
        ("both from token ids", [(h + t) / o for h, t, o, _ in times]),
        ("both from block ids", [t / p for _, t, _, p in times]),
        ("mocker from block ids, kvaudit from token ids", [t / o for _, t, o, _ in times]),
    ):
        print(f"      {what}: {statistics.median(ratio):.1f} times")


if __name__ == "__main__":
    main()
