"""The semantic replay at scale, and its decisions against the cache that reads like its rules.

    python -m bench.semantic --work ~/loads [--only scale|equal|sweep] [--requests N]

* ``scale``: the whole command on 100,000 short questions, once with an empty cache of vectors and
  once with a full one, as processes of their own. The load is made by kvaudit's own generator;
  ``--tail`` near 0 makes nearly all of them different.
* ``equal``: 20,000 requests under every rule at once, decided one by one by ``reference``, in
  blocks, and on a graph; the three must be the same, request by request.
* ``sweep``: sixteen thresholds on the graph against a replay of blocks at each, which must agree.
"""

import argparse
import os
import shutil
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from bench.measure import run
from kvaudit.core.requests import Request
from kvaudit.logs.writing.records import as_row, write_lines
from kvaudit.replay.semantic import blocks, graph, reference
from kvaudit.replay.semantic.gather import gather
from kvaudit.replay.semantic.policy import SemanticPolicy
from kvaudit.replay.semantic.run import Prepared, prepare
from kvaudit.replay.semantic.serving import Served
from kvaudit.traffic.questions import QuestionPlan, generate_questions

POLICY = '[semantic]\nencoder = "use"\nthreshold = 0.9\n'
EVERY_RULE = SemanticPolicy.model_validate(
    {
        "encoder": "use",
        "threshold": 0.85,
        "scenario": "column:scenario",
        "thresholds": {"personal": 0.95},
        "deny": ["numeric"],
        "namespace": ["tenant"],
        "exact_tier": True,
        "entity_check": True,
        "ttl": {"seconds": 14_400.0},
        "ttls": {"real-time": 300.0},
        "capacity": 3000,
        "eviction": "lru",
    }
)
VARIANTS = {
    "fixed life, least recently used": EVERY_RULE,
    "sliding life, least often hit, every request stored": EVERY_RULE.model_copy(
        update={
            "ttl": EVERY_RULE.ttl.model_copy(update={"sliding": True}),  # type: ignore[union-attr]
            "eviction": "lfu",
            "insert": "always",
        }
    ),
}


def questions(requests: int, tail: float) -> list[Request]:
    """Make the load."""
    return list(generate_questions(QuestionPlan(requests=requests, tail=tail)))


def scale(work: Path, requests: int, tail: float) -> None:
    """Replay the load twice, and say what each run took."""
    log, policy, vectors = work / "questions.jsonl", work / "policy.toml", work / "vectors"
    made = questions(requests, tail)
    write_lines((as_row(request) for request in made), log)
    policy.write_text(POLICY)
    shutil.rmtree(vectors, ignore_errors=True)
    os.environ["KVAUDIT_CACHE_DIR"] = str(vectors)
    texts = len({request.prompt for request in made})
    print(f"{requests:,} questions, {texts:,} different, tail {tail}")
    command = [sys.executable, "-m", "kvaudit", "replay", log, "--semantic", policy]
    for name in ("no vectors yet", "vectors on disk"):
        cost = run([*command, "--format", "json"])
        print(f"{name}: {cost.cpu_s:.1f} s CPU, {cost.wall_s:.1f} s, {cost.peak_mb:.0f} MB")


def prepared(policy: SemanticPolicy, requests: int, tail: float) -> Prepared:
    """Encode the load under a policy."""
    return prepare(gather(questions(requests, tail), policy), policy)


def equal(requests: int, tail: float) -> None:
    """Hold the three ways to decide equal."""
    for name, policy in VARIANTS.items():
        ready = prepared(policy, requests, tail)
        lookups, rules = ready.lookups, ready.rules
        near = graph.build(lookups, [float(lookups.cosines.min())])
        slow, slow_s = timed(partial(reference.serve, lookups, rules))
        fast, fast_s = timed(partial(blocks.serve, lookups, rules))
        swept, swept_s = timed(partial(graph.serve, lookups, rules, near))
        check(slow, fast)
        check(slow, swept)
        hits = slow.donors >= 0
        print(
            f"{name}: {len(hits):,} of {requests:,} looked up, {int(hits.sum()):,} hits "
            f"({int(slow.exact.sum()):,} exact), {int(slow.vetoed.sum()):,} vetoed; one by one "
            f"{slow_s:.1f} s CPU, in blocks {fast_s:.1f} s, on a graph {swept_s:.1f} s: equal"
        )


def sweep(requests: int, tail: float) -> None:
    """Hold sixteen thresholds on a graph equal to sixteen replays."""
    ready = prepared(SemanticPolicy(encoder="use", threshold=0.9), requests, tail)
    cosines = [round(0.99 - 0.01 * step, 2) for step in range(16)]
    near, build_s = timed(partial(graph.build, ready.lookups, cosines))
    total = {"graph": 0.0, "blocks": 0.0}
    swept = 0
    for cosine in cosines:
        if cosine < near.floor:
            continue
        lookups = replace(ready.lookups, cosines=np.full(len(ready.inside), cosine))
        on_graph, graph_s = timed(partial(graph.serve, lookups, ready.rules, near))
        alone, blocks_s = timed(partial(blocks.serve, lookups, ready.rules))
        check(alone, on_graph)
        total["graph"] += graph_s
        total["blocks"] += blocks_s
        swept += 1
    print(
        f"{requests:,} requests: a graph of {near.edges:,} pairs from {near.floor} on in "
        f"{build_s:.1f} s CPU; {swept} thresholds in {total['graph']:.1f} s, by themselves "
        f"{total['blocks']:.1f} s: equal"
    )


def timed(work):  # type: ignore[no-untyped-def]
    """Return a result and its CPU seconds."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def check(one: Served, other: Served) -> None:
    """Stop where any request was decided otherwise."""
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", choices=["scale", "equal", "sweep"])
    parser.add_argument("--requests", type=int)
    parser.add_argument("--tail", type=float, default=0.12)
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("KVAUDIT_CACHE_DIR", str(asked.work / "vectors"))
    if asked.only in (None, "scale"):
        scale(asked.work, asked.requests or 100_000, asked.tail)
    if asked.only in (None, "equal"):
        equal(asked.requests or 20_000, asked.tail)
    if asked.only in (None, "sweep"):
        sweep(asked.requests or 100_000, asked.tail)


if __name__ == "__main__":
    main()
