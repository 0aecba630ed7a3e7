"""`kvaudit gate` as it is called: budgets, baselines, exit codes, summaries, bad input."""

import json

import jsonschema
import pytest

from kvaudit.cli import run
from kvaudit.commands.schema import Document, json_schema
from kvaudit.core.errors import Exit
from kvaudit.core.gate_figures import FIGURES
from kvaudit.logs.writing.records import write_records
from kvaudit.traffic.fault import Planted
from kvaudit.traffic.generate import TrafficPlan, generate

REPLAY = {
    "schema": 1,
    "log": {"requests": 50, "digest": "aa"},
    "engine": {"name": "vllm", "version": "0.33.0"},
    "prefix": {"hit_rate": 0.8, "requests": 50, "bounds": {"low": 0.7, "high": 0.8}},
    "sampling": {"unit": "session", "units": 40, "standard_error": 0.01},
    "semantic": None,
}
KEYS = {
    "schema": 1,
    "keys": [
        {"fields": ["a"], "requests": 9, "hits": 4, "wrong_hits": 3, "leaks": 2},
        {"fields": ["a", "tenant"], "requests": 9, "hits": 4, "wrong_hits": 1, "leaks": 0},
    ],
}
LINT = {
    "schema": 1,
    "checked": 3,
    "findings": [
        {"rule": "r", "path": "p", "severity": "error", "fingerprint": "1"},
        {"rule": "r", "path": "p", "severity": "warning", "fingerprint": "2"},
        {"rule": "s", "path": "p", "severity": "info", "fingerprint": "3"},
    ],
}
WHY = {"schema": 1, "log": {"requests": 5}, "causes": [], "groups": [], "lost_tokens": 250}
WHY |= {"prompt_tokens": 1000, "hit_rate": 0.5, "log_checks": [{"check": "duplicates"}]}
SWEEP = {
    "schema": 1,
    "requests": 5,
    "curve": [
        {"capacity_blocks": 512, "hit_rate": 0.2},
        {"capacity_blocks": 4096, "hit_rate": 0.6},
    ],
}
CALIBRATE = {"schema": 1, "requests": 90, "threshold": 0.9, "max_false_hit_rate": 0.05}
CALIBRATE |= {"curve": [], "labelled": 50, "false_hits": 2}
PAIRS = {"schema": 1, "traps": 40, "wrong": 1, "wrong_rate": 0.025, "same": 10, "served": 9}


def saved(name, document, **more):
    with open(name, "w") as file:
        json.dump(document | more, file)
    return name


def gated(capsys, *args):
    code = run(["gate", *args, "--format", "json"])
    out, err = capsys.readouterr()
    report = json.loads(out) if out else None
    if report is not None:
        jsonschema.validate(report, json_schema(Document.GATE))
    return code, report, err


VALUES = [
    (REPLAY, "hit-rate", 0.7),
    (REPLAY | {"prefix": {"hit_rate": 0.8}}, "hit-rate", 0.8),
    (REPLAY | {"reported": {"hit_rate": 0.4}}, "reported-hit-rate", 0.4),
    (REPLAY | {"savings": {"share": 0.3}}, "saved-flops", 0.3),
    (REPLAY | {"savings": {"ttft_s": {"on": {"p50": 0.2, "p99": 2}}}}, "ttft-p99", 2),
    (REPLAY | {"semantic": {"hits": 9, "false_hit_rate": 0.01}}, "false-hit-rate", 0.01),
    (REPLAY | {"semantic": {"hits": 0, "false_hit_rate": None}}, "false-hit-rate", 0),
    (REPLAY | {"semantic": {"hits": 9, "cross_tenant_hits": 4}}, "leaks", 4),
    (WHY, "lost-tokens", 250),
    (WHY, "lost-share", 0.25),
    (WHY, "hit-rate", 0.5),
    (WHY, "log-checks", 1),
    (SWEEP, "hit-rate", 0.2),
    (SWEEP, "hit-rate@4096", 0.6),
    (KEYS, "leaks", 2),
    (KEYS, "wrong-hits", 3),
    (LINT, "findings", 3),
    (LINT, "errors", 1),
    (LINT, "warnings", 1),
    (CALIBRATE, "false-hit-rate", 0.04),
    (PAIRS, "wrong-rate", 0.025),
]


@pytest.mark.parametrize(("document", "name", "value"), VALUES)
def test_a_figure_is_met_at_its_value_and_missed_beyond_it(document, name, value, capsys):
    saved("run.json", document)
    ceiling = name in FIGURES and FIGURES[name].at_most
    option, beyond = ("--fail-over", -0.001) if ceiling else ("--fail-under", 0.001)
    code, report, _ = gated(capsys, "run.json", option, f"{name}={value}")
    assert (code, report["passed"]) == (Exit.OK, True)
    budget = report["budgets"][0]
    assert (budget["name"], budget["limit"], budget["passed"]) == (name, value, True)
    assert budget["value"] == pytest.approx(value)
    if value + beyond >= 0:
        code, report, _ = gated(capsys, "run.json", option, f"{name}={value + beyond}")
        assert (code, report["passed"]) == (Exit.FINDINGS, False)
        assert report["reason"].startswith(f"failed: {name} is {value:g}")


def test_a_figure_that_no_run_has_is_missed_and_says_whose_it_is(capsys):
    saved("run.json", REPLAY)
    code, report, _ = gated(capsys, "run.json", "--fail-over", "leaks=0", "--fail-over", "errors=0")
    assert code == Exit.FINDINGS
    assert [b["value"] for b in report["budgets"]] == [None, None]
    assert "figure of kvaudit lint" in report["budgets"][0]["note"]
    assert "the run holds no such figure" in report["budgets"][1]["note"]


def test_a_baseline_that_has_none_of_the_figures_is_named(capsys):
    saved("run.json", REPLAY)
    saved("base.json", REPLAY | {"prefix": None})
    code, report, _ = gated(capsys, "run.json", "--baseline", "base.json")
    assert (code, report["passed"]) == (Exit.NOTHING_CHECKED, False)
    assert "base.json holds no figure" in report["reason"]


def test_limits_of_the_settings_hold_unless_the_call_says_others(capsys, tmp_path):
    (tmp_path / "kvaudit.toml").write_text(
        '[gate]\nfail-under = {hit-rate = "60%"}\nfail-over = {leaks = 0}\n'
        'baseline = "base.json"\nmax-drop = 0.2\n'
    )
    saved("base.json", REPLAY | {"prefix": {"hit_rate": 0.85, "requests": 50}})
    saved("run.json", REPLAY)
    saved("keys.json", KEYS)
    code, report, _ = gated(capsys, "run.json", "keys.json", "--fail-over", "leaks=2")
    assert code == Exit.OK
    assert {b["name"]: b["limit"] for b in report["budgets"]} == {"hit-rate": 0.6, "leaks": 2}
    assert report["changes"][0]["allowed"] == 0.2
    assert gated(capsys, "run.json", "keys.json")[0] == Exit.FINDINGS


def test_the_budgets_a_replay_was_called_with_are_kept(capsys):
    own = {"name": "saved-flops", "limit": 0.5, "value": 0.4, "passed": False, "at_most": False}
    saved("run.json", REPLAY | {"budgets": [own]})
    code, report, _ = gated(capsys, "run.json")
    assert (code, report["budgets"][0]["note"]) == (Exit.FINDINGS, "a budget of the run itself")


@pytest.mark.parametrize(
    ("document", "args"),
    [
        (REPLAY, []),
        (REPLAY | {"log": {"requests": 0}}, ["--fail-under", "hit-rate=0"]),
        (LINT | {"checked": 0, "findings": []}, ["--fail-over", "errors=0"]),
        (WHY | {"prompt_tokens": 0, "lost_tokens": 0}, ["--fail-over", "lost-tokens=9"]),
    ],
)
def test_nothing_to_judge_is_no_pass(document, args, capsys):
    saved("run.json", document)
    code, report, _ = gated(capsys, "run.json", *args)
    assert (code, report["passed"], report["judged"]) == (Exit.NOTHING_CHECKED, False, 0)


def test_one_run_without_requests_does_not_pass_beside_a_good_one(capsys):
    saved("run.json", REPLAY)
    saved("empty.json", REPLAY | {"log": {"requests": 0}})
    code, report, _ = gated(capsys, "run.json", "empty.json", "--fail-under", "hit-rate=0.1")
    assert (code, report["passed"]) == (Exit.NOTHING_CHECKED, False)


@pytest.mark.parametrize(("now", "code"), [(0.68, Exit.OK), (0.6799, Exit.FINDINGS)])
def test_on_the_same_log_a_drop_is_exact(now, code, capsys):
    saved("base.json", REPLAY)
    saved("run.json", REPLAY | {"prefix": {"hit_rate": now, "requests": 50}})
    got, report, _ = gated(capsys, "run.json", "--baseline", "base.json", "--max-drop", "0.02")
    assert got == code
    change = report["changes"][0]
    assert (change["basis"], change["low"]) == ("exact", None)


def other_log(rate, error=0.01, units=40, **more):
    sampling = {"unit": "session", "units": units, "standard_error": error}
    log = {"requests": 50, "digest": "bb"}
    return REPLAY | {"prefix": {"hit_rate": rate}, "log": log, "sampling": sampling} | more


@pytest.mark.parametrize(("rate", "code"), [(0.68, Exit.OK), (0.66, Exit.FINDINGS)])
def test_on_another_log_only_a_drop_beyond_chance_fails(rate, code, capsys):
    saved("base.json", REPLAY)
    saved("run.json", other_log(rate))
    got, report, _ = gated(capsys, "run.json", "--baseline", "base.json")
    change = report["changes"][0]
    assert got == code
    assert change["low"] == pytest.approx(rate - 0.7 - 1.96 * 2**0.5 * 0.01, abs=1e-4)
    assert change["high"] == pytest.approx(rate - 0.7 + 1.96 * 2**0.5 * 0.01, abs=1e-4)
    assert "sessions taken as independent" in change["basis"]


@pytest.mark.parametrize(
    ("run_", "why"),
    [
        (other_log(0.1, units=19), "19 sessions, fewer than the 20"),
        (other_log(0.1, error=None), "holds no standard error"),
    ],
)
def test_what_cannot_be_compared_is_said_and_not_judged(run_, why, capsys):
    saved("base.json", REPLAY)
    saved("run.json", run_)
    code, report, _ = gated(capsys, "run.json", "--baseline", "base.json")
    assert (code, report["changes"][0]["passed"]) == (Exit.NOTHING_CHECKED, None)
    assert why in report["reason"]


def test_a_part_of_the_same_log_is_another_log(capsys):
    saved("base.json", REPLAY)
    saved("run.json", REPLAY | {"prefix": {"hit_rate": 0.7, "requests": 25}})
    _, report, _ = gated(capsys, "run.json", "--baseline", "base.json")
    assert report["changes"][0]["basis"].startswith("interval")


def test_runs_that_name_no_log_are_not_taken_for_one_log(capsys):
    saved("base.json", KEYS)
    saved("run.json", KEYS)
    code, report, _ = gated(capsys, "run.json", "--baseline", "base.json")
    assert code == Exit.NOTHING_CHECKED
    assert [change["passed"] for change in report["changes"]] == [None, None]


def test_false_hits_on_another_log_use_their_counts(capsys):
    served = {"hits": 100, "labelled": 100, "false_hits": 2, "false_hit_rate": 0.02}
    many = served | {"false_hits": 12, "false_hit_rate": 0.12}
    saved("base.json", REPLAY | {"semantic": served})
    saved("run.json", other_log(0.7, semantic=many))
    code, report, _ = gated(capsys, "run.json", "--baseline", "base.json")
    change = next(c for c in report["changes"] if c["name"] == "false-hit-rate")
    assert (code, change["passed"]) == (Exit.FINDINGS, False)
    # If ten hits of one donor are one error, one of ten is no proof.
    saved("run.json", other_log(0.7, semantic=many | {"design_effect": 10.0}))
    _, report, _ = gated(capsys, "run.json", "--baseline", "base.json")
    assert next(c for c in report["changes"] if c["name"] == "false-hit-rate")["passed"]


def test_lint_is_compared_by_the_fingerprints_of_its_findings(capsys):
    saved("base.json", LINT)
    gone = LINT["findings"][1:]
    saved("run.json", LINT | {"findings": gone})
    assert gated(capsys, "run.json", "--baseline", "base.json")[0] == Exit.OK
    saved("run.json", LINT | {"findings": [*gone, gone[0] | {"fingerprint": "9"}]})
    code, report, _ = gated(capsys, "run.json", "--baseline", "base.json")
    assert (code, report["changes"][0]["difference"]) == (Exit.FINDINGS, 1)


def test_a_sweep_is_compared_capacity_by_capacity(capsys):
    log = {"log": {"requests": 5, "digest": "aa"}}
    saved("base.json", SWEEP | log)
    better = [{"capacity_blocks": 4096, "hit_rate": 0.59}, {"capacity_blocks": 7, "hit_rate": 0}]
    saved("run.json", SWEEP | log | {"curve": better})
    code, report, _ = gated(capsys, "run.json", "--baseline", "base.json")
    assert code == Exit.FINDINGS
    assert [c["name"] for c in report["changes"]] == ["hit-rate@4096"]


def test_settings_that_differ_from_the_baseline_are_named(capsys):
    saved("base.json", REPLAY)
    saved("run.json", REPLAY | {"engine": {"name": "vllm", "version": "0.9.2"}})
    _, report, _ = gated(capsys, "run.json", "--baseline", "base.json")
    assert "version 0.33.0 then, 0.9.2 now" in report["notes"][0]


def test_runs_of_the_commands_themselves_are_read(capsys, tmp_path):
    sound = generate(TrafficPlan(seed=3, requests=60))
    faults = (Planted(fault="sub-day-clock", share=1.0),)
    write_records(sound, tmp_path / "sound.jsonl")
    write_records(generate(TrafficPlan(seed=3, requests=60, faults=faults)), tmp_path / "bad.jsonl")
    (tmp_path / "p.j2").write_text("It is {{ now() }}.\n" + "Quote the number of the order.\n" * 9)
    for name in ("sound", "bad"):
        for command in ("replay", "why"):
            run([command, f"{name}.jsonl", "--output", f"json:{name}-{command}.json"])
    run(["sweep", "sound.jsonl", "--output", "json:sweep.json"])
    run(["lint", "p.j2", "--output", "json:lint.json"])
    capsys.readouterr()
    limits = ["--fail-under", "hit-rate=0.5", "--fail-over", "lost-share=0.05"]
    sound = ["sound-replay.json", "sound-why.json"]
    assert gated(capsys, *sound, *limits)[0] == Exit.OK
    assert gated(capsys, "bad-replay.json", "bad-why.json", *limits)[0] == Exit.FINDINGS
    assert gated(capsys, "sweep.json", "--fail-under", "hit-rate@inf=0.5")[0] == Exit.OK
    assert gated(capsys, "lint.json", "--fail-over", "errors=0")[0] == Exit.FINDINGS
    code, report, _ = gated(capsys, *sound, "--baseline", "sound-why.json")
    assert (code, {c["basis"] for c in report["changes"]}) == (Exit.OK, {"exact"})
    code, report, _ = gated(capsys, "bad-replay.json", "--baseline", "sound-replay.json")
    assert (code, report["changes"][0]["low"] < -0.5) == (Exit.FINDINGS, True)


def test_github_gets_annotations_and_the_summary_of_the_job(capsys, tmp_path, monkeypatch):
    saved("run.json", REPLAY)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("before\n")
    assert run(["gate", "run.json", "--fail-under", "hit-rate=0.9"]) == Exit.FINDINGS
    out = capsys.readouterr().out
    assert out.startswith("::error title=kvaudit gate::hit-rate is 0.7, below the 0.9")
    assert out.endswith(
        "gate: failed: hit-rate is 0.7, below the 0.9 that was asked for "
        "(run.json; the lower bound)\n"
    )
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("before\n### ❌ kvaudit gate\n")
    assert "| hit-rate | ≥ 0.9 | 0.7 | failed | run.json; the lower bound |" in summary
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "summary.md"))
    assert run(["gate", "run.json", "--fail-under", "hit-rate=0.1"]) == Exit.OK
    assert "cannot be written" in capsys.readouterr().err


def test_markdown_makes_nothing_of_a_strange_name(capsys):
    saved("a|b`c<img>.json", REPLAY)
    args = ["gate", "a|b`c<img>.json", "--fail-under", "hit-rate=0.9", "--format", "markdown"]
    assert run(args) == Exit.FINDINGS
    assert r"a\|b\`c\<img\>.json" in capsys.readouterr().out


@pytest.mark.parametrize("format_", ["full", "concise"])
def test_the_last_lines_are_the_reason(format_, capsys):
    saved("run.json", REPLAY)
    args = ["run.json", "--fail-under", "hit-rate=0.9", "--format", format_]
    assert run(["gate", *args]) == Exit.FINDINGS
    last = " ".join(capsys.readouterr().out.split("gate")[-1].split())
    assert "failed: hit-rate is 0.7, below the 0.9 that was asked for" in last


BAD = [
    ("{", [], "is not JSON"),
    ("[]", [], "holds no object"),
    ('{"schema": 1}', [], "is not the JSON of a run"),
    ('{"schema": 2, "prefix": null}', [], "is of schema 2"),
    ('{"prefix": {"hit_rate": NaN}}', [], "NaN is not a JSON value"),
    ('{"prefix": {"hit_rate": "x"}}', ["--fail-under", "hit-rate=0"], 'prefix.hit_rate is "x"'),
    ('{"prefix": 4}', ["--fail-under", "hit-rate=0"], "prefix is 4, and should be an object"),
    ('{"prefix": {"hit_rate": 1e999}}', ["--fail-under", "hit-rate=0"], "should be a number"),
    ('{"prefix": {"hit_rate": 7}}', ["--fail-under", "hit-rate=0"], "should be from 0 to 1"),
    ('{"prefix": {}}', ["--fail-under", "hit-rat=0"], "did you mean hit-rate"),
    ('{"prefix": {}}', ["--fail-under", "hit-rate"], "write it as NAME=LIMIT"),
    ('{"prefix": {}}', ["--fail-under", "hit-rate=2"], "from 0 to 1"),
    ('{"prefix": {}}', ["--fail-under", "hit-rate=x"], "is not a number"),
    ('{"prefix": {}}', ["--fail-under", "leaks=0"], "use --fail-over"),
    ('{"prefix": {}}', ["--fail-over", "leaks=5%"], "must be 0 or more"),
    ('{"prefix": {}}', ["--fail-over", "leaks=nan"], "must be 0 or more"),
    ('{"prefix": {}}', ["--baseline", "keys.json"], "is a run of kvaudit keys"),
    ('{"prefix": {}}', ["--baseline", "none.json"], "none.json cannot be read"),
]


@pytest.mark.parametrize(("text", "args", "said"), BAD)
def test_bad_input_is_an_error_that_says_what_to_do(text, args, said, capsys, tmp_path):
    (tmp_path / "run.json").write_text(text)
    saved("keys.json", KEYS)
    code, report, err = gated(capsys, "run.json", *args)
    assert (code, report) == (Exit.ERROR, None)
    assert said in err
    assert "Traceback" not in err
