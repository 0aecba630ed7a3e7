"""A function that nobody names gives its text to nobody, where the project sends at all."""

import json

import pytest

from kvaudit.analyzers import mentions
from kvaudit.analyzers.mentions import Mentions
from kvaudit.cli import run

WINDOW = """\
def get_trimmed_messages(messages):
    return [{"role": "system", "content": "Answer briefly."}, *messages[-50:]]
"""
ASKS = """\
def ask(client, messages):
    return client.chat.completions.create(model="m", messages=messages)
"""
CALLS = "from window import get_trimmed_messages\n\ndef ask(client, messages):\n"
CALLS += "    sent = get_trimmed_messages(messages)\n"
CALLS += '    return client.chat.completions.create(model="m", messages=sent)\n'


@pytest.fixture
def told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def lint(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            path.with_suffix(".py").write_text(text)
        run(["lint", ".", "--isolated", "--format", "json"])
        found = json.loads(capsys.readouterr().out)["findings"]
        return [(f["code"], f["severity"]) for f in found if f["code"] == "KV114"]

    return lint


def test_a_window_that_another_file_names_is_told(told):
    assert told(window=WINDOW, app=CALLS) == [("KV114", "error")]


def test_a_window_that_nobody_names_is_information(told):
    assert told(window=WINDOW, app=ASKS) == [("KV114", "info")]


def test_a_test_is_no_caller(told):
    files = {"window": WINDOW, "app": ASKS, "tests__test_window": CALLS}
    assert told(**files) == [("KV114", "info")]


def test_one_file_does_not_show_who_calls(told):
    assert told(window=WINDOW) == [("KV114", "error")]


def test_a_decorator_and_a_foreign_base_may_hand_a_function_on(told):
    handler = "@app.post('/chat')\n" + WINDOW
    assert told(window=handler, app=ASKS) == [("KV114", "error")]
    method = "class Store(Base):\n    " + WINDOW.replace("\n    ", "\n        ")
    assert told(window=method, app=ASKS) == [("KV114", "error")]


def test_in_a_project_that_is_too_large_everything_may_be_called(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("def alone():\n    return 1\n")
    (tmp_path / "b.py").write_text("print(2)\n")
    assert not Mentions(tmp_path).has("alone")
    (tmp_path / "far").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(mentions, "MAX_FOLDERS", 1)
        assert Mentions(tmp_path).has("alone")
    monkeypatch.setattr(mentions, "MAX_BYTES", 10)
    assert Mentions(tmp_path).has("alone")


FILLED = """\
import os
from datetime import datetime

def load_system_prompt():
    with open(os.path.join(os.path.dirname(__file__), "system.md")) as file:
        return file.read().format(now=datetime.now().isoformat())

SYSTEM_PROMPT = load_system_prompt()
"""
SENDS = """\
from prompts.texts import {}

def ask(client, messages):
    system = {{"role": "system", "content": {}}}
    return client.chat.completions.create(model="m", messages=[system, *messages])
"""


@pytest.mark.parametrize(
    ("used", "level"), [("SYSTEM_PROMPT", "info"), ("load_system_prompt", "warning")]
)
def test_a_hole_that_is_filled_when_a_file_is_loaded_stays(
    used, level, tmp_path, monkeypatch, capsys
):
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "system.md").write_text(
        "You are an assistant.\nIt is {now}.\nBe brief."
    )
    (tmp_path / "prompts" / "texts.py").write_text(FILLED)
    called = "load_system_prompt()" if used.islower() else used
    (tmp_path / "app.py").write_text(SENDS.format(used, called))
    monkeypatch.chdir(tmp_path)
    run(["lint", ".", "--isolated", "--format", "json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [f["severity"] for f in found if f["path"] == "prompts/system.md"] == [level]
    of_code = [f["severity"] for f in found if f["path"] != "prompts/system.md"]
    assert ("error" in of_code) is (used == "load_system_prompt")
