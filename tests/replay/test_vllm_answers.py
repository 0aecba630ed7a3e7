"""What vLLM's own scheduler and cache classes answered on random logs of tiny prompts.

Each line of ``vllm_answers.jsonl`` is one log with its answers: made by a seeded generator, driven
through the classes of the named release (``vllm/v1/core``) on a CPU. A request is its prompt and
its output as digits, its namespace, and in step runs the step in which it arrives and its priority.
Runs without ``cached`` for a request: it was not admitted.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from replay_logs import Line, batch

from kvaudit.core.prompts import RequestFacts
from kvaudit.replay.caches import make_interner
from kvaudit.replay.kernels.scheduled import CompiledEngineRun
from kvaudit.replay.models.engine_run import ONE_BY_ONE, EngineRun, EngineSetup
from kvaudit.replay.models.kv_groups import parse_groups
from kvaudit.replay.models.layout import Layout
from kvaudit.replay.models.step_limits import StepLimits
from kvaudit.replay.models.vllm_releases import rules_of

ANSWERS = [
    json.loads(line)
    for line in (Path(__file__).parent / "vllm_answers.jsonl").read_text("utf-8").splitlines()
]
VERSIONS = sorted({a["version"] for a in ANSWERS}, key=lambda v: [int(n) for n in v.split(".")])


def digits(text):
    return tuple(map(int, text))


def outcome_of(model, asked):
    in_steps = "budget" in asked
    log = [Line(digits(r[0]), digits(r[1]), namespace=r[2]) for r in asked["requests"]]
    facts = [
        RequestFacts(str(i), None, r[3], None, None, None, None, None, None, r[4])
        if in_steps
        else RequestFacts(str(i), None, None, None, None, None, None, None, None)
        for i, r in enumerate(asked["requests"])
    ]
    limits = ONE_BY_ONE
    if in_steps:
        limits = StepLimits(
            max_num_batched_tokens=asked["budget"],
            max_num_seqs=asked["seqs"],
            by_priority=asked["priority"],
            long_prefill_tokens=asked["threshold"],
            watermark=asked["watermark"],
        )
    setup = EngineSetup(
        capacity_blocks=asked["capacity"],
        layout=Layout(
            groups=parse_groups(asked["groups"]),
            block_size=asked["block_size"],
            eagle=asked["eagle"],
            retention_tokens=asked["retention"],
            budget=asked["budget"] if in_steps else None,
        ),
        rules=rules_of(asked["version"]),
        limits=limits,
        in_order=not in_steps,
    )
    prompts = replace(batch(log), requests=facts)
    blocks = make_interner(block_units=asked["block_size"], small=True).intern(prompts)
    return model(setup).replay(prompts, blocks)


@pytest.mark.parametrize("model", [EngineRun, CompiledEngineRun])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_engines_own_classes(version, model):
    for asked in (a for a in ANSWERS if a["version"] == version):
        outcome = outcome_of(model, asked)
        cached = [
            tokens if admitted else None
            for tokens, admitted in zip(
                outcome.cached_tokens.tolist(), outcome.admitted.tolist(), strict=True
            )
        ]
        assert cached == asked["cached"], asked
        if "budget" not in asked:
            continue
        activity = outcome.activity
        assert outcome.resumed_cached_tokens.tolist() == asked["resumed"], asked
        started = zip(activity.started.tolist(), asked["started"], strict=True)
        assert all(told is None or ours == told for ours, told in started), asked
        if None not in cached:  # the engine never let go of what does not fit, and counted on
            assert [
                activity.counted_queries,
                activity.counted_hits,
                activity.counted_preempted_queries,
                activity.counted_preempted_hits,
            ] == asked["counters"], asked
