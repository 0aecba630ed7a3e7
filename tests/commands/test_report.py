"""`kvaudit report` as it is called: every kind of run in every format, and hostile names."""

import csv
import io
import json
import sys
from html.parser import HTMLParser

import pytest

from kvaudit.cli import run
from kvaudit.core.errors import Exit

LOG = {"files": ["a <b>|c`.jsonl"], "requests": 5, "digest": "aa"}
RUNS = {
    "replay": {
        "log": LOG,
        "engine": {"name": "vllm", "version": "0.33.0", "exactness": "exact"},
        "prefix": {"hit_rate": 0.5, "hit_tokens": 500, "prompt_tokens": 1000, "bounds": None},
        "ideal": {"hit_rate": 0.75, "hit_tokens": 750},
        "reported": None,
        "lost": {"first_seen": 400, "evicted": 100, "last_block": 0},
        "namespaces": [
            {"namespace": "=1+1", "requests": 5, "prompt_tokens": 1000, "hit_rate": 0.5}
        ],
        "notes": [{"topic": "order", "text": "as <it> came", "count": 1}],
    },
    "why": {
        "log": LOG,
        "causes": [{"cause": "identity", "code": "KV004", "requests": 2, "lost_tokens": 70}],
        "groups": [
            {
                "id": "g1",
                "cause": "identity",
                "lost_tokens": 70,
                "requests": 2,
                "position": "system",
                "template": "Hi <script>alert(1)</script> | `x`",
                "locations": [{"path": "p.j2", "line": 3}],
            }
        ],
        "hit_rate": 0.5,
        "lost_tokens": 70,
        "log_checks": [{"check": "duplicate-rows", "count": 1, "message": "twice"}],
    },
    "sweep": {
        "log": LOG,
        "curve": [
            {"capacity_blocks": 512, "hit_rate": 0.25},
            {"capacity_blocks": None, "hit_rate": 0.5},
        ],
    },
    "keys": {
        "keys": [{"fields": ["a", "b"], "requests": 5, "hits": 2, "wrong_hits": 1, "leaks": 0}]
    },
    "lint": {
        "checked": 1,
        "findings": [
            {"severity": "error", "rule": "r", "path": "=p", "line": 2, "message": "m"},
        ],
        "notes": ["plain"],
    },
    "calibrate": {
        "threshold": None,
        "max_false_hit_rate": 0.05,
        "verdict": "none",
        "curve": [{"threshold": 0.9, "hits": 3, "labelled": 3, "false_hits": 0, "p_value": 0.5}],
        "notes": [],
    },
    "pairs": {"same": 4, "served": 3, "traps": 5, "wrong": 1, "wrong_rate": 0.2, "policy": "p"},
}


class Page(HTMLParser):
    """Counts tags, and holds that every one that needs it is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], {}, []

    def handle_starttag(self, tag, attrs):
        self.seen[tag] = self.seen.get(tag, 0) + 1
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def reported(capsys, document, format_):
    with open("run.json", "w") as file:
        json.dump({"schema": 1} | document, file)
    assert run(["report", "run.json", "--format", format_]) == Exit.OK
    return capsys.readouterr().out


@pytest.mark.parametrize("kind", RUNS)
def test_every_run_is_a_page_that_stands_alone(kind, capsys):
    out = reported(capsys, RUNS[kind], "html")
    page = Page()
    page.feed(out)
    assert not page.open
    assert page.seen["table"] >= 1
    assert "script" not in page.seen
    assert "b" not in page.seen
    assert "http" not in out
    assert "src=" not in out
    assert reported(capsys, RUNS[kind], "html") == out


@pytest.mark.parametrize("kind", RUNS)
def test_every_run_is_markdown_and_csv(kind, capsys):
    made = reported(capsys, RUNS[kind], "markdown")
    assert made.startswith("# kvaudit ")
    tables = [line for line in made.splitlines() if line.startswith("|")]
    for line in tables:
        assert "<script>" not in line
    rows = list(csv.reader(io.StringIO(reported(capsys, RUNS[kind], "csv"))))
    assert len({len(row) for row in rows}) == 1
    assert len(rows) > 1
    assert not any(cell.startswith("=") for row in rows for cell in row)


def test_figures_and_places_are_those_of_the_run(capsys):
    made = reported(capsys, RUNS["replay"], "markdown")
    assert "| hit rate | 75.0 % | 50.0 % |" in made
    assert "| first seen | 400 |" in made
    made = reported(capsys, RUNS["why"], "csv")
    assert made.splitlines()[1].endswith(",p.j2:3")
    assert reported(capsys, RUNS["sweep"], "csv").splitlines()[1].endswith(",0.25,")
    assert "g1,identity,70,2,system" in made
    assert "| inf | 50.0 % |" in reported(capsys, RUNS["sweep"], "markdown")
    made = reported(capsys, RUNS["sweep"], "html")
    assert 'style="--w:50.0%">25.0 %<' in made
    assert 'style="--w:100.0%">50.0 %<' in made


CURVES = RUNS["sweep"] | {
    "curve": [
        {"capacity_blocks": 10, "hit_rate": 0.25},
        {"capacity_blocks": 1000, "hit_rate": 0.5},
        {"capacity_blocks": None, "hit_rate": 0.6},
    ],
    "optimal": [{"capacity_blocks": 10, "hit_rate": 0.3}],
    "tiers": [
        {
            "name": "cpu <b>",
            "curve": [
                {"capacity_blocks": 10, "hit_rate": 0.4},
                {"capacity_blocks": 1000, "hit_rate": 0.6},
            ],
        }
    ],
    "knee": {"capacity_blocks": 100},
    "recommended": {"capacity_blocks": 100},
}


def test_a_page_draws_the_curves(capsys):
    out = reported(capsys, CURVES, "html")
    page = Page()
    page.feed(out)
    assert page.seen["svg"] == 1
    for text in ("this cache", "with cpu <b>", "knee, recommended", "capacity, blocks"):
        assert text in page.text
    assert "eviction that knows the future" not in page.text  # one point is no curve


def test_without_what_draws_the_page_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    out = reported(capsys, CURVES, "html")
    assert "<svg" not in out
    assert "pip install &#39;kvaudit[report]&#39;" in out


def test_a_file_that_is_no_run_is_an_error(capsys, tmp_path):
    (tmp_path / "run.json").write_text("[]")
    assert run(["report", "run.json"]) == Exit.ERROR
    assert "holds no object" in capsys.readouterr().err
    assert run(["report", "run.json", "--format", "pdf"]) == Exit.ERROR
    assert "not a format" in capsys.readouterr().err
