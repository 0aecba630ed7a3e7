"""`kvaudit demo`: runs the real commands, and writes logs that kvaudit reads back equal."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kvaudit.cli import app
from kvaudit.logs.read import LogReader
from kvaudit.traffic.fault import Planted
from kvaudit.traffic.generate import TrafficPlan, generate

ROOT = Path(__file__).resolve().parents[2]


def invoke(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["demo", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_a_written_log_reads_back_as_what_was_made(tmp_path):
    log = tmp_path / "demo.jsonl"
    printed = invoke("--write", log, "--requests", "80", "--seed", "4", "--fault", "random-id")
    reader = LogReader([log])
    plan = TrafficPlan(seed=4, requests=80, faults=(Planted(fault="random-id"),))
    made = list(generate(plan))
    read = list(reader)
    assert reader.format_name == "record"
    assert [r.messages for r in read] == [r.messages for r in made]
    assert [(r.id, r.session, r.parent, r.status) for r in read] == [
        (r.id, r.session, r.parent, r.status) for r in made
    ]
    assert printed.startswith(f"wrote 80 requests, {log.stat().st_size / 1e6:.1f} MB, to {log}\n")


def test_a_log_holds_only_fields_that_are_known(tmp_path):
    log = tmp_path / "demo.jsonl"
    invoke("--write", log, "--requests", "1")
    record = json.loads(log.read_text())
    assert record["arrived_s"] == 1772438400
    assert record["cached_tokens"] == 0  # nothing was cached, which is not "not known"
    assert "parent" not in record


def test_an_unknown_fault_ends_before_anything_is_written(tmp_path):
    log = tmp_path / "demo.jsonl"
    done = kvaudit("demo", "--write", log, "--fault", "sub-day-clok")
    assert done.returncode == 2
    assert done.stderr == "error: no fault 'sub-day-clok'; did you mean sub-day-clock?\n"
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_does_not_say_what_to_write_is_refused(tmp_path):
    done = kvaudit("demo", "--write", tmp_path / "demo.txt")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: --write {tmp_path / 'demo.txt'}: the name must end in")


@pytest.fixture(scope="module")
def shown() -> str:
    done = kvaudit("demo", "--requests", "120")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_shows_what_it_runs_in_the_order_of_running(shown):
    marks = (
        "kvaudit replay faulty",
        "possible",
        "error[sub-day-clock]",
        "kvaudit replay sound",
        "hit rate, possible",
    )
    places = [shown.index(mark) for mark in (*marks, "Try next:")]
    assert places == sorted(places)


def test_the_fault_it_plants_is_seen_in_what_it_shows(shown):
    assert "the time to the second on the first line" in shown
    screen = next(line for line in shown.splitlines() if line.startswith("  hit rate"))
    faulty = float(re.findall(r"([\d.]+) %", screen)[1])
    sound = float(re.search(r"^hit rate, this cache: ([\d.]+)$", shown, re.MULTILINE)[1])
    assert faulty < 20
    assert sound > 0.5


def test_another_fault_may_be_shown():
    done = kvaudit("demo", "--requests", "20", "--fault", "tool-order")
    assert "tools in a new order for each request" in done.stdout
    assert "sub-day-clock" not in done.stdout


def kvaudit(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kvaudit", *map(str, arguments)]
    # The demo runs kvaudit from another folder, which need not be installed to be tested.
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, capture_output=True, text=True)
