"""Hits on KV that another adapter, or a request with another salt, computed."""

import json

import pytest

from kvaudit.cli import run

PROMPT = [*range(9)]


def notes(capsys, tmp_path, *rows, engine="lmcache"):
    log = tmp_path / "log.jsonl"
    asked = ({"id": str(n), "token_ids": PROMPT} | row for n, row in enumerate(rows))
    log.write_text("".join(f"{json.dumps(row)}\n" for row in asked))
    options = ["--engine", engine, "--block-size", "4", "--isolated", "--format", "json"]
    assert run(["replay", str(log), *options]) == 0
    report = json.loads(capsys.readouterr().out)
    found = [note["text"] for note in report["notes"] if "computed" in note["text"]]
    return found, report["prefix"]["hit_tokens"]


@pytest.mark.parametrize(
    ("one", "other"),
    [({"lora": "a"}, {"lora": "b"}), ({}, {"lora": "b"}), ({"salt": "x"}, {"salt": "y"})],
)
def test_a_hit_on_what_others_computed_is_told(capsys, tmp_path, one, other):
    found, hits = notes(capsys, tmp_path, one, other, other)
    # The second is given the first one's chunks, and so is the third: nobody computed them anew.
    assert hits == 16
    assert len(found) == 1
    assert found[0].startswith("2 of 3 requests hit 16 tokens")


def test_hits_of_ones_own_are_not(capsys, tmp_path):
    assert notes(capsys, tmp_path, {"lora": "a"}, {"lora": "a"}) == ([], 8)


def test_an_engine_that_keys_them_gives_no_such_hit(capsys, tmp_path):
    assert notes(capsys, tmp_path, {"lora": "a"}, {"lora": "b"}, engine="vllm") == ([], 0)
