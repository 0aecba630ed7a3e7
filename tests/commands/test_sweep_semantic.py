"""`kvaudit sweep --semantic`: a point is what a replay at its threshold says."""

import json
from pathlib import Path

import pytest

from kvaudit.cli import run
from kvaudit.core.errors import Exit
from kvaudit.logs.writing.records import write_records
from kvaudit.replay.semantic import graph
from kvaudit.traffic.questions import QuestionPlan, generate_questions

POLICY = """[semantic]
encoder = "hashing"
threshold = {threshold}
namespace = ["tenant"]
entity_check = true
exact_tier = true
ttl = {{seconds = 300, sliding = true}}
capacity = 60
"""


@pytest.fixture(autouse=True)
def _log(_isolated):
    pytest.importorskip("sklearn")
    write_records(generate_questions(QuestionPlan(requests=400)), Path("log.jsonl"))
    Path("policy.toml").write_text(POLICY.format(threshold=0.9))


def printed(capsys, *args, code=Exit.OK):
    assert run([*args, "--format", "json"]) == code
    return json.loads(capsys.readouterr().out)


def swept(capsys, *args):
    return printed(capsys, "sweep", "log.jsonl", "--semantic", "policy.toml", *args)["semantic"]


@pytest.mark.parametrize("most", [10**6, 0])
def test_every_point_is_what_a_replay_says(capsys, monkeypatch, most):
    monkeypatch.setattr(graph, "MOST_EDGES", most)
    [curve] = swept(capsys, "--thresholds", "0.95,0.6,0.8")
    assert [point["threshold"] for point in curve["points"]] == [0.95, 0.6, 0.8]
    for point in curve["points"]:
        Path("at.toml").write_text(POLICY.format(threshold=point["threshold"]))
        alone = printed(capsys, "replay", "log.jsonl", "--semantic", "at.toml")["semantic"]
        assert point["hits"] > 0
        same = ("lookups", "exact_hits", "hits", "hit_rate", "labelled", "false_hits")
        rates = ("false_hit_rate", "false_hit_rate_upper95", "errors_per_request", "population")
        for name in (*same, *rates):
            assert point[name] == alone[name], (point["threshold"], name)
    methods = {point["threshold"]: point["method"] for point in curve["points"]}
    assert methods[0.95] == "graph"
    assert methods[0.6] == ("graph" if most else "replayed")


def test_the_default_grid_holds_the_policys_own_threshold_on_its_scale(capsys):
    text = POLICY.format(threshold=0.125).replace("ttl", 'scale = "cosine_dist"\nttl')
    Path("policy.toml").write_text(text)
    [curve] = swept(capsys)
    found = [(point["threshold"], point["cosine"]) for point in curve["points"]]
    assert (0.125, 0.875) in found
    assert [cosine for _, cosine in found] == sorted({c for _, c in found}, reverse=True)
    assert all(round(1 - t, 6) == c for t, c in found)


def test_several_policies_and_a_scenario_with_its_own_threshold(capsys):
    own = 'scenario = "column:tenant"\nthresholds = {tenant-1 = 1.0}\n'
    Path("own.toml").write_text(POLICY.format(threshold=0.9) + own)
    plain, kept = swept(capsys, "--semantic", "own.toml", "--thresholds", "0.5")
    assert (plain["name"], kept["name"]) == ("policy.toml", "own.toml")
    assert plain["points"][0]["hits"] > kept["points"][0]["hits"] > 0


@pytest.mark.parametrize("kind", ["full", "concise", "github"])
def test_every_format_shows_the_curve(capsys, kind):
    args = ["sweep", "log.jsonl", "--semantic", "policy.toml", "--thresholds", "0.9,0.7"]
    assert run([*args, "--format", kind]) == Exit.OK
    out = capsys.readouterr().out
    assert "policy.toml" in out
    assert "0.7" in out
    if kind == "full":
        assert max(map(len, out.splitlines())) <= 80
        assert "█" in out


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["--thresholds", "0.9"], "--semantic"),
        (["--semantic", "policy.toml", "--thresholds", "high"], "numbers"),
        (["--semantic", "policy.toml", "--thresholds", ","], "names none"),
        (["--semantic", "policy.toml", "--thresholds", "1.5"], "impossible"),
        (["--semantic", "policy.toml", "--capacities", "8blocks"], "--capacities"),
        (["--semantic", "none.toml"], "none.toml"),
    ],
)
def test_mistakes_are_named(capsys, args, named):
    assert run(["sweep", "log.jsonl", *args]) == Exit.ERROR
    assert named in capsys.readouterr().err
