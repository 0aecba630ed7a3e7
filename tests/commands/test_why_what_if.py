"""What a fix is said to bring, against the same traffic made without the fault."""

import json
from uuid import NAMESPACE_URL, uuid5

import pytest
from test_why import called, lost, made, written

from kvaudit.cli import run
from kvaudit.core.errors import Exit
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
    assert fixed["helps"]
    assert fixed["saved_tokens"] > 0
    assert (fixed["saved_flops"], fixed["usd"]) == (None, None)


def test_a_value_that_is_moved_is_left_out_of_the_rate_and_said(tmp_path, capsys):
    rules = " ".join(
        f"Rule {n}: look before you change what step {n + 2} reads." for n in range(20)
    )
    log = [
        {"id": str(n), "messages": [
            {"role": "system", "content": f"Trace {uuid5(NAMESPACE_URL, str(n))}\n{rules}"},
            {"role": "user", "content": f"Question {n}: what does step {n} read?"},
        ]}
        for n in range(40)
    ]  # fmt: skip
    sound = [
        {**each, "messages": [{"role": "system", "content": rules}, each["messages"][1]]}
        for each in log
    ]
    rate = called(capsys, written(tmp_path / "sound.jsonl", sound))["hit_rate"]
    path = written(tmp_path / "log.jsonl", log)
    fixed = called(capsys, path)["groups"][0]["what_if"]
    assert fixed["hit_rate_after"] == pytest.approx(rate, abs=0.02)
    assert fixed["moved_tokens"] > 20 * 40
    assert fixed["hit_rate_moved"] < rate - 0.02
    run(["why", path, "--format", "full"])
    assert "without what is moved" in " ".join(capsys.readouterr().out.split())


TOKENS = [{"token_ids": [n % 3, *range(100 * (n % 3), 100 * (n % 3) + 63)]} for n in range(9)]


@pytest.mark.parametrize(
    ("log", "args", "cause", "fix", "after"),
    [
        # Three prompts of four blocks in turn, in a cache of eight: with sixteen all but the last
        # block of each prompt's repeats is a hit.
        (
            TOKENS,
            ["--capacity", "8blocks", "--schedule", "sequential"],
            "evicted",
            "double the capacity to 16 blocks",
            6 * 48 / (9 * 64),
        ),
        # One session, whose requests go round two replicas.
        (
            [{"token_ids": list(range(64)), "arrived_s": n, "session": "s"} for n in range(4)],
            ["--instances", "2"],
            "other-replica",
            "route by session-affinity",
            3 * 48 / (4 * 64),
        ),
    ],
)
def test_what_the_cache_lost_is_replayed_in_another(log, args, cause, fix, after, tmp_path, capsys):
    report = called(capsys, written(tmp_path / "log.jsonl", log), *args)
    group = next(g for g in report["groups"] if g["cause"] == cause)
    assert group["lost_tokens"] == sum(
        c["lost_tokens"] for c in report["causes"] if c["cause"] == cause
    )
    assert group["what_if"]["fix"] == fix
    assert group["what_if"]["hit_rate_after"] == pytest.approx(after)
    assert group["what_if"]["helps"]


def test_a_fix_is_priced_with_a_model_and_a_price(tmp_path, capsys):
    path = made(tmp_path / "log.jsonl", ("random-id", 1.0), requests=40)
    model = ["--model", "llama-3.1-8b"]
    group = called(capsys, path, *model)["groups"][0]
    fixed = group["what_if"]
    assert group["lost_flops"] > 2 * 6e9 * group["lost_tokens"]
    assert group["lost_usd"] is None
    # At least two FLOPs for each of eight thousand million weights and token.
    assert fixed["saved_flops"] > 2 * 6e9 * fixed["saved_tokens"]
    assert fixed["usd"] is None
    price = ["--accelerator", "h100", "--price-per-hour", "3"]
    dear = called(capsys, path, *model, *price)["groups"][0]["what_if"]
    assert dear["saved_flops"] == fixed["saved_flops"]
    assert dear["usd"] > 0
    hosted = called(capsys, path, "--engine", "openai", "--model", "gpt-4.1")["groups"][0]
    # 2 USD for a million tokens, and half a dollar where they were cached.
    assert hosted["lost_usd"] == pytest.approx(hosted["lost_tokens"] * 1.5 / 1e6)


def test_how_many_fixes_are_replayed_can_be_chosen(tmp_path, capsys):
    path = made(tmp_path / "log.jsonl", ("tool-order", 1.0), ("shuffled-examples", 1.0), **PLAN)
    one = called(capsys, path, "--what-if", "1")
    first, *others = one["groups"]
    assert first["what_if"] is not None
    assert {g["cause"] for g in others if g["what_if"] is None} == {"shuffled-examples"}
    assert any("--what-if all" in note["text"] for note in one["notes"])
    every = called(capsys, path, "--what-if", "all")
    assert all(g["what_if"]["helps"] for g in every["groups"])
    assert run(["why", path, "--what-if", "some"]) == Exit.ERROR
    assert "a number of fixes, all or none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fault", "hidden", "workload"),
    [
        ("random-id", "shuffled-examples", "labelling"),
        ("sub-day-clock", "tool-order", "agent"),
    ],
)
def test_what_stands_behind_a_fault_is_named_with_what_both_fixes_bring(
    fault, hidden, workload, tmp_path, capsys
):
    plan = {"workloads": (workload,)}
    sound = called(capsys, made(tmp_path / "sound.jsonl", **plan), "--what-if", "none")
    path = made(tmp_path / "log.jsonl", (fault, 1.0), (hidden, 1.0), **plan)
    report = called(capsys, path)
    first, *others = report["groups"]
    assert first["cause"] == fault
    following = first["next"]
    assert following["cause"] == hidden
    assert following["what_if"]["hit_rate_before"] == report["hit_rate"]
    assert following["what_if"]["hit_rate_after"] == pytest.approx(sound["hit_rate"], abs=0.02)
    assert following["what_if"]["saved_tokens"] > first["what_if"]["saved_tokens"]
    assert all(group["next"] is None for group in others)
    run(["why", path, "--format", "full"])
    assert f"with that fixed, {hidden}" in " ".join(capsys.readouterr().out.split())


def test_in_a_long_log_a_second_look_is_taken_if_asked_for(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("kvaudit.commands.fixes._LONG_LOG", 1000)
    plan = {"workloads": ("labelling",), "requests": 60}
    path = made(tmp_path / "log.jsonl", ("random-id", 1.0), ("shuffled-examples", 1.0), **plan)
    report = called(capsys, path)
    assert report["groups"][0]["next"] is None
    assert any("stands behind" in note["text"] for note in report["notes"])
    assert called(capsys, path, "--what-if", "all")["groups"][0]["next"] is not None


def test_nothing_is_said_to_stand_behind_a_fault_that_is_alone(tmp_path, capsys):
    report = called(capsys, made(tmp_path / "log.jsonl", ("random-id", 1.0), requests=60))
    assert report["groups"][0]["what_if"]["helps"]
    assert all(group["next"] is None for group in report["groups"])


def test_each_trim_is_priced(tmp_path, capsys):
    plan = {"requests": 60, "tenants": 1, "workloads": ("support",)}
    path = made(tmp_path / "log.jsonl", ("history-trimmed", 1.0), **plan)
    group = called(capsys, path, "--what-if", "none")["groups"][0]
    trims = group["trims"]
    assert (trims["trims"], trims["again_tokens"]) == (group["requests"], group["lost_tokens"])
    assert (trims["read_share"], trims["break_even_turns"]) == (None, None)
    dear = called(capsys, path, "--what-if", "none", "--engine", "openai", "--model", "gpt-4.1")[
        "groups"
    ][0]["trims"]
    one = dear["most"][0]
    # A cached token of this model costs a quarter: three such saved for each one computed again.
    assert dear["read_share"] == pytest.approx(0.25)
    pays = 3 * one["again_tokens"] / one["removed_tokens"]
    assert pays <= one["break_even_turns"] < pays + 1


def test_a_task_in_front_of_fixed_text_in_a_prompt_that_is_one_text(tmp_path, capsys):
    rules = "\n".join(
        f"Rule {n}: look before you change what step {n + 2} reads." for n in range(40)
    )
    log = [
        {
            "id": f"{task}-{turn}", "session": f"s{task}", "arrived_s": 10 * task + turn,
            "prompt": "<issue>\nConsider this report:\n"
            + "\n".join(f"{word} of part {task} fails {n} times." for n in range(8))
            + f"\n</issue>\n{rules}\n" + "".join(f"Step {task}.{n} done.\n" for n in range(turn)),
        }
        for task, word in enumerate(("pump", "valve", "wheel", "gauge"))
        for turn in range(3)
    ]  # fmt: skip
    path = written(tmp_path / "log.jsonl", log)
    report = called(capsys, path, "--input-format", "record", "--show-text")
    assert [group["cause"] for group in report["groups"]] == ["user-text-first"]
    group = report["groups"][0]
    assert (group["requests"], group["template"]) == (3, "Consider this report:⟨…⟩")
    # Each task's first request computes the rules again; behind them, the task comes once each.
    assert group["what_if"]["helps"]
    assert group["what_if"]["saved_tokens"] >= 0.9 * group["lost_tokens"]


def test_of_two_faults_in_lines_that_follow_each_is_moved_alone(tmp_path, capsys):
    rules = "\n".join(
        f"Rule {n}: look before you change what step {n + 2} reads." for n in range(60)
    )

    def log(kept=lambda n: True):
        for n in range(40):
            head = f"Call number {n:05d}\n" if kept(n) else ""
            yield {"id": str(n), "messages": [
                {"role": "system", "content": f"{head}Request id: {uuid5(NAMESPACE_URL, str(n))}\n"
                f"{rules}"},
                {"role": "user", "content": f"What is next after {n}?"},
            ]}  # fmt: skip

    report = called(capsys, written(tmp_path / "log.jsonl", log()), "--what-if", "all")
    assert [group["cause"] for group in report["groups"]] == ["counter"]
    fixed = report["groups"][0]["what_if"]
    sound = called(capsys, written(tmp_path / "id.jsonl", log(kept=lambda n: False)))
    assert fixed["hit_rate_after"] == pytest.approx(sound["hit_rate"], abs=0.01)
    assert not fixed["helps"], "the id behind it parts the prompts as well"
    assert sound["groups"][0]["what_if"]["hit_rate_after"] > 0.8


@pytest.mark.parametrize("indent", [None, 2])
def test_tools_that_a_prompt_of_one_text_lists_are_sent_in_full(indent, tmp_path, capsys):
    rules = "\n".join(
        f"Rule {n}: look before you change what step {n + 2} reads." for n in range(60)
    )
    tools = [{"name": f"find_{n}", "description": f"Finds what hall {n} keeps."} for n in range(6)]

    def log(leaves_out):
        for n in range(40):
            left_out = n * 5 % 6 if leaves_out else None
            listed = json.dumps([t for k, t in enumerate(tools) if k != left_out], indent=indent)
            yield {"id": str(n), "prompt": f"{listed}\n\n{rules}\n\nUser: What is in {n}?"}

    sound = called(capsys, written(tmp_path / "sound.jsonl", log(leaves_out=False)))
    report = called(capsys, written(tmp_path / "log.jsonl", log(leaves_out=True)))
    assert report["groups"][0]["cause"] == "tool-set"
    fixed = report["groups"][0]["what_if"]
    assert fixed["hit_rate_after"] == pytest.approx(sound["hit_rate"], abs=0.01)


def test_lines_of_one_kind_are_moved_together(tmp_path, capsys):
    rules = "\n".join(
        f"Rule {n}: look before you change what step {n + 2} reads." for n in range(60)
    )
    log = [
        {"id": str(n), "messages": [
            {"role": "system", "content": f"Request id: {uuid5(NAMESPACE_URL, str(n))}\n"
             f"Trace id: {uuid5(NAMESPACE_URL, str(-n))}\n{rules}"},
            {"role": "user", "content": f"What is next after {n}?"},
        ]}
        for n in range(1, 40)
    ]  # fmt: skip
    report = called(capsys, written(tmp_path / "log.jsonl", log))
    assert report["groups"][0]["what_if"]["hit_rate_after"] > 0.8


def test_passages_before_the_rules_of_some_requests_leave_nothing_behind(tmp_path, capsys):
    rules = "\n\n".join(f"Rule {n}: look before you change step {n + 2}." for n in range(60))
    documents = [
        " ".join(f"Part {letter}{n} is kept in hall {n * 7 % 31}." for n in range(12)) + "\n\n"
        for letter in "ABCDEF"
    ]

    def log(first):
        for n in range(40):
            found = documents[n % 6] + documents[(n * 5 + 1) % 6]
            inside = found if n % 5 in (1, 3) and first else ""
            asked = f"Which hall has part {n}?"
            yield {"id": str(n), "messages": [
                {"role": "system", "content": f"{inside}{rules}"},
                {"role": "user", "content": asked if inside else f"{found}{asked}"},
            ]}  # fmt: skip

    sound = called(capsys, written(tmp_path / "sound.jsonl", log(first=False)))
    report = called(capsys, written(tmp_path / "log.jsonl", log(first=True)))
    fixed = report["groups"][0]["what_if"]
    assert report["groups"][0]["cause"] == "retrieved-context-first"
    assert fixed["hit_rate_after"] == pytest.approx(sound["hit_rate"], abs=0.01)


def test_a_prefix_that_came_back_too_late_is_kept_longer(tmp_path, capsys):
    text = " ".join(
        f"Rule {n}: look before you change what step {n + 2} reads." for n in range(200)
    )
    log = [
        {"id": str(n), "arrived_s": 7200.0 * n, "model": "gpt-4.1", "messages": [
            {"role": "system", "content": text}, {"role": "user", "content": f"Question {n}?"},
        ]}
        for n in range(2)
    ]  # fmt: skip
    report = called(capsys, written(tmp_path / "log.jsonl", log), "--engine", "openai")
    assert set(lost(report)) == {"expired"}
    fixed = report["groups"][0]["what_if"]
    assert fixed["fix"] == "ask for the longest lifetime, 24h"
    assert fixed["saved_tokens"] == lost(report)["expired"]
