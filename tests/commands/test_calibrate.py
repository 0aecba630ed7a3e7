"""`kvaudit calibrate`: a threshold that labels prove, and policies tried on pairs."""

import json
from pathlib import Path

import pytest

from kvaudit.cli import run
from kvaudit.core.errors import Exit

PAIRS = [
    {"id": "p1", "a": "where is order 12?", "b": "where is order 12", "same_answer": 1},
    {"id": "p2", "a": "where is order 12?", "b": "where is order 13?", "same_answer": 0},
    {"id": "p3", "a": "open on Sunday?", "b": "qqq", "same_answer": False, "kind": "far"},
    {"id": "p4", "a": "open on Sunday?", "b": "zzz", "same_answer": True, "category": "far"},
]


@pytest.fixture(autouse=True)
def _policy(_isolated, tmp_path):
    pytest.importorskip("sklearn")
    (tmp_path / "policy.toml").write_text('[semantic]\nencoder = "hashing"\nthreshold = 0.7\n')


def write(rows, name="pairs.jsonl"):
    with open(name, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return name


def calibrated(capsys, *args, code=Exit.OK):
    assert run(["calibrate", *args, "--semantic", "policy.toml", "--format", "json"]) == code
    return json.loads(capsys.readouterr().out)


def test_pairs_are_counted(capsys):
    found = calibrated(capsys, "--pairs", write(PAIRS))
    assert {name: found[name] for name in ("same", "served", "traps", "wrong")} == {
        "same": 2,
        "served": 1,
        "traps": 2,
        "wrong": 1,
    }
    assert found["by_kind"]["far"] == {"same": 1, "served": 0, "traps": 1, "wrong": 0}
    assert found["wrong_ids"] == ["p2"]


def test_a_pair_sees_no_other_pair(capsys):
    twice = [PAIRS[3], {**PAIRS[3], "a": "zzz", "b": "another thing"}]
    assert calibrated(capsys, "--pairs", write(twice))["served"] == 0


@pytest.mark.parametrize(("limit", "code"), [("0.5", Exit.OK), ("0.4", Exit.FINDINGS)])
def test_max_wrong(capsys, limit, code):
    args = ("--pairs", write(PAIRS), "--max-wrong", limit)
    assert calibrated(capsys, *args, code=code)["passed"] is (code == Exit.OK)


def test_the_entity_check_of_the_policy_counts(capsys):
    with open("policy.toml", "a") as file:
        file.write("entity_check = true\n")
    found = calibrated(capsys, "--pairs", write(PAIRS), "--max-wrong", "0")
    assert (found["served"], found["wrong"]) == (1, 0)


def test_conversations_are_embedded_as_the_policy_says(capsys):
    turns = [{"role": "user", "content": "my gym plan"}, {"role": "user", "content": "cancel it"}]
    other = [{"role": "user", "content": "an internet line"}, turns[1]]
    with open("policy.toml", "w") as file:
        file.write('[semantic]\nencoder = "hashing"\nthreshold = 0.95\n')
    pairs = write([{"a": turns, "b": other, "same_answer": 0}])
    assert calibrated(capsys, "--pairs", pairs)["wrong"] == 1
    with open("policy.toml", "a") as file:
        file.write("context = {messages = 2}\n")
    assert calibrated(capsys, "--pairs", pairs)["wrong"] == 0


def test_no_pairs_at_all(capsys):
    calibrated(capsys, "--pairs", write([]), code=Exit.NOTHING_CHECKED)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("{", "pairs.jsonl:1"),
        ("[]", "not an object"),
        ('{"a": "x", "b": "y"}', "same_answer"),
        ('{"a": "x", "b": "y", "same_answer": 2}', "same_answer"),
        ('{"a": "x", "b": 3, "same_answer": 1}', "b is neither"),
        (r'{"a": "x \ud800", "b": "y", "same_answer": 1}', "pairs.jsonl:1"),
    ],
)
def test_broken_pairs_are_named(capsys, tmp_path, line, named):
    (tmp_path / "pairs.jsonl").write_text(line + "\n")
    assert run(["calibrate", "--pairs", "pairs.jsonl", "--semantic", "policy.toml"]) == Exit.ERROR
    assert named in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["log.jsonl", "--pairs", "pairs.jsonl"], "--pairs"),
        (["log.jsonl", "--max-wrong", "0.1"], "--max-wrong"),
        (["--pairs", "none.jsonl"], "none.jsonl"),
    ],
)
def test_mistakes_are_named(capsys, args, named):
    write(PAIRS)
    assert run(["calibrate", *args, "--semantic", "policy.toml"]) == Exit.ERROR
    assert named in capsys.readouterr().err


def log(wrong_every, requests=400, labelled=True):
    """Groups of texts that are all alike, of which one in so many has another answer."""
    rows = []
    for i in range(requests):
        text = "how do I reset my password?" if i % 2 else "where is the nearest branch?"
        group = f"odd {i}" if i % wrong_every == wrong_every - 1 else text
        row = {"id": str(i), "prompt": text, "arrived_s": i}
        rows.append(row | ({"answer_group": group} if labelled else {}))
    return write(rows, "log.jsonl")


def test_a_threshold_that_the_labels_prove(capsys):
    found = calibrated(capsys, log(wrong_every=200), "--max-false-hit-rate", "0.05")
    assert found["threshold"] is not None
    assert found["labelled"] == found["hits"] >= 398
    assert found["false_hits"] / found["labelled"] < 0.05
    assert "but for a chance of 10 %" in found["verdict"]


def test_it_abstains_where_they_do_not(capsys):
    found = calibrated(capsys, log(wrong_every=10), "--max-false-hit-rate", "0.05")
    assert found["threshold"] is None
    assert found["hit_rate"] is None
    assert "do not support" in found["verdict"]
    assert calibrated(capsys, log(wrong_every=200, requests=40))["threshold"] is None


def test_without_labels_it_says_how_to_get_them(capsys):
    found = calibrated(capsys, log(wrong_every=200, labelled=False))
    assert found["threshold"] is None
    assert "answer_group" in found["verdict"]


@pytest.mark.parametrize("kind", ["full", "concise", "github"])
def test_every_format(capsys, kind):
    options = ["--semantic", "policy.toml", "--format", kind]
    assert run(["calibrate", "--pairs", write(PAIRS), "--max-wrong", "1", *options]) == Exit.OK
    out = capsys.readouterr().out
    assert "50.0 %" in out
    assert run(["calibrate", log(wrong_every=200), *options, "--max-false-hit-rate", "0.05"]) == 0
    out += capsys.readouterr().out
    assert "at most 5 %" in " ".join(out.split())
    if kind == "full":
        assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("read", ["pairs.jsonl", "policy.toml"])
def test_an_output_does_not_replace_what_is_read(capsys, tmp_path, read):
    (tmp_path / "pairs.jsonl").write_text('{"a": "x", "b": "y", "same_answer": true}\n')
    before = (tmp_path / read).read_bytes()
    named = ["--semantic", "policy.toml", "--pairs", "pairs.jsonl", "--output", f"json:{read}"]
    assert run(["calibrate", *named]) == Exit.ERROR
    assert f"{read} is one of the files to read" in capsys.readouterr().err
    assert (tmp_path / read).read_bytes() == before


def test_bundled_traps_where_no_pairs_are_named(capsys):
    found = calibrated(capsys)
    assert (found["same"], found["traps"]) == (33, 47)
    assert set(found["by_language"]) == {"en", "zh"}
    with open("policy.toml", "a") as file:
        file.write("entity_check = true\n")
    checked = calibrated(capsys)
    assert checked["wrong"] <= 1 < found["wrong"]
    assert checked["served"] >= 0.85 * found["served"]


def test_the_users_own_cache(capsys, tmp_path):
    (tmp_path / "own.py").write_text(
        "def serve(a, b):\n    return 'yes' if a[0] == b[0] else None\n"
    )
    args = ["calibrate", "--check", "own:serve", "--pairs", write(PAIRS), "--format", "json"]
    assert run(args) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["served"], found["wrong"]) == (1, 1)
    assert found["policy"] == "own:serve"


@pytest.mark.parametrize("answer", ["0.42", "float('nan')", "2"])
def test_a_score_is_no_answer_of_the_users_cache(capsys, tmp_path, answer):
    (tmp_path / "own.py").write_text(f"def serve(a, b):\n    return {answer}\n")
    assert run(["calibrate", "--check", "own.py:serve", "--pairs", write(PAIRS)]) == Exit.ERROR
    assert "return true or the answer" in capsys.readouterr().err


def test_a_verifier_is_not_trained_on_no_pairs(capsys):
    args = ["calibrate", "--pairs", write([]), "--semantic", "policy.toml"]
    assert run([*args, "--train-verifier", "own.json"]) == Exit.ERROR
    assert "holds no pairs" in capsys.readouterr().err


def test_a_verifier_is_trained_and_then_asked(capsys):
    rows = [
        {"a": f"room {i} price", "b": f"price of room {i + bad}", "same_answer": 1 - bad}
        for i in range(2, 42)
        for bad in (0, 1)
    ]
    args = ["calibrate", "--pairs", write(rows), "--semantic", "policy.toml"]
    assert run([*args, "--train-verifier", "own.json"]) == Exit.OK
    assert "80 pairs, of which 40 share an answer" in capsys.readouterr().out
    without = calibrated(capsys, "--pairs", "pairs.jsonl")
    with open("policy.toml", "a") as file:
        file.write('verifier = "own.json"\n')
    found = calibrated(capsys, "--pairs", "pairs.jsonl")
    assert (found["served"], found["wrong"]) == (without["served"], 0)
    assert without["wrong"] > 0


def test_a_preset_is_a_policy(capsys):
    with open("policy.toml", "w") as file:
        file.write('[semantic]\npreset = "portkey"\nencoder = "hashing"\nthreshold = 0.7\n')
    found = calibrated(capsys, "--pairs", write(PAIRS))
    assert found["served"] == 1
    assert any("Portkey" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["calibrate", "--pairs", "pairs.jsonl"], "say --semantic"),
        (["calibrate", "--semantic", "preset:none"], "is no preset"),
        (
            ["calibrate", "log.jsonl", "--check", "a:b", "--semantic", "policy.toml"],
            "leave out the log",
        ),
        (["calibrate", "--semantic", "policy.toml", "--train-verifier", "x.json"], "--pairs FILE"),
    ],
)
def test_what_does_not_go_together(capsys, args, says):
    write(PAIRS)
    assert run(args) == Exit.ERROR
    assert says in capsys.readouterr().err


def test_the_curve_and_the_threshold_once_more(capsys):
    found = calibrated(capsys, log(wrong_every=200), "--max-false-hit-rate", "0.05")
    again = found["again"]
    assert not again["fresh"]
    assert (again["labelled"], again["donors"]) == (again["hits"], 2)
    assert again["upper"] < again["upper_by_donor"]
    last = found["curve"][-1]
    assert last["precision"] == pytest.approx(1 - last["false_hits"] / last["labelled"])
    # All hits come at once here: a rectangle.
    area = last["precision"] * last["hit_ratio"]
    assert found["precision_area"] == pytest.approx(area, abs=0.01)


def test_what_is_held_out_has_no_say(capsys):
    options = ("--max-false-hit-rate", "0.05", "--hold-out", "0.25")
    found = calibrated(capsys, log(wrong_every=200), *options)
    assert found["requests"] == 300
    assert (found["again"]["fresh"], found["again"]["requests"]) == (True, 100)
    # Answers that go bad at the end move nothing but the second bound.
    rows = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    write([*rows[:300], *(r | {"answer_group": r["id"]} for r in rows[300:])], "log.jsonl")
    later = calibrated(capsys, "log.jsonl", *options)
    assert later["threshold"] == found["threshold"]
    assert later["again"]["false_hits"] == later["again"]["labelled"] == 100
