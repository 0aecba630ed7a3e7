"""All checks and measurements on a device, in one command: correctness first, then a short table.

    python -m bench.gpu [--device auto|cpu|cuda] [--limit SECONDS]

Needs this checkout, torch and transformers, and nothing else. On a CPU the same code runs over
smaller models and shorter prompts; no figure of that says anything about a GPU. A check that fails
ends it with exit code 1. Steps that no longer fit into the limit are left out, and named.
"""

import argparse
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from kvaudit.core.prompts import PromptBatch, RequestFacts
from kvaudit.cost.accelerators import Accelerator, accelerator_named
from kvaudit.cost.catalogue import TINY, load_model_shape
from kvaudit.cost.roofline import make_roofline
from kvaudit.cost.shapes import ModelShape, shape_from_config
from kvaudit.replay.blocks import known_blocks
from kvaudit.replay.device.assembly import Assembly, assemble
from kvaudit.replay.device.cache import DeviceCache
from kvaudit.replay.device.choice import choose_device, device_facts
from kvaudit.replay.device.executor import Executor, Prompt
from kvaudit.replay.device.files import FileTier
from kvaudit.replay.device.hashing import BlockKeys, block_keys, leading_matches
from kvaudit.replay.device.plan import DevicePlan, ExecutionPlan
from kvaudit.replay.device.prefill import Prefill
from kvaudit.replay.device.stopwatch import Stopwatch
from kvaudit.replay.device.tiers import Pool
from kvaudit.replay.engine import CacheSettings
from kvaudit.replay.models.interner import PlainInterner
from kvaudit.replay.models.paged import VllmPool
from kvaudit.replay.models.sglang import SglangCache
from kvaudit.replay.models.sglang_releases import rules as sglang_rules
from kvaudit.replay.models.tiers import LowerTiers, WritePolicy
from kvaudit.replay.models.vllm_releases import FreeOrder
from kvaudit.replay.tiers import TieredCache, TierRules

BLOCK = 16
SHARED, OWN = 2000, 200
"""The textbook case: a prefix that all requests have, and what each has of its own."""
SMALL_SHAPES = {
    "14M": {"hidden_size": 256, "intermediate_size": 768, "num_attention_heads": 8},
    "60M": {"hidden_size": 640, "intermediate_size": 1920, "num_attention_heads": 10},
}
LAYERS = 8
"""Of the small shapes, with half as many heads of keys and values as of queries."""
LARGE_SHAPES = ("llama-3.2-1b", "llama-3.1-8b")


class Load(NamedTuple):
    """What fits a device in the time there is."""

    hashed_tokens: int
    searched: int
    lengths: Sequence[int]
    shapes: Sequence[str]
    repeats: int


LOADS = {
    "cpu": Load(2_000_000, 5_000, (), tuple(SMALL_SHAPES), 3),
    "cuda": Load(50_000_000, 100_000, (2_048, 8_192, 32_768), LARGE_SHAPES, 5),
}


class Failed(Exception):
    """A check that does not hold."""


def expect(holds: bool, said: str) -> None:
    """Print a check, or end the run."""
    print(f"  {'ok' if holds else 'FAILED'}  {said}", flush=True)
    if not holds:
        raise Failed(said)


def config_of(shape: str) -> dict[str, Any]:
    """Return the configuration of one of the shapes by name."""
    if shape not in SMALL_SHAPES:
        return dict(load_model_shape(shape).outer)
    fields = SMALL_SHAPES[shape]
    return (
        TINY.config
        | fields
        | {
            "num_hidden_layers": LAYERS,
            "num_key_value_heads": fields["num_attention_heads"] // 2,
            "vocab_size": 16_000,
        }
    )


def prompts_of(rows: Sequence[tuple[np.ndarray, int]]) -> PromptBatch:
    """Return requests, each given by its prompt and known output and the length of the prompt."""
    lengths = np.array([prompt for _, prompt in rows])
    all_units = [units for units, _ in rows]
    facts = [
        RequestFacts(str(i), None, None, None, None, None, None, None, None)
        for i in range(len(rows))
    ]
    return PromptBatch(
        requests=facts,
        units=np.concatenate(all_units).astype(np.int32),
        offsets=np.cumsum([0, *map(len, all_units)]),
        prompt_units=lengths,
        unit_tokens=np.ones(len(rows), np.int64),
        prompt_tokens=lengths,
        output_tokens=np.array([len(units) - prompt for units, prompt in rows]),
        namespaces=np.zeros(len(rows), np.int32),
        namespace_names=["all"],
    )


def chats(requests: int, seed: int) -> PromptBatch:
    """Return chats that take turns, with answers that the next turn repeats."""
    rng = np.random.default_rng(seed)
    heads = rng.integers(0, 1000, (3, 150))
    texts = [heads[i % 3] for i in range(6)]
    rows = []
    for _ in range(requests):
        i = rng.integers(len(texts))
        asked = np.concatenate([texts[i], rng.integers(0, 1000, rng.integers(5, 60))])
        answer = rng.integers(0, 1000, rng.integers(1, 40))
        texts[i] = np.concatenate([asked, answer])
        rows.append((texts[i], len(asked)))
    return prompts_of(rows)


def settings(capacity_blocks: int | None) -> CacheSettings:
    """Return what an assembly needs to know of the cache."""
    return CacheSettings(
        version=None,
        block_size=BLOCK,
        capacity_blocks=capacity_blocks,
        policy="lru",
        eagle=False,
        schedule="sequential",
        small=True,
    )


def keys_on(device: torch.device, arrays: tuple[np.ndarray, np.ndarray, np.ndarray]) -> BlockKeys:
    """Hash units, offsets and namespaces on a device."""
    units, offsets, namespaces = (torch.from_numpy(a).to(device) for a in arrays)
    return block_keys(units, offsets, namespaces, BLOCK)


def check_matches(device: torch.device) -> None:
    """Hash and match on the device, against the definition on text."""
    prompts = chats(300, seed=1)
    blocks = PlainInterner(BLOCK).intern(prompts)
    arrays = (prompts.units, prompts.offsets, prompts.namespaces)
    on_device = keys_on(device, arrays)
    on_host = keys_on(torch.device("cpu"), arrays)
    expect(torch.equal(on_device.keys.cpu(), on_host.keys), "block keys equal the CPU's")
    found = leading_matches(on_device, 300).cpu().numpy()
    expect(
        bool((found == known_blocks(blocks)).all()),
        "longest cached prefixes equal those of the text",
    )


def check_execution(device: torch.device, dtype: str) -> None:
    """Run chats through real tiers behind both engines: hits, logits, a restart, damage."""
    prompts = chats(40, seed=2)
    for engine in ("vllm", "sglang"):
        with tempfile.TemporaryDirectory() as folder:
            ran = executed(device, dtype, engine, prompts, Path(folder))
            done, places = ran.executed, ran.executor.places
            read = [place.totals().read_bytes for place in places]
            name = f"{engine} {dtype}"
            expect(not done.differing and done.requests == 40, f"{name}: hits as simulated")
            expect(min(read) > 0, f"{name}: all three tiers were read")
            expect(done.leaked_blocks == 0, f"{name}: no block leaked")
            equal = [c.same_split_equal for c in done.checked.values()]
            expect(all(equal), f"{name}: KV and logits equal bit for bit, {len(equal)} requests")
            again = executed(device, dtype, engine, prompts, Path(folder))
            expect(not again.executed.differing, f"{name}: files outlive the process, hits as told")
            for path in Path(folder).glob("*/*.safetensors"):
                data = bytearray(path.read_bytes())
                data[-3] ^= 1
                path.write_bytes(data)
            hurt = executed(device, dtype, engine, prompts, Path(folder))
            last = hurt.executor.places[-1]
            found = isinstance(last, FileTier) and last.damaged_blocks > 0
            expect(found, f"{name}: flipped bytes in files are found")


def executed(
    device: torch.device, dtype: str, engine: str, prompts: PromptBatch, folder: Path
) -> DeviceCache:
    """Return the cache after it served all prompts on the device."""
    plan = ExecutionPlan(model="tiny", config=TINY.config, dtype=dtype, checks=20, kv_folder=folder)
    assembly = assemble(DevicePlan(device=device.type, execution=plan), settings(48))
    first: Any = VllmPool(capacity_blocks=48, block_size=BLOCK, free_order=FreeOrder.ALL_TO_TAIL)
    if engine == "sglang":
        rules = sglang_rules("0.5.23")
        first = SglangCache(capacity_tokens=48 * BLOCK, page_size=BLOCK, rules=rules)
    names = ("hbm", "dram", "disk")
    tiers = TieredCache(
        first,
        LowerTiers([60, 200], policy=WritePolicy.THROUGH),
        TierRules(names=names, whole_prompt=False, keeps_output=True),
        BLOCK,
    )
    cache = assembly.cache(tiers, names=names, lower_blocks=[60, 200], whole_prompt=False)
    cache.replay(prompts, PlainInterner(BLOCK).intern(prompts))
    return cache


class Tiers(NamedTuple):
    """A model with room for a prefix in every tier, for timing."""

    assembly: Assembly
    executor: Executor


def timed_tiers(device: torch.device, dtype: str, shape: str, blocks: int, folder: str) -> Tiers:
    """Load a shape with random weights, and make its tiers."""
    plan = ExecutionPlan(model=shape, config=config_of(shape), dtype=dtype)
    assembly = assemble(DevicePlan(device=device.type, execution=plan), settings(blocks))
    model = assembly.model
    host = Pool("dram", model.kv, block=BLOCK, capacity_blocks=blocks, device=device, on_host=True)
    files = FileTier(
        "disk", Path(folder), model.kv, block=BLOCK, identity=model.identity, device=device
    )
    prefill = Prefill(model, plan.chunk_tokens)
    return Tiers(assembly, Executor(prefill, [assembly.pool, host, files], BLOCK))


class Times(NamedTuple):
    """Seconds to the last logits of one prompt."""

    off: float
    on: list[float]
    """By tier."""
    equal: bool
    """Whether KV and logits were those of the same pieces computed anew, in every run."""
    largest_difference: float
    gb_s: list[float]
    """10^9 bytes a second out of each tier."""


def ttft(tiers: Tiers, shared: int, own: int, repeats: int) -> Times:
    """Time a prompt without reuse and with its shared part in each tier, medians of the runs."""
    executor = tiers.executor
    rng = np.random.default_rng(shared)
    prefix = rng.integers(0, 1000, shared).astype(np.int32)
    digests = [bytes([7]) * 28 + n.to_bytes(4, "big") for n in range(shared // BLOCK)]
    executor.serve(Prompt(units=prefix, prompt_tokens=shared, digests=digests, usable_blocks=0),
                   measured=False)  # fmt: skip
    executor.hold([digests, digests, digests])
    off, on, checks, rates = [], [], [], []
    for number, place in enumerate(executor.places):
        held = [digests if other >= number else [] for other in range(3)]
        executor.hold(held)
        seconds = []
        before = place.totals()
        for run in range(repeats + 1):
            tail = rng.integers(0, 1000, own).astype(np.int32)
            prompt = Prompt(
                units=np.concatenate([prefix, tail]),
                prompt_tokens=shared + own,
                digests=digests,
                usable_blocks=len(digests),
            )
            ran = executor.serve(prompt, measured=True, off_first=bool(run % 2))
            assert ran.checked is not None
            if ran.hit_tokens[number] != shared // BLOCK * BLOCK:
                raise Failed(f"{ran.hit_tokens} of {shared} tokens were hit")
            checks.append(ran.checked)
            if run:  # the first warms up
                seconds.append(ran.checked.on_s)
                off.append(ran.checked.off_s)
        after = place.totals()
        rates.append((after.read_bytes - before.read_bytes) / (after.read_s - before.read_s) / 1e9)
        on.append(float(np.median(seconds)))
    return Times(
        off=float(np.median(off)),
        on=on,
        equal=all(c.same_split_equal for c in checks),
        largest_difference=max(c.difference for c in checks),
        gb_s=rates,
    )


def report_ttft(device: torch.device, load: Load, deadline: float) -> None:
    """Print times of every shape and length, beside what a roofline says."""
    known = accelerator_of(device)
    print("\nseconds to the last logits, medians; the rest of each prompt is 200 tokens")
    print(f"  {'shape':14}{'type':6}{'prompt':>8}{'off':>10}{'L1':>10}{'L2':>10}{'L3':>10}"
          f"{'saved':>8}{'FLOPs':>8}{'modelled':>18}")  # fmt: skip
    dtypes = ("fp32", "bf16") if device.type == "cpu" else ("bf16",)
    for shape in load.shapes:
        for dtype in dtypes:
            lengths = [SHARED + OWN, *(n for n in load.lengths if n != SHARED + OWN)]
            for length in lengths:
                if time.monotonic() > deadline:
                    print(f"  left out for lack of time: {shape} {dtype} {length}")
                    continue
                _one_ttft(device, shape, dtype, length, load.repeats, known)


def _one_ttft(
    device: torch.device,
    shape: str,
    dtype: str,
    length: int,
    repeats: int,
    known: Accelerator | None,
) -> None:
    shared = (length - OWN) // BLOCK * BLOCK
    with tempfile.TemporaryDirectory() as folder:
        tiers = timed_tiers(device, dtype, shape, shared // BLOCK, folder)
        times = ttft(tiers, shared, length - shared, repeats)
    fields = tiers.assembly.plan.config
    priced = shape_of(fields, shape)
    tokens, hits = np.array([length]), np.array([shared])
    work = priced.work()
    without = work.prefill_flops_each(tokens, np.zeros_like(hits))[0]
    saved = 1 - work.prefill_flops_each(tokens - hits, hits)[0] / without
    modelled = "-"
    if known is not None:
        roofline = make_roofline(priced, known)
        told = [
            roofline.prefill_s(tokens, np.zeros_like(hits)),
            roofline.prefill_s(tokens - hits, hits),
        ]
        modelled = " → ".join(f"{float(s[0]) * 1e3:.1f}" for s in told) + " ms"
    cells = "".join(f"{s * 1e3:>7.1f} ms" for s in (times.off, *times.on))
    print(
        f"  {shape:14}{dtype:6}{length:>8,}{cells}{1 - times.on[0] / times.off:>8.1%}{saved:>8.1%}"
        f"{modelled:>18}",
        flush=True,
    )
    rates = ", ".join(f"L{n} {rate:.2f}" for n, rate in enumerate(times.gb_s, start=1))
    link = "" if known is None else f" (the link to the host: {known.host_bandwidth / 1e9:.0f})"
    print(f"  {'':20}copies, GB/s: {rates}{link}; {length - shared:,} of {length:,} computed")
    expect(
        times.equal,
        f"{shape} {dtype} {length}: equal bit for bit through L1, L2, L3; without reuse off by "
        f"{times.largest_difference:.1e} of the largest logit",
    )


def shape_of(config: Mapping[str, Any], name: str) -> ModelShape:
    """Return the priced shape of a configuration."""
    return shape_from_config(config, name=name, source="bench.gpu")


def accelerator_of(device: torch.device) -> Accelerator | None:
    """Return the table's entry for the device; a CPU has none."""
    if device.type != "cuda":
        return None
    return accelerator_named(torch.cuda.get_device_name(device))


def report_hashing(device: torch.device, load: Load) -> None:
    """Print what hashing and matching take on the device and on the CPU, keys compared."""
    rng = np.random.default_rng(3)
    requests = load.hashed_tokens // 2_000
    heads = rng.integers(0, 100_000, (50, 1_600)).astype(np.int32)
    units = np.concatenate(
        [
            np.concatenate([heads[i % 50], rng.integers(0, 100_000, 400).astype(np.int32)])
            for i in range(requests)
        ]
    )
    offsets = np.arange(requests + 1, dtype=np.int64) * 2_000
    arrays = (units, offsets, np.zeros(requests, np.int32))
    print("\nhashing and matching blocks, from host memory to matched prefixes")
    results = []
    for place in dict.fromkeys((torch.device("cpu"), device)):

        def once(place: torch.device = place) -> torch.Tensor:
            return leading_matches(keys_on(place, arrays), requests).cpu()

        seconds, matched = best(once, place, load.repeats)
        results.append(matched)
        print(f"  {place.type:6}{len(units) / seconds / 1e6:>10,.0f} M tokens/s", flush=True)
    expect(all(torch.equal(results[0], other) for other in results), "matches are equal")


def report_search(device: torch.device, load: Load) -> None:
    """Print what a semantic search takes: all texts against all, near pairs found."""
    from kvaudit.replay.semantic.search import NumpyProducts, TorchProducts

    rng = np.random.default_rng(4)
    vectors = rng.standard_normal((load.searched, 384)).astype(np.float32)
    vectors[1::2] = vectors[::2] + 0.3 * rng.standard_normal(vectors[::2].shape)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = np.arange(min(2_000, load.searched))
    columns = np.arange(load.searched)
    floors = np.full(len(rows), 0.9)
    print(f"\nsemantic search: {len(rows):,} texts among {len(columns):,} of 384 dimensions")
    found = []
    on_cpu = NumpyProducts(vectors, 0.9)
    on_device = TorchProducts(vectors, torch, device.type)
    for name, products, place in (
        ("numpy", on_cpu, torch.device("cpu")),
        (f"torch {device.type}", on_device, device),
    ):
        seconds, pairs = best(partial(products.above, rows, columns, floors), place, load.repeats)
        told = set(zip(pairs.rows.tolist(), pairs.columns.tolist(), strict=True))
        exact = {
            (row, column)
            for row, column in told
            if float(vectors[row].astype(float) @ vectors[column].astype(float)) >= 0.9
        }
        found.append(exact)
        print(f"  {name:12}{seconds * 1e3:>10,.1f} ms, {len(exact):,} pairs", flush=True)
    expect(found[0] == found[1], "near pairs are equal")


def best(run: Callable[[], Any], device: torch.device, repeats: int) -> tuple[float, Any]:
    """Return the median seconds after a warm-up, and what the last run returned."""
    result = run()
    seconds = []
    for _ in range(repeats):
        watch = Stopwatch(device)
        result = run()
        seconds.append(watch.stop())
    return float(np.median(seconds)), result


def steps(
    device: torch.device, load: Load, deadline: float
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the steps in order, each with its name; checks come first."""
    yield "checks", partial(check_matches, device)
    for dtype in ("fp32", "bf16"):
        yield f"execution in {dtype}", partial(check_execution, device, dtype)
    yield "hashing", partial(report_hashing, device, load)
    yield "search", partial(report_search, device, load)
    yield "times", partial(report_ttft, device, load, deadline)


def main() -> int:
    """Run everything that fits into the limit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument(
        "--limit", type=float, default=450, help="seconds after which no step begins"
    )
    given = parser.parse_args()
    began = time.monotonic()
    device = choose_device(given.device)
    facts = device_facts(device, dtype="fp32")
    print(f"{facts.name} · {facts.driver or 'no driver'} · torch {facts.torch} · transformers "
          f"{facts.transformers} · Python {platform.python_version()} · "
          f"{facts.threads or '-'} threads\n\nchecks")  # fmt: skip
    deadline = began + given.limit
    try:
        for name, step in steps(device, LOADS[device.type], deadline):
            if time.monotonic() > deadline:
                print(f"left out for lack of time: {name}")
                continue
            step()
    except Failed as failed:
        print(f"failed: {failed}")
        return 1
    print(f"\nall checks hold; {time.monotonic() - began:.0f} s on {device.type}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
