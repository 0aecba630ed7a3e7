"""`kvaudit replay --instances`: what it prints, and what it says of options that do not fit."""

import json

import pytest

from kvaudit.cli import run
from kvaudit.core.errors import Exit


@pytest.fixture
def log(tmp_path):
    records = [
        {
            "id": f"r{i}",
            "token_ids": [*range(32), i],
            "arrived_s": float(i),
            "finished_s": i + 0.5,
            "instance": "east" if i % 3 else "west",
            "session": f"s{i % 2}",
        }
        for i in range(6)
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path.name


def report(capsys, *args):
    code = run(["replay", *args, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_replicas_are_in_the_json_and_in_the_rows(capsys, tmp_path, log):
    code, found = report(
        capsys, log, "--instances", "2", "--router", "round-robin", "--per-request", "rows.jsonl"
    )
    assert code == Exit.OK
    assert found["prefix"]["hit_tokens"] == 4 * 32
    assert found["lost"]["other_replica"] == 32
    fleet = found["fleet"]
    assert [i["requests"] for i in fleet["per_instance"]] == [3, 3]
    assert fleet["one_cache"]["hit_tokens"] == 5 * 32
    assert fleet["balance"]["requests"] == 1
    assert fleet["in_flight"] == "from arrived_s to finished_s, as logged"
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["instance"] for row in rows] == ["replica-0", "replica-1"] * 3


def test_the_screen_shows_replicas_and_where_hits_were_lost(capsys, log):
    assert run(["replay", log, "--router", "logged", "--format", "full"]) == Exit.OK
    out = capsys.readouterr().out
    assert "other replica" in out
    assert "2 replicas, logged" in out
    assert "east" in out
    assert max(map(len, out.splitlines())) <= 80


def test_an_event_shows_what_is_stale(capsys, log):
    events = ("--invalidate", "3s:some=1:prompt change", "--format", "full")
    assert run(["replay", log, "--instances", "2", *events]) == Exit.OK
    out = " ".join(capsys.readouterr().out.split())
    assert "prompt change before request 4 reached 1 of 2 replicas" in out
    assert "stale: 64 hit tokens in 2 requests" in out
    # One cache, and nobody dropped anything.
    _, found = report(capsys, log, "--invalidate", "2:none")
    assert found["fleet"]["instances"] == 1
    assert found["fleet"]["invalidation"]["stale_hit_tokens"] == 5 * 32


def test_moved_bytes_need_a_model(capsys, log):
    pool = (log, "--instances", "2", "--sharing", "pool")
    _, found = report(capsys, *pool)
    assert (found["fleet"]["moved_tokens"], found["fleet"]["moved_bytes"]) == (32, None)
    _, found = report(capsys, *pool, "--model", "llama-3.1-8b")
    assert found["fleet"]["moved_bytes"] == 32 * found["engine"]["kv_bytes_per_token"]


def test_without_replicas_there_is_no_such_part(capsys, log):
    assert report(capsys, log)[1]["fleet"] is None


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--router", "dynamo"], "--instances"),
        (["--sharing", "pool"], "--instances"),
        (["--instances", "2", "--router", "dinamo"], "dynamo"),
        (["--instances", "2", "--sharing", "pol"], "pool"),
        (["--instances", "2", "--broadcast-after", "2"], "--sharing broadcast"),
        (["--instances", "2", "--hash-seeds", "other"], "differ"),
        (["--instances", "2", "--schedule", "steps"], "steps"),
        (["--invalidate", "soon:all"], "WHEN:REACH"),
        (["--invalidate", "0:all"], "WHEN:REACH"),
        (["--invalidate", "5:some"], "WHEN:REACH"),
        (["--instances", "2", "--sharing", "broadcast", "--invalidate", "5:all"], "broadcast"),
    ],
)
def test_options_that_do_not_fit_are_refused(capsys, log, options, named):
    assert run(["replay", log, *options]) == Exit.ERROR
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert named in err
