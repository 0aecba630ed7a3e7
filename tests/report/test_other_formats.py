"""JSON, concise and GitHub: what programs read."""

import json
import math
from dataclasses import replace

import jsonschema
import pytest

from kvaudit.commands.schema import Document, json_schema
from kvaudit.core.results import NamespaceSummary
from kvaudit.report.render import format_names, render

from .reports import BOUNDED, COUNTS_ONLY, LOG, SHARE, UNBOUNDED, prefix

REPORTS = pytest.mark.parametrize("report", [BOUNDED, UNBOUNDED, COUNTS_ONLY])


def test_the_formats_are_the_files_of_the_folder():
    assert format_names() == ["concise", "full", "github", "json"]


@REPORTS
def test_json_is_what_its_schema_says(report):
    document = json.loads(render("replay", report, "json"))
    jsonschema.validate(document, json_schema(Document.REPLAY))
    assert document["schema"] == 1


@REPORTS
@pytest.mark.parametrize("name", format_names())
def test_equal_reports_are_equal_bytes(report, name):
    reordered = replace(
        report,
        log=replace(report.log, skipped_reasons=dict(reversed(report.log.skipped_reasons.items()))),
    )
    assert render("replay", report, name) == render("replay", reordered, name)


def test_json_has_the_fields_of_the_contract():
    document = json.loads(render("replay", BOUNDED, "json"))
    assert document["log"].keys() >= {"format", "records", "skipped", "requests"}
    assert document["engine"].keys() >= {
        "name", "version", "block_size", "capacity_blocks", "policy", "schedule", "exactness",
    }  # fmt: skip
    for part in ("prefix", "ideal", "reported"):
        assert document[part].keys() >= {
            "requests", "prompt_tokens", "hit_tokens", "hit_rate", "block_hit_rate",
            "mean_request_hit_rate", "computed_tokens", "evicted_blocks", "peak_blocks",
            "not_admitted", "occupancy", "definition",
        }  # fmt: skip
    assert document["prefix"]["occupancy"] == [[0.0, 1], [1.5, 163_840]]
    assert {"tiers", "namespaces", "semantic", "savings"} <= document.keys()
    assert document["savings"].keys() >= {
        "flops_without", "flops_with", "saved_flops", "share", "usd", "ttft_s",
    }  # fmt: skip
    times = document["savings"]["ttft_s"]
    assert times["off"] == {"p50": 0.41, "p99": 2.9}
    assert times["on"] == {"p50": 0.322, "p99": 2.4}
    assert times["basis"] == "modelled"


def test_json_floats_are_the_shortest_that_read_back():
    rate = 0.1 + 0.2
    report = replace(BOUNDED, prefix=prefix(1, hit_rate=rate))
    assert '"hit_rate": 0.30000000000000004' in render("replay", report, "json")


def test_json_refuses_what_is_no_number():
    with pytest.raises(ValueError, match="JSON compliant"):
        render("replay", replace(BOUNDED, prefix=prefix(1, hit_rate=math.nan)), "json")


def test_json_of_a_large_occupancy_stays_on_one_line():
    points = [(float(n), n) for n in range(1000)]
    text = render("replay", replace(BOUNDED, prefix=prefix(1, occupancy=points)), "json")
    assert text.count("\n") < 140
    assert json.loads(text)["prefix"]["occupancy"][-1] == [999.0, 999]


def test_any_text_of_a_log_is_valid_json():
    names = ["\ud800", "é", "\x00", '"', "sk-" + "a1B2c3D4e5F6g7H8i9J0"]
    report = replace(
        BOUNDED, namespaces=[NamespaceSummary(namespace=name, **SHARE) for name in names]
    )
    text = render("replay", report, "json")
    text.encode()
    read = [n["namespace"] for n in json.loads(text)["namespaces"]]
    assert read == [*names[:-1], "[key]"]


def test_concise_is_one_fact_a_line():
    lines = render("replay", BOUNDED, "concise").splitlines()
    assert all(": " in line for line in lines)
    assert "hit rate, this cache: 0.2182" in lines
    assert "hit tokens, possible: 54100000" in lines
    assert "left out, status is error: 30" in lines
    assert "budget: hit-rate 21.8 %, at least 60.0 %: missed" in lines


def test_concise_prints_a_dash_for_what_the_log_does_not_say():
    lines = render("replay", UNBOUNDED, "concise").splitlines()
    assert "hit rate, the log says: -" in lines
    assert "capacity blocks: inf" in lines
    assert "hit rate, this cache, range: 0.8000 to 0.9250" in lines


def test_concise_of_counts_has_lengths_and_no_rate():
    text = render("replay", COUNTS_ONLY, "concise")
    assert "prompt tokens, median: 10120\n" in text
    assert "hit rate" not in text
    assert "note: This log counts tokens" in text


def test_what_a_log_of_counts_says_about_itself_is_shown():
    report = replace(COUNTS_ONLY, reported=prefix(28_960_000, definition="as counted by the API"))
    assert "hit rate, the log says: 0.2000\n" in render("replay", report, "concise")
    assert "hit rate, this cache: -\n" in render("replay", report, "concise")
    assert "what was sent; the log says 20.0 %25\n" in render("replay", report, "github")
    lines = [line.split() for line in render("replay", report, "full").splitlines()]
    assert ["hit", "rate", "-", "-", "20.0", "%"] in lines
    assert "the log says = as counted by the API" in render("replay", report, "full")


def test_github_annotates_the_result_and_the_missed_budget():
    lines = render("replay", BOUNDED, "github").splitlines()
    commands = [line for line in lines if line.startswith("::")]
    assert commands == [
        "::notice title=kvaudit replay::hit rate 21.8 %25 of 144.8 M prompt tokens in "
        "12,031 requests (possible 37.4 %25, the log says 19.9 %25)",
        "::warning title=kvaudit replay::a record is broken: "
        "chat.parquet:17: messages is not a list",
        "::error title=kvaudit replay::hit-rate is 0.2182, below the 0.6 that was asked for",
    ]


def test_github_cannot_be_given_a_command_by_a_log():
    report = replace(COUNTS_ONLY, log=replace(LOG, broken=["x:1: a\n::error::owned\r%0A"]))
    lines = render("replay", report, "github").splitlines()
    assert not any(line.startswith("::error") for line in lines)
    assert any("a%0A::error::owned%0D%250A" in line for line in lines)


def test_json_has_no_character_that_a_terminal_obeys():
    name = "é 你 👩‍👩‍👧 \x1b[2J \x9b31m \u202e \u2028 \ud800 \x7f"
    report = replace(BOUNDED, namespaces=[NamespaceSummary(namespace=name, **SHARE)])
    text = render("replay", report, "json")
    assert all(c.isprintable() for c in text.replace("\n", ""))
    assert "é 你 👩" in text
    assert json.loads(text)["namespaces"][0]["namespace"] == name
