"""Sheets of hits: what is drawn, read back, labelled in the terminal, and proven."""

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kvaudit.cli import run
from kvaudit.core.errors import Exit, InputError
from kvaudit.replay.semantic.labelled import label_report
from kvaudit.replay.semantic.sheet import Row, read_sheet, write_sheet
from kvaudit.replay.semantic.terminal import label_in_terminal


def row(i, label="", *, sample="main", population=400, donor=None):
    return Row(
        sample=sample,
        population=population,
        request=f"r{i}",
        donor=donor or f"d{i}",
        similarity=0.91,
        differs="",
        asked=f"=question {i}, with a comma",
        asked_before="-one\nof two lines",
        answer="",
        label=label,
    )


def report(rows, limit=0.02, alpha=0.05, depends="wrong"):
    return label_report(rows, limit=limit, alpha=alpha, depends=depends)


def test_a_sheet_reads_back_as_written(tmp_path):
    rows = [row(1, "same"), row(2, "wrong"), row(3), replace(row(4), asked="'quoted'")]
    write_sheet(tmp_path / "sheet.csv", rows)
    assert read_sheet(tmp_path / "sheet.csv") == rows
    # A spreadsheet must not run a question.
    assert ",=question" not in (tmp_path / "sheet.csv").read_text("utf-8")


def test_labels_as_people_write_them(tmp_path):
    write_sheet(tmp_path / "sheet.csv", [row(1), row(2)])
    text = (tmp_path / "sheet.csv").read_text("utf-8-sig")
    (tmp_path / "sheet.csv").write_text(text.replace('lines",,,', 'lines",, Yes ,'))
    assert [r.label for r in read_sheet(tmp_path / "sheet.csv")] == ["same", "same"]
    (tmp_path / "sheet.csv").write_text(text.replace('lines",,,', 'lines",,perhaps,', 1))
    with pytest.raises(InputError, match=r"line 2: label 'perhaps'"):
        read_sheet(tmp_path / "sheet.csv")


def test_one_hit_with_two_labels_is_refused(tmp_path):
    write_sheet(tmp_path / "sheet.csv", [row(1, "same"), row(2, "same"), row(1, "same")])
    assert len(read_sheet(tmp_path / "sheet.csv")) == 3
    write_sheet(tmp_path / "sheet.csv", [row(1, "same"), row(2, "same"), row(1, "wrong")])
    with pytest.raises(InputError, match="line 4: wrong, and the same hit is same on line 2"):
        read_sheet(tmp_path / "sheet.csv")


def test_two_sheets_in_one_file(tmp_path):
    write_sheet(tmp_path / "sheet.csv", [row(1)])
    text = (tmp_path / "sheet.csv").read_text("utf-8-sig")
    (tmp_path / "sheet.csv").write_text(text * 2)
    with pytest.raises(InputError, match=r"line 3: .* 'population' .* one line of column names"):
        read_sheet(tmp_path / "sheet.csv")


def test_verdicts():
    rows = [row(i, "same") for i in range(200)]
    found = report(rows)
    assert (found.verdict, found.labelled, found.wrong) == ("pass", 200, 0)
    assert found.upper <= 0.02
    assert report([replace(r, label="wrong") for r in rows]).verdict == "fail"
    few = report([r if i < 50 else replace(r, label="") for i, r in enumerate(rows)])
    assert few.verdict == "undecided"
    assert few.upper is None
    assert 0 < few.labels_still_needed < 200
    assert few.anytime_upper > few.false_hit_rate


def test_what_is_labelled_out_of_turn_is_left_out():
    rows = [row(0, "same"), row(1), row(2, "wrong")]
    found = report(rows)
    assert (found.labelled, found.wrong, found.behind_a_gap) == (1, 0, 1)


def test_the_extra_sample_is_counted_apart():
    rows = [row(0, "same"), row(1, "wrong", sample="risk")]
    found = report(rows)
    assert (found.wrong, found.extra_labelled, found.extra_wrong) == (0, 1, 1)
    assert len(found.faults) == 1


@pytest.mark.parametrize(
    ("depends", "counted"), [("wrong", (2, 1)), ("same", (2, 0)), ("skip", (1, 0))]
)
def test_depends_counts_as_it_is_said_to(depends, counted):
    found = report([row(0, "same"), row(1, "depends")], depends=depends)
    assert (found.labelled, found.wrong) == counted


def test_hits_of_one_donor_say_less():
    alone = report([row(i, "same") for i in range(200)])
    shared = report([row(i, "same", donor="d") for i in range(200)])
    assert shared.upper == alone.upper
    assert shared.upper_by_donor > alone.upper_by_donor
    assert shared.donors == 1


def test_the_verdict_is_wrong_no_more_often_than_it_says():
    """Sheets of which 2.5 % are wrong, labelled to a random place: never more than alpha pass."""
    rng = np.random.default_rng(3)
    passed = 0
    for _ in range(300):
        wrong = rng.permutation(400) < 10
        stop = rng.integers(50, 400)
        rows = [row(i, "wrong" if w else "same") for i, w in enumerate(wrong[:stop].tolist())]
        passed += report(rows, limit=0.0249, alpha=0.10).verdict == "pass"
    assert passed <= 300 * 0.10


def test_the_terminal_saves_every_answer(tmp_path):
    path = tmp_path / "sheet.csv"
    write_sheet(path, [row(1), row(2, "wrong"), row(3), row(4)])
    answers = iter(["x", "s", "w", "q"])
    said = []
    given = label_in_terminal(
        path, limit=0.02, alpha=0.05, ask=lambda _: next(answers), tell=said.append
    )
    assert given == 2
    assert [r.label for r in read_sheet(path)] == ["same", "wrong", "wrong", ""]
    assert any("'x' is none of" in text for text in said)


@pytest.fixture
def _log(_isolated, tmp_path):
    pytest.importorskip("sklearn")
    (tmp_path / "policy.toml").write_text('[semantic]\nencoder = "hashing"\nthreshold = 0.8\n')
    with open("log.jsonl", "w") as file:
        for i in range(300):
            text = f"where is my parcel number {i % 7}, please?"
            file.write(json.dumps({"id": str(i), "prompt": text, "arrived_s": i}) + "\n")


def calibrate(*args, code=Exit.OK):
    assert run(["calibrate", *args]) == code


@pytest.mark.usefixtures("_log")
def test_from_log_to_sheet_to_verdict(capsys, monkeypatch):
    sheet = ["log.jsonl", "--semantic", "policy.toml", "--sheet", "sheet.csv", "--sample", "100"]
    calibrate(*sheet, "--risky", "5")
    assert "100 of 299 hits drawn at random" in capsys.readouterr().out
    rows = read_sheet(Path("sheet.csv"))
    assert [r.sample for r in rows] == ["main"] * 100 + ["risk"] * 5
    # The risky ones differ in a number.
    assert all(r.differs == "number" for r in rows[100:])
    first = Path("sheet.csv").read_bytes()
    calibrate(*sheet, "--risky", "5")
    assert Path("sheet.csv").read_bytes() == first
    calibrate(*sheet, "--risky", "5", "--seed", "1")
    assert Path("sheet.csv").read_bytes() != first
    capsys.readouterr()
    monkeypatch.setattr("sys.stdin", io.StringIO("w\n" * 30 + "q\n"))
    calibrate("--label", "sheet.csv")
    assert "30 labels given" in capsys.readouterr().out
    calibrate("--labels", "sheet.csv", "--format", "json", code=Exit.FINDINGS)
    found = json.loads(capsys.readouterr().out)
    assert (found["labelled"], found["wrong"], found["verdict"]) == (30, 30, "fail")
    for kind in ("full", "concise", "github"):
        calibrate("--labels", "sheet.csv", "--format", kind, code=Exit.FINDINGS)
        assert "fail: more than 2.0 %" in " ".join(capsys.readouterr().out.split())


@pytest.mark.usefixtures("_log")
@pytest.mark.parametrize(
    ("lines", "code", "says"),
    [
        (["same"] * 400, Exit.OK, "proven under 2.0 %"),
        (["same"] * 20, Exit.OK, "undecided"),
        (['{"wrong": true}', '{"label": "wrong"}'] * 20, Exit.FINDINGS, "alarm"),
        ([], Exit.NOTHING_CHECKED, "undecided"),
    ],
)
def test_production_is_watched_in_both_directions(capsys, lines, code, says):
    with open("labels.txt", "w") as file:
        file.writelines(f"{line}\n" for line in lines)
    calibrate("--monitor", "labels.txt", "--format", "full", code=code)
    assert says in capsys.readouterr().out


@pytest.mark.usefixtures("_isolated")
def test_no_hits_make_no_sheet(capsys):
    Path("log.jsonl").write_text('{"id": "1", "prompt": "one"}\n{"id": "2", "prompt": "zwei"}\n')
    Path("policy.toml").write_text('[semantic]\nencoder = "hashing"\nthreshold = 0.9\n')
    args = ["log.jsonl", "--semantic", "policy.toml", "--sheet", "sheet.csv"]
    calibrate(*args, code=Exit.NOTHING_CHECKED)
    assert "nothing to label" in capsys.readouterr().err
    assert not Path("sheet.csv").exists()


@pytest.mark.usefixtures("_log")
@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--sheet", "s.csv", "--semantic", "policy.toml"], "names the hits of a log"),
        (["--labels", "policy.toml"], "is no labelling sheet"),
        (["--labels", "log.jsonl", "--depends", "no"], "--depends no"),
        (["--monitor", "log.jsonl"], "log.jsonl:1"),
        (["--monitor", "none"], "cannot be read"),
        (["--monitor", "other.jsonl"], "other.jsonl:1: has neither label nor wrong"),
    ],
)
def test_mistakes_are_sentences(capsys, args, says):
    Path("other.jsonl").write_text('{"verdict": "same"}\n')
    calibrate(*args, code=Exit.ERROR)
    assert says in capsys.readouterr().err
