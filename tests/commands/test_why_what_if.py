"""What a fix is said to bring, against the same traffic made without the fault."""

import pytest
from test_why import called, made

from kvaudit.traffic.registry import all_faults

FAULTS = sorted(f.name for f in all_faults().values() if f.cause and f.name != "calendar-date")
PLAN = {"requests": 80, "tenants": 2}
SOUND = {}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fix_brings_what_the_log_without_the_fault_has(fault, tmp_path, capsys):
    if not SOUND:
        sound = called(capsys, made(tmp_path / "sound.jsonl", **PLAN), "--what-if", "none")
        SOUND["rate"] = sound["hit_rate"]
        assert all(group["what_if"] is None for group in sound["groups"])
    report = called(
        capsys,
        made(
            tmp_path / "faulty.jsonl", (fault, 0.5 if fault == "whitespace-drift" else 1.0), **PLAN
        ),
    )
    cause = all_faults()[fault].cause
    fixed = next(g["what_if"] for g in report["groups"] if g["cause"] == cause)
    assert fixed["hit_rate_before"] == report["hit_rate"]
    assert fixed["hit_rate_after"] == pytest.approx(SOUND["rate"], abs=0.02)
    rate = fixed["hit_rate_after"] * report["prompt_tokens"]
    assert fixed["saved_tokens"] == pytest.approx(rate - report["hit_tokens"], rel=0.1)
    assert fixed["helps"] is (fixed["saved_tokens"] > 0)
    assert (fixed["saved_flops"], fixed["usd"]) == (None, None)
