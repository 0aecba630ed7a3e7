"""One rule-exact vLLM replay from token ids: kvaudit against kvlint's simulator.

    python -m bench.replay --kvlint-python ~/kvlint/bin/python [--requests N] [--runs N]

Both get the same ids ready in memory, kvlint as lists and kvaudit as arrays, and both run on
one thread. kvlint models fewer rules (no last-token rule, no duplicates, no unkeyed blocks), so
what is gated is what both can say: without a bound, kvlint's hits are the full blocks of the
shared prefix, for every request. kvaudit's kernel is gated by its plain reference. With a bound
each prints its own hit rate.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.caches import make_interner, make_vllm_pool
from kvaudit.replay.models.vllm_releases import NEWEST

BATCH = 512  # requests a call, as `kvaudit replay` makes them
BLOCK = 16

# Runs in kvlint's own environment: reads ids, feeds the simulator, prints seconds and hits.
THEIRS = """
import json, sys, time
from array import array
from kvlint.sim.vllm_blocks import VLLMBlockSimulator
ids, offsets, capacity = array("i"), array("q"), json.loads(sys.argv[3])
for path, numbers in ((sys.argv[1], ids), (sys.argv[2], offsets)):
    with open(path, "rb") as file:
        numbers.frombytes(file.read())
prompts = [ids[a:b].tolist() for a, b in zip(offsets, offsets[1:])]
simulator = VLLMBlockSimulator(16, capacity)
start = time.process_time()
hits = [simulator.feed_tokens("", prompt).cached_tokens for prompt in prompts]
print(json.dumps([time.process_time() - start, hits]))
"""


def make_log(requests):
    """Ids and offsets: 500 system prompts, some much used, under 2,000 live chats."""
    rng = np.random.default_rng(0)
    heads = [rng.integers(0, 100_000, n) for n in rng.lognormal(6.6, 0.8, 500).astype(int) + 100]
    weights = 1 / np.arange(1, 501) ** 1.1
    popular = iter(rng.choice(500, requests + 2000, p=weights / weights.sum()).tolist())
    chats = [heads[next(popular)] for _ in range(2000)]
    turns = np.zeros(2000, int)
    prompts = []
    for chat in rng.integers(0, 2000, requests).tolist():
        if turns[chat] >= 10:
            chats[chat], turns[chat] = heads[next(popular)], 0
        added = rng.integers(0, 100_000, rng.integers(40, 400))
        chats[chat] = np.concatenate([chats[chat], added])
        turns[chat] += 1
        prompts.append(chats[chat].astype(np.int32))
    offsets = np.cumsum([0, *map(len, prompts)], dtype=np.int64)
    return np.concatenate(prompts), offsets


def batches(ids, offsets):
    """The log as `kvaudit replay` would hand it on."""
    for start in range(0, len(offsets) - 1, BATCH):
        bounds = offsets[start : start + BATCH + 1]
        lengths = np.diff(bounds)
        zeros = np.zeros(len(lengths), np.int64)
        yield PromptBatch(
            requests=(),
            units=ids[bounds[0] : bounds[-1]],
            offsets=bounds - bounds[0],
            prompt_units=lengths,
            unit_tokens=zeros + 1,
            prompt_tokens=lengths,
            output_tokens=zeros,
            namespaces=zeros.astype(np.int32),
            namespace_names=("",),
        )


def ours(ids, offsets, capacity, *, small=False):
    """Seconds, hit tokens and shared tokens of each request."""
    interner = make_interner(block_units=BLOCK, small=small)
    pool = make_vllm_pool(version=NEWEST, capacity_blocks=capacity, block_size=BLOCK, small=small)
    hits, shared = [], []
    start = time.process_time()
    for batch in batches(ids, offsets):
        blocks = interner.intern(batch)
        hits.append(pool.replay(batch, blocks).cached_tokens)
        shared.append(blocks.shared_units)
    seconds = time.process_time() - start
    return seconds, np.concatenate(hits), np.concatenate(shared)


def theirs(python, folder, capacity):
    """Seconds and hit tokens of each request."""
    arguments = [folder / "ids", folder / "offsets", json.dumps(capacity)]
    command = [python, "-c", THEIRS, *arguments]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, hits = json.loads(answer.stdout)
    return seconds, np.array(hits)


def main():
    """Print both hit rates, both times and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvlint-python", required=True)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--capacity", type=int, default=20_000, help="blocks")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    ids, offsets = make_log(options.requests)
    print(f"{options.requests} requests, {len(ids) / 1e6:.1f} M tokens, blocks of {BLOCK}")

    few = offsets[:2001]
    for capacity in (None, options.capacity // 10):
        _, plain, _ = ours(ids, few, capacity, small=True)
        _, kernel, _ = ours(ids, few, capacity)  # the first call also compiles
        if not np.array_equal(plain, kernel):
            sys.exit("kernel and reference differ")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ids.tofile(folder / "ids")
        offsets.tofile(folder / "offsets")
        _, hits = theirs(options.kvlint_python, folder, None)
        _, _, shared = ours(ids, offsets, None)
        if not np.array_equal(hits, shared // BLOCK * BLOCK):
            sys.exit("kvlint's hits without a bound are not the shared blocks")
        times = []
        for _ in range(options.runs):
            their_s, their_hits = theirs(options.kvlint_python, folder, options.capacity)
            our_s, our_hits, _ = ours(ids, offsets, options.capacity)
            times.append((their_s, our_s))
    print(
        f"{options.capacity} blocks: hit rate {their_hits.sum() / len(ids):.4f} by kvlint,", end=""
    )
    print(f" {our_hits.sum() / len(ids):.4f} by the rules of vLLM {NEWEST}")
    their_s, our_s = (statistics.median(column) for column in zip(*times, strict=True))
    ratio = statistics.median(a / b for a, b in times)
    print(f"CPU   kvlint {their_s:6.2f} s   kvaudit {our_s:6.3f} s   ratio {ratio:.0f}x")
    print(f"median of {options.runs}; {len(ids) / our_s / 1e6:.0f} M tokens/s")


if __name__ == "__main__":
    main()
