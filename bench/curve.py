"""The hit rate at every capacity: one pass of kvaudit against replays, its own and others'.

    python -m bench.curve --simulator-python ~/simulators/bin/python [--requests N] [--runs N]
        [TRACE...]

The environment named holds kvcache-simulator 0.1.3 and libcachesim 0.3.5; the first compiles its
C++ core with the machine's own compiler. Traces are logs of block hashes, read by kvaudit's own
readers, and weigh 16 tokens a block. Everything runs on one thread from integers that lie
ready, in memory or in the other program's own binary file. A speed counts only where the results
are equal, in the same run:

* the curve, at 15 capacities, to a replay of vLLM's pool at each, and to stack distances block by
  block (Bennett and Kruskal's way, a Fenwick tree over all uses);
* the ideal LRU's curve, at 15 capacities, to kvcache-simulator's hit tokens at each. It counts
  the second half of the requests only, and gives no result for a cache that the first half does
  not fill, so capacities end there;
* the block-by-block distances of a plain LRU to libCacheSim's misses at one capacity: the same
  uses, though a plain LRU is not a prefix cache.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numba
import numpy as np

from bench.measure import run
from bench.replay import BLOCK, batches, make_log
from kvaudit.core.prompts import PromptBatch
from kvaudit.logs.read import LogReader
from kvaudit.replay.arrival import sort_all
from kvaudit.replay.batches import concatenate
from kvaudit.replay.caches import make_ideal, make_interner, make_stack, make_vllm_pool
from kvaudit.replay.curve import CapacityCurve, Weights, ramps_of
from kvaudit.replay.curve_rows import full_block_rows, ideal_rows
from kvaudit.replay.models.vllm_releases import NEWEST
from kvaudit.replay.prompts import Prompts

CAPACITIES = 15

# Compiles the C++ core and prints where it is.
THEIR_CORE = "from kvcache_sim.cpp_backend import ensure_cpp_simulator as e; print(e())"

# Reads uses, 24 bytes each, and prints seconds and misses of a plain LRU.
THEIR_LRU = """
import json, sys, time
import libcachesim as lcs
path, capacity, power = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
reader = lcs.TraceReader(path, lcs.TraceType.ORACLE_GENERAL_TRACE)
cache = lcs.LRU(capacity, hashpower=power)
start = time.process_time()
missed, _ = cache.process_trace(reader)
print(json.dumps([time.process_time() - start, missed]))
"""


@numba.njit(cache=True)
def distances(keys, offsets, distinct):
    """Stack distance of every use, 0 for a first one; a request's blocks are used last first.

    Looked up before any of the request's own blocks is used, up to the first that is new.
    """
    tree = np.zeros(len(keys) + 1, np.int32)
    last = np.full(distinct, -1, np.int64)
    found = np.zeros(len(keys), np.int32)
    now = live = 0
    for request in range(len(offsets) - 1):
        begin, end = offsets[request], offsets[request + 1]
        for at in range(begin, end):
            if last[keys[at]] < 0:
                break
            older, node = 0, last[keys[at]] + 1
            while node > 0:
                older += tree[node]
                node -= node & -node
            found[at] = live - older + 1
        for at in range(end - 1, begin - 1, -1):
            for when, change in ((last[keys[at]], -1), (now, 1)):
                if when < 0:
                    live += 1
                    continue
                node = when + 1
                while node < len(tree):
                    tree[node] += change
                    node += node & -node
            last[keys[at]] = now
            now += 1
    return found


def reading(ids):
    """Seconds to read the tokens once."""
    start = time.process_time()
    ids.sum()
    return time.process_time() - start


def pool_curve(ids, offsets):
    """Seconds for the curve of vLLM's pool from token ids; the curve, runs, blocks by batch."""
    start = time.process_time()
    interner, stack = make_interner(block_units=BLOCK, small=False), make_stack(small=False)
    log, runs, tokens = [], [], []
    for batch in batches(ids, offsets):
        blocks = interner.intern(batch)
        rows = full_block_rows(batch, blocks, block_tokens=BLOCK, recomputes=True)
        runs.append(stack.feed(rows))
        assert (runs[-1].seen <= rows.lookups).all(), "a block is computed twice: not exact"
        log.append((batch, blocks))
        tokens.append(batch.prompt_tokens)
    prompt_tokens = np.concatenate(tokens)
    ramps = ramps_of(runs, 1, Weights(np.full_like(prompt_tokens, BLOCK), prompt_tokens), 0)
    curve = CapacityCurve(ramps.first, ramps.blocks, ramps.tokens)
    return time.process_time() - start, curve, len(ramps.first), log


def of_blocks(keys, offsets):
    """A log of block ids as one batch."""
    lengths = np.diff(offsets)
    zeros = np.zeros_like(lengths)
    return PromptBatch(
        requests=(),
        units=keys,
        offsets=offsets,
        prompt_units=lengths,
        unit_tokens=zeros + BLOCK,
        prompt_tokens=lengths * BLOCK,
        output_tokens=zeros,
        namespaces=zeros.astype(np.int32),
        namespace_names=("",),
    )


def ideal_curve(keys, offsets):
    """Seconds for the ideal LRU's curve of the second half of a log of block ids; the curve."""
    start = time.process_time()
    batch = of_blocks(keys, offsets)
    blocks = make_interner(block_units=1, small=False).intern(batch)
    runs = make_stack(small=False).feed(ideal_rows(batch, blocks))
    half = len(batch.prompt_tokens) // 2
    ramps = ramps_of([runs], 2, Weights(batch.unit_tokens, batch.prompt_tokens), half)
    curve = CapacityCurve(ramps.first, ramps.blocks, ramps.tokens)
    return time.process_time() - start, curve


def replays(log, capacities):
    """Seconds and hit tokens of a replay of vLLM's pool at each capacity, from block keys."""
    start = time.process_time()
    hits = []
    for capacity in capacities:
        pool = make_vllm_pool(
            version=NEWEST, capacity_blocks=capacity, block_size=BLOCK, small=False
        )
        hits.append(sum(int(pool.replay(*part).cached_tokens.sum()) for part in log))
    return time.process_time() - start, hits


def block_by_block(keys, offsets):
    """Seconds for the distances of all uses, and the distances."""
    start = time.process_time()
    found = distances(keys, offsets, int(keys.max()) + 1)
    return time.process_time() - start, found


def their_core(core, folder, capacities):
    """CPU seconds and hit tokens of kvcache-simulator's core, LRU at each capacity."""
    ends = np.fromfile(folder / "ends", np.uint32)
    files = {"ids": "ids", "tokens": "tokens", "request-ends": "ends"}
    command = [core, "--policy", "batch", "--policies", "lru"]
    command += ["--warmup-requests", len(ends) // 2]
    command += [part for name, file in files.items() for part in (f"--{name}", folder / file)]
    command += ["--request-count", len(ends), "--total-blocks", ends[-1]]
    command += ["--capacities", ",".join(map(str, capacities))]
    cost = run(command, output=folder / "answer")
    points = json.loads((folder / "answer").read_text())["points"]
    found = {point["cacheBlocks"]: point["lru"]["hitTokens"] for point in points}
    return cost.cpu_s, [found[capacity] for capacity in capacities]


def their_lru(python, folder, capacity, power):
    """CPU seconds and miss ratio of libCacheSim's LRU at one capacity."""
    command = [python, "-c", THEIR_LRU, str(folder / "uses"), str(capacity), str(power)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(answer.stdout.splitlines()[-1])


def write_for_others(folder, keys, offsets):
    """The same uses as both programs read them."""
    keys.astype(np.uint32).tofile(folder / "ids")
    np.full(len(keys), BLOCK, np.uint16).tofile(folder / "tokens")
    offsets[1:].astype(np.uint32).tofile(folder / "ends")
    uses = np.zeros(len(keys), "u4,u8,u4,i8")
    uses["f0"], uses["f1"], uses["f2"], uses["f3"] = np.arange(len(keys)), keys + 1, 1, -1
    uses.tofile(folder / "uses")


def one_capacity(keys, offsets, capacity):
    """Seconds and hit tokens of a replay of the ideal LRU at one capacity, second half."""
    start = time.process_time()
    batch = of_blocks(keys, offsets)
    blocks = make_interner(block_units=1, small=False).intern(batch)
    cache = make_ideal(capacity_blocks=capacity, small=False)
    hits = cache.replay(batch, blocks).cached_tokens
    return time.process_time() - start, int(hits[len(hits) // 2 :].sum())


def from_files(options, folder, keys, offsets, capacities):
    """CPU seconds of both commands from a JSONL file to the points of the curve, which are equal.

    Ours first without the cache that knows the future, which theirs is not asked for, then with
    it; each ran once before, so that compiled code and bytecode lie ready, as once installed. A
    block is 512 tokens here, as in the traces of Mooncake that both read; the model makes it
    64 MiB, so that a budget in GiB is a whole number of blocks.
    """
    with open(folder / "log.jsonl", "w") as file:
        for at in range(len(offsets) - 1):
            ids = keys[offsets[at] : offsets[at + 1]].tolist()
            row = {"timestamp": at, "input_length": 512 * len(ids), "output_length": 1}
            file.write(json.dumps(row | {"hash_ids": ids}) + "\n")
    ours = [sys.executable, "-m", "kvaudit", "sweep", folder / "log.jsonl", "--engine", "ideal"]
    ours += ["--warmup", "0.5", "--isolated", "--format", "json"]
    ours += ["--capacities", ",".join(f"{capacity}blocks" for capacity in capacities)]
    command = Path(options.simulator_python).with_name("kvcache-simulator")
    theirs = [command, "run", "--trace", folder / "log.jsonl", "--model", "llama-3.1-8b"]
    theirs += ["--block-size", "512", "--policies", "lru", "--no-progress", "--format", "json"]
    theirs += ["--budgets-gib", ",".join(str(capacity / 16) for capacity in capacities)]
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    alone = [*ours, "--no-optimal"]
    run(ours)
    run(alone)
    costs = [
        (run(alone, output=folder / "alone"), run(ours, output=folder / "ours"))
        for _ in range(options.runs)
    ]
    alone_s, both_s = (
        statistics.median(cost.cpu_s for cost in column) for column in zip(*costs, strict=True)
    )
    their_s = run(theirs, output=folder / "theirs").cpu_s
    points = json.loads((folder / "theirs").read_text())["points"]
    for name in ("alone", "ours"):
        curve = json.loads((folder / name).read_text())["curve"]
        check(
            "curves from a file",
            [point["hit_tokens"] for point in curve],
            [point["results"]["lru"]["hitTokens"] for point in points],
        )
    return alone_s, both_s, their_s


def check(name, ours, theirs):
    """End the run where two results differ."""
    if list(ours) != list(theirs):
        sys.exit(f"{name} differ:\n{ours}\n{theirs}")


def joined(log):
    """The block keys of all requests in one row, and where each request begins."""
    keys = np.concatenate([blocks.keys for _, blocks in log])
    lengths = np.concatenate([np.diff(blocks.key_offsets) for _, blocks in log])
    return keys, np.concatenate([[0], np.cumsum(lengths)])


def compare(options, folder):
    """Run everything once a round, and print medians."""
    ids, offsets = make_log(options.requests)
    _, curve, runs, log = pool_curve(ids, offsets)
    keys, key_offsets = joined(log)
    write_for_others(folder, keys, key_offsets)
    largest = int(np.diff(offsets).max()) // BLOCK + 2
    half = key_offsets[len(key_offsets) // 2]
    most = len(np.unique(keys[:half]))
    capacities = spread(largest, most)
    middle = capacities[CAPACITIES // 2]
    print(
        f"{options.requests} requests, {len(ids) / 1e6:.1f} M tokens, {len(keys) / 1e6:.2f} M uses "
        f"of {len(np.unique(keys)) / 1e6:.2f} M blocks of {BLOCK}, "
        f"{runs / options.requests:.2f} runs a request"
    )
    rounds = []
    for _ in range(options.runs):
        before_s = reading(ids)
        pool_s, curve, _, log = pool_curve(ids, offsets)
        # Read before and after, since what else runs on the machine slows both.
        read_s = (before_s + reading(ids)) / 2
        replay_s, hits = replays(log, capacities)
        check("curve and replays", [curve.at(c) for c in capacities], hits)
        ideal_s, ideal = ideal_curve(keys, key_offsets)
        one_s, counted = one_capacity(keys, key_offsets, middle)
        check("curve and its own replay", [ideal.at(middle)], [counted])
        fenwick_s, found = block_by_block(keys, key_offsets)
        within = np.sort(found[half:][found[half:] > 0])
        counted = BLOCK * np.searchsorted(within, capacities, side="right")
        check("curve and blocks", [ideal.at(c) for c in capacities], counted.tolist())
        core_s, theirs = their_core(options.core, folder, capacities)
        check("curve and kvcache-simulator", [ideal.at(c) for c in capacities], theirs)
        one_by_one = distances(keys, np.arange(len(keys) + 1), int(keys.max()) + 1)
        misses = 1 - np.count_nonzero((one_by_one > 0) & (one_by_one <= middle)) / len(keys)
        lru_s = []
        for power in (24, 16):
            seconds, missed = their_lru(options.simulator_python, folder, middle, power)
            check("plain LRUs", [round(misses, 6)], [round(missed, 6)])
            lru_s.append(seconds)
        times = (read_s, pool_s, replay_s, ideal_s, one_s, fenwick_s, core_s, *lru_s)
        rounds.append((*times, pool_s / read_s))
    read, pool, replay, ideal_, one, fenwick, core_, slow, tuned, ratio = (
        statistics.median(column) for column in zip(*rounds, strict=True)
    )
    print(f"{'the tokens read once':58}{read:8.3f} s")
    print(f"{'whole curve of vLLM, from token ids':58}{pool:8.3f} s {ratio:8.2f}x")
    name = f"{CAPACITIES} replays of vLLM, from block keys"
    print(f"{name:58}{replay:8.3f} s {replay / pool:8.1f}x")
    print(f"{'whole curve of the ideal LRU, from block ids':58}{ideal_:8.3f} s")
    print(f"{'one replay of it, from block ids':58}{one:8.3f} s {one / ideal_:8.2f}x")
    print(f"{'the curve, block by block':58}{fenwick:8.3f} s {fenwick / ideal_:8.1f}x")
    name = f"kvcache-simulator's C++ core, {CAPACITIES} capacities"
    print(f"{name:58}{core_:8.3f} s {core_ / ideal_:8.1f}x")
    print(f"{'libCacheSim, LRU, one capacity':58}{slow:8.3f} s {slow / ideal_:8.1f}x")
    print(
        f"{'libCacheSim, LRU, one capacity, hashpower 16':58}{tuned:8.3f} s {tuned / ideal_:8.1f}x"
    )
    alone_s, both_s, their_s = from_files(options, folder, keys, key_offsets, capacities)
    print(f"{'kvcache-simulator run, LRU, from a JSONL file':58}{their_s:8.3f} s")
    name = "kvaudit sweep --no-optimal, from the same"
    print(f"{name:58}{alone_s:8.3f} s {their_s / alone_s:8.1f}x")
    print(f"{'kvaudit sweep':58}{both_s:8.3f} s {their_s / both_s:8.1f}x")


def on_trace(trace, options, folder):
    """Print the ratios on a real log of block hashes."""
    prompts = Prompts(LogReader([trace]), encoder=no_tokenizer)
    whole = concatenate(list(sort_all(prompts)))
    blocks = make_interner(block_units=1, small=False).intern(whole)
    keys, offsets = blocks.keys, blocks.key_offsets
    write_for_others(folder, keys, offsets)
    _, curve = ideal_curve(keys, offsets)
    half = offsets[len(offsets) // 2]
    capacities = spread(int(np.diff(offsets).max()), len(np.unique(keys[:half])))
    rounds = []
    for _ in range(options.runs):
        seconds, curve = ideal_curve(keys, offsets)
        core_s, theirs = their_core(options.core, folder, capacities)
        check("curve and kvcache-simulator", [curve.at(c) for c in capacities], theirs)
        rounds.append((seconds, core_s))
    ours, core_s = (statistics.median(column) for column in zip(*rounds, strict=True))
    runs = make_stack(small=False).feed(ideal_rows(whole, blocks))
    requests = len(offsets) - 1
    print(
        f"{trace.name}: {requests} requests, {len(keys) / 1e6:.2f} M uses, "
        f"{len(runs.row) / requests:.2f} runs a request; curve {ours:.3f} s, kvcache-simulator "
        f"{core_s:.3f} s, {core_s / ours:.1f}x"
    )


def no_tokenizer():
    """Refuse logs of text."""
    raise AssertionError("a log of block hashes needs no tokenizer")


def spread(least, most):
    """Return capacities that ``most`` blocks fill for certain."""
    return np.geomspace(least, 0.9 * most, CAPACITIES).astype(int).tolist()


def growth(options):
    """Print the seconds of the curve over logs of growing length."""
    for factor in (1, 4, 16):
        ids, offsets = make_log(options.requests * factor // 16)
        pairs = [(reading(ids), pool_curve(ids, offsets)[0]) for _ in range(options.runs)]
        seconds = statistics.median(pool for _, pool in pairs)
        ratio = statistics.median(pool / read for read, pool in pairs)
        print(
            f"{factor:2}x: {len(offsets) - 1} requests, {len(ids) / 1e6:.1f} M tokens, "
            f"{seconds:.3f} s, {len(ids) / seconds / 1e6:.0f} M tokens/s, {ratio:.2f}x reading them"
        )


def main():
    """Compare, then grow."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulator-python", required=True)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("traces", nargs="*", type=Path)
    options = parser.parse_args()
    compile_core = [options.simulator_python, "-c", THEIR_CORE]
    options.core = subprocess.check_output(compile_core, text=True).strip()
    with tempfile.TemporaryDirectory() as name:
        for trace in options.traces:
            on_trace(trace, options, Path(name))
        compare(options, Path(name))
    growth(options)


if __name__ == "__main__":
    main()
