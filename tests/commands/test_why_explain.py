"""`kvaudit why --explain`: one request's story, held against what the log says of it."""

import json

import jsonschema
import pytest
from test_why import made, written

from kvaudit.cli import run
from kvaudit.commands.schema import Document, json_schema
from kvaudit.core.errors import Exit


def explained(capsys, *args):
    code = run(["why", *args, "--format", "json", "--what-if", "none"])
    out, err = capsys.readouterr()
    assert code == Exit.OK, err
    story = json.loads(out)
    jsonschema.validate(story, json_schema(Document.STORY))
    assert sum(part["tokens"] for part in story["parts"]) == story["prompt_tokens"]
    return story


def test_a_request_that_parts_from_another(tmp_path, capsys):
    path = made(tmp_path / "log.jsonl", ("random-id", 1.0), requests=40, workloads=("support",))
    story = explained(capsys, path, "--explain", "r0000030", "--show-text")
    assert (story["request"], story["place"], story["cause"]) == ("r0000030", 31, "random-id")
    assert story["template"] == "Trace ⟨…⟩"
    assert story["example"]["a"].startswith("Trace ")
    assert story["example"]["b"].startswith("Trace ")
    assert story["example"]["a"][:42] != story["example"]["b"][:42]
    assert int(story["relative"][1:]) + story["requests_since"] + 1 == 30
    assert [part["what"] for part in story["parts"]] == ["random-id", "first-seen"]


def test_of_several_requests_of_one_id_the_first_is_told(tmp_path, capsys):
    rows = [
        {"id": "same" if n != 1 else "other", "messages": [{"role": "user", "content": f"Hi {n}"}]}
        for n in range(4)
    ]
    story = explained(capsys, written(tmp_path / "log.jsonl", rows), "--explain", "same")
    assert story["place"] == 1
    assert story["notes"][0]["text"].startswith("3 replayed requests have the id same")


def test_the_first_request_has_no_relative(tmp_path, capsys):
    path = made(tmp_path / "log.jsonl", requests=3)
    story = explained(capsys, path, "--explain", "r0000000")
    assert (story["relative"], story["cause"], story["example"]) == (None, None, None)
    assert story["could_hit_tokens"] == 0


def test_what_evicted_a_prefix(tmp_path, capsys):
    log = [
        {"id": f"q{n}", "token_ids": [n % 3, *range(100 * (n % 3), 100 * (n % 3) + 63)]}
        for n in range(4)
    ]
    path = written(tmp_path / "log.jsonl", log)
    story = explained(
        capsys, path, "--capacity", "8blocks", "--schedule", "sequential", "--explain", "q3"
    )
    assert (story["relative"], story["requests_since"]) == ("q0", 2)
    # Eight blocks hold two prompts of four: the third had to make room for itself.
    assert story["evictions"] == {
        "requests": 2,
        "evicted_blocks": 4,
        "most": [{"request": "q2", "evicted_blocks": 4}],
    }


@pytest.mark.parametrize("name", ["full", "concise", "github"])
def test_a_story_as_text_stays_on_the_screen(name, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    made(tmp_path / "log.jsonl", ("sub-day-clock", 1.0), requests=30)
    args = ["why", "log.jsonl", "--explain", "r0000020", "--format", name, "--show-text"]
    assert run(args) == Exit.OK
    out = capsys.readouterr().out
    for said in ("sub-day-clock: Current time: ⟨…⟩", "with", "first-seen", "move the time"):
        assert said in out
    if name == "full":
        assert max(map(len, out.splitlines())) <= 80


def test_an_unknown_id_names_the_nearest(tmp_path, capsys):
    path = made(tmp_path / "log.jsonl", requests=5)
    assert run(["why", path, "--explain", "r000002"]) == Exit.ERROR
    said = capsys.readouterr().err
    assert "none of the 5 replayed requests has this id; did you mean r0000002" in said


def test_a_story_is_not_looked_for_in_a_project(tmp_path, capsys):
    log = [{"id": str(n), "token_ids": [n, *range(100)]} for n in range(2)]
    path = written(tmp_path / "log.jsonl", log)
    for more in (["--source", str(tmp_path)], ["--source", str(tmp_path), "--learn"]):
        assert run(["why", path, "--explain", "1", *more]) == Exit.ERROR
        out, err = capsys.readouterr()
        assert out == ""
        assert "--source and --learn speak of the whole log" in err
