"""A library or an archive of prompts: nothing in it is sent, and names say little."""

import json

import pytest

from kvaudit.analyzers import run as of_run
from kvaudit.cli import run


@pytest.fixture
def findings(tmp_path, monkeypatch, capsys):
    text = "You are an assistant. It is {{currentDateTime}} now.\n" + "Follow the rules. " * 300
    for name in ("one", "two", "three"):
        (tmp_path / "prompts").mkdir(exist_ok=True)
        (tmp_path / "prompts" / f"{name}.md").write_text(text)
    monkeypatch.chdir(tmp_path)

    def lint():
        run(["lint", ".", "--isolated", "--format", "json"])
        return {
            (f["severity"], f["doubt"]) for f in json.loads(capsys.readouterr().out)["findings"]
        }

    return lint


def test_a_name_in_some_prompts_is_a_warning(findings):
    assert findings() == {("warning", None)}


def test_the_same_name_in_a_collection_is_information(findings, monkeypatch):
    monkeypatch.setattr(of_run, "A_COLLECTION", 3)
    assert findings() == {("info", "no call was seen that sends this text to a model")}


def test_prompts_beside_code_are_no_collection(findings, monkeypatch, tmp_path):
    monkeypatch.setattr(of_run, "A_COLLECTION", 3)
    (tmp_path / "prompts" / "judge.j2").write_text("You are a judge. Answer {{ name }} now.")
    assert findings() == {("warning", None)}
