"""One replay of vLLM and one of SGLang from token ids: kvaudit against kvlint's simulators.

    python -m bench.replay --kvlint-python ~/kvlint/bin/python [--requests N] [--turns N] [--runs N]

Both get the same ids ready in memory, kvlint as lists and kvaudit as arrays, and both run on
one thread. kvlint models fewer rules (no last-token rule, no duplicates, no unkeyed blocks; SGLang
without locks or its releases), so what is gated is what both can say: without a bound, kvlint's
hits are the full blocks of the shared prefix, or all its tokens in SGLang, for every request.
kvaudit's kernel is gated by its plain reference. With a bound each prints its own hit rate.

kvaudit's seconds hold two answers, what was hit and what an unbounded cache would have hit; kvlint
needs a pass for each (its `simulate` makes both), so there are two ratios.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kvaudit.core.batching import BATCH_REQUESTS
from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.caches import make_interner, make_sglang, make_vllm_pool
from kvaudit.replay.models.sglang_releases import NEWEST as SGLANG
from kvaudit.replay.models.vllm_releases import NEWEST

BLOCK = 16

# Runs in kvlint's own environment: reads ids, feeds a simulator, prints seconds and hits.
THEIRS = """
import json, sys, time
from array import array
from kvlint.sim.sglang_radix import SGLangRadixSimulator
from kvlint.sim.vllm_blocks import VLLMBlockSimulator
ids, offsets, capacity = array("i"), array("q"), json.loads(sys.argv[3])
for path, numbers in ((sys.argv[1], ids), (sys.argv[2], offsets)):
    with open(path, "rb") as file:
        numbers.frombytes(file.read())
prompts = [ids[a:b].tolist() for a, b in zip(offsets, offsets[1:])]
if sys.argv[4] == "vllm":
    simulator = VLLMBlockSimulator(16, capacity)
else:
    simulator = SGLangRadixSimulator(capacity)
start = time.process_time()
hits = [simulator.feed_tokens(str(at), prompt).cached_tokens for at, prompt in enumerate(prompts)]
print(json.dumps([time.process_time() - start, hits]))
"""


class Engine(NamedTuple):
    """An engine as both programs replay it."""

    name: str
    release: str
    block: int
    """Tokens."""

    def cache(self, capacity, *, small):
        """kvaudit's model of it."""
        if self.name == "vllm":
            return make_vllm_pool(
                version=self.release, capacity_blocks=capacity, block_size=self.block, small=small
            )
        return make_sglang(
            version=self.release, capacity_blocks=capacity, page_size=self.block, small=small
        )


ENGINES = (Engine("vllm", NEWEST, BLOCK), Engine("sglang", SGLANG, 1))


def make_log(requests, most_turns=10):
    """Ids and offsets: 500 system prompts, some much used, under live chats, 2,000 or fewer."""
    rng = np.random.default_rng(0)
    heads = [rng.integers(0, 100_000, n) for n in rng.lognormal(6.6, 0.8, 500).astype(int) + 100]
    weights = 1 / np.arange(1, 501) ** 1.1
    popular = iter(rng.choice(500, requests + 2000, p=weights / weights.sum()).tolist())
    chats = [heads[next(popular)] for _ in range(2000)]
    turns = np.zeros(2000, int)
    prompts = []
    for chat in rng.integers(0, 20_000 // most_turns, requests).tolist():
        if turns[chat] >= most_turns:
            chats[chat], turns[chat] = heads[next(popular)], 0
        added = rng.integers(0, 100_000, rng.integers(40, 400))
        chats[chat] = np.concatenate([chats[chat], added])
        turns[chat] += 1
        prompts.append(chats[chat].astype(np.int32))
    offsets = np.cumsum([0, *map(len, prompts)], dtype=np.int64)
    return np.concatenate(prompts), offsets


def batches(ids, offsets):
    """The log as `kvaudit replay` would hand it on."""
    for start in range(0, len(offsets) - 1, BATCH_REQUESTS):
        bounds = offsets[start : start + BATCH_REQUESTS + 1]
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


def ours(engine, ids, offsets, capacity, *, small=False):
    """Seconds, hit tokens and shared tokens of each request."""
    interner = make_interner(block_units=engine.block, small=small)
    cache = engine.cache(capacity, small=small)
    hits, shared, log = [], [], list(batches(ids, offsets))
    start = time.process_time()
    for batch in log:
        blocks = interner.intern(batch)
        hits.append(cache.replay(batch, blocks).cached_tokens)
        shared.append(blocks.shared_units)
    seconds = time.process_time() - start
    return seconds, np.concatenate(hits), np.concatenate(shared)


def theirs(engine, python, folder, capacity):
    """Seconds and hit tokens of each request."""
    arguments = [folder / "ids", folder / "offsets", json.dumps(capacity), engine.name]
    command = [python, "-c", THEIRS, *arguments]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, hits = json.loads(answer.stdout)
    return seconds, np.array(hits)


def compare(engine, options, ids, offsets, folder):
    """Print both hit rates, both times and the ratio."""
    capacity = options.capacity * BLOCK // engine.block
    few = offsets[:2001]
    for limit in (None, capacity // 10):
        _, plain, _ = ours(engine, ids, few, limit, small=True)
        _, kernel, _ = ours(engine, ids, few, limit)  # the first call also compiles
        if not np.array_equal(plain, kernel):
            sys.exit(f"{engine.name}: kernel and reference differ")
    _, _, shared = ours(engine, ids, offsets, None)
    times = []
    for _ in range(options.runs):
        their_s, their_hits = theirs(engine, options.kvlint_python, folder, capacity)
        unbounded_s, most_hits = theirs(engine, options.kvlint_python, folder, None)
        if not np.array_equal(most_hits, shared // engine.block * engine.block):
            sys.exit(f"{engine.name}: kvlint's hits without a bound are not the shared prefixes")
        our_s, our_hits, _ = ours(engine, ids, offsets, capacity)
        times.append((their_s, their_s + unbounded_s, our_s))
    print(
        f"{engine.name}, {capacity} blocks of {engine.block}: hit rate "
        f"{their_hits.sum() / len(ids):.4f} by kvlint, {our_hits.sum() / len(ids):.4f} by the "
        f"rules of {engine.release}"
    )
    their_s, both_s, our_s = (statistics.median(column) for column in zip(*times, strict=True))
    ratio, both = (statistics.median(row[i] / row[2] for row in times) for i in (0, 1))
    print(
        f"CPU   kvlint {their_s:6.2f} s, with its unbounded pass {both_s:6.2f} s   kvaudit "
        f"{our_s:6.3f} s   ratio {ratio:.0f}x, {both:.0f}x"
    )
    print(f"median of {options.runs}; {len(ids) / our_s / 1e6:.0f} M tokens/s")


def main():
    """Make the log and compare on it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvlint-python", required=True)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--turns", type=int, default=10, help="the most of a chat")
    parser.add_argument("--capacity", type=int, default=20_000, help=f"blocks of {BLOCK} tokens")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    ids, offsets = make_log(options.requests, options.turns)
    print(f"{options.requests} requests, {len(ids) / 1e6:.1f} M tokens")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ids.tofile(folder / "ids")
        offsets.tofile(folder / "offsets")
        for engine in ENGINES:
            compare(engine, options, ids, offsets, folder)


if __name__ == "__main__":
    main()
