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
    assert not Mentions(tmp_path).has("alone")
    monkeypatch.setattr(mentions, "MAX_BYTES", 10)
    assert Mentions(tmp_path).has("alone")
