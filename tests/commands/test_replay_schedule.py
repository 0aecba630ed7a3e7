"""`kvaudit replay` in time: who meets whom, what is in flight, kinds of layers."""

import gzip
import json

import pytest

from kvaudit.cli import run
from kvaudit.core.errors import Exit


def write(path, requests):
    path.write_text("".join(json.dumps(r) + "\n" for r in requests))
    return str(path)


def report_of(capsys, *arguments):
    assert run(["replay", *arguments, "--isolated", "--format", "json"]) == Exit.OK
    return json.loads(capsys.readouterr().out)


def refused(capsys, *arguments):
    assert run(["replay", *arguments, "--isolated"]) == Exit.ERROR
    return " ".join(capsys.readouterr().err.split())


def conversation(turns, *, seconds=10.0, first=0):
    """One conversation, a turn every so many seconds, each 40 tokens longer."""
    return [
        {
            "id": f"{first}-{i}",
            "arrived_s": 100.0 + i * seconds,
            "token_ids": list(range(first, first + 40 * (i + 1))),
            "output_ids": [first],
        }
        for i in range(turns)
    ]


@pytest.fixture
def timed(tmp_path):
    return write(tmp_path / "log.jsonl", conversation(6))


def test_a_bounded_engine_and_a_log_with_times_are_replayed_in_seconds(capsys, timed):
    report = report_of(capsys, timed, "--capacity", "20blocks")
    schedule = report["schedule"]
    assert report["engine"]["schedule"] == "timed"
    assert "llama-3.1-8b on H100" in schedule["step_time"]
    assert "assumed" in schedule["step_time"]
    assert schedule["ttft_s"]["p50"] > 0
    assert schedule["peak_in_flight_blocks"] == 15
    assert len(schedule["in_flight"]) == 6


def test_without_a_bound_nothing_competes_so_requests_follow_one_another(capsys, timed):
    report = report_of(capsys, timed)
    assert report["engine"]["schedule"] == "sequential"
    assert report["schedule"] is None


def test_a_model_and_what_it_runs_on_set_the_pace(capsys, timed):
    options = (timed, "--schedule", "timed", "--model", "llama-3.1-8b")
    slow = report_of(capsys, *options, "--accelerator", "l40s")["schedule"]
    fast = report_of(capsys, *options, "--accelerator", "b200")["schedule"]
    assert "assumed" not in slow["step_time"]
    assert slow["ttft_s"]["p50"] > fast["ttft_s"]["p50"]


def test_seconds_need_a_log_with_times(capsys, tmp_path):
    log = write(tmp_path / "log.jsonl", [{"token_ids": [1, 2, 3], "output_ids": []}])
    assert "add arrived_s" in refused(capsys, log, "--schedule", "timed")


def test_where_the_tokens_went_that_were_not_computed_in_time(capsys, tmp_path):
    # Both arrive in step 0, but only one runs at a time and the first is still being computed.
    prompt = list(range(64))
    log = write(
        tmp_path / "log.jsonl",
        [{"id": i, "arrive_step": 0, "token_ids": prompt, "output_ids": []} for i in range(2)],
    )
    options = (log, "--schedule", "steps", "--max-num-batched-tokens", "80")
    lost = report_of(capsys, *options)["lost"]
    assert lost["not_ready"] == 0
    chunked = (*options[:-1], "96", "--long-prefill-token-threshold", "32")
    lost = report_of(capsys, *chunked)["lost"]
    assert lost["not_ready"] == 16
    assert lost["evicted"] == 0


@pytest.mark.parametrize(("retention", "expected"), [("dense", 154_224), ("0", 163_408)])
def test_a_model_with_windows_against_the_engines_own_sum(
    capsys, tmp_path, shared_data, retention, expected
):
    """vLLM 0.33.0's own classes hit so many tokens on this log with 1,200 blocks."""
    log = tmp_path / "log.jsonl"
    log.write_bytes(gzip.decompress((shared_data / "golden" / "log-a.jsonl.gz").read_bytes()))
    options = (str(log), "--capacity", "1200blocks", "--groups", "full,swa:64")
    report = report_of(capsys, *options, "--retention", retention)
    assert report["prefix"]["hit_tokens"] == expected


def test_what_a_release_does_not_have_is_refused(capsys, timed):
    groups = (timed, "--groups")
    assert "no kind of layer" in refused(capsys, *groups, "ful")
    assert "write swa:1024" in refused(capsys, *groups, "full,swa")
    both = (*groups, "full,swa:64,chunked:64", "--engine-version")
    assert "one kind of layer beside" in refused(capsys, *both, "0.11.0")
    old = (*groups, "full,swa:64", "--retention", "0", "--engine-version", "0.20.2")
    assert "keeps all blocks of a window" in refused(capsys, *old)
    states = (*groups, "full,mamba:align", "--schedule", "timed")
    assert "0.15.0 and newer" in refused(capsys, *states, "--engine-version", "0.14.0")
    few = ("--max-num-batched-tokens", "15")
    assert "must hold a block, 16 tokens" in refused(capsys, *states, *few)
    short = ("--long-prefill-token-threshold", "15")
    assert "must hold a block, 16 tokens" in refused(capsys, *states, *short)
    assert "no multiple" in refused(capsys, *groups, "full,swa:64", "--retention", "20")
    assert "--groups" in refused(capsys, timed, "--retention", "64")
    chunked = (*groups, "full,chunked:64", "--eagle")
    assert "no chunked attention" in refused(capsys, *chunked)
    assert "means nothing" in refused(capsys, *groups, "full,swa:4", "--engine", "sglang")
    priority = (timed, "--scheduling-policy", "priority", "--schedule", "timed")
    assert "0.12.0" in refused(capsys, *priority, "--engine-version", "0.11.0")
    assert "not known" in refused(capsys, timed, "--scheduling-policy", "lifo")


@pytest.mark.parametrize(
    "option",
    [
        ("--scheduling-policy", "priority"),
        ("--watermark", "0.1"),
        ("--long-prefill-token-threshold", "32"),
    ],
)
def test_what_only_a_scheduler_reads_is_refused_where_requests_do_not_meet(capsys, timed, option):
    # Without a bound the schedule is sequential, and so it is for replicas and other engines.
    assert "one after the other" in refused(capsys, timed, *option)
    assert "one after the other" in refused(capsys, timed, *option, "--engine", "sglang")
    assert report_of(capsys, timed, *option, "--capacity", "40blocks")["schedule"] is not None


def test_priority_decides_who_goes_first(capsys, tmp_path):
    requests = [
        {
            "id": str(i),
            "arrive_step": 0,
            "priority": 9 - i,
            "token_ids": [i] * 32 + [7],
            "output_ids": [],
        }
        for i in range(3)
    ]
    log = write(tmp_path / "log.jsonl", [*requests, {**requests[0], "id": "again"}])
    options = (log, "--schedule", "steps", "--max-num-seqs", "1")
    fcfs = report_of(capsys, *options)
    first = report_of(capsys, *options, "--scheduling-policy", "priority")
    assert fcfs["prefix"]["hit_tokens"] == first["prefix"]["hit_tokens"] == 32
    rows = tmp_path / "rows.jsonl"
    asked = (*options, "--scheduling-policy", "priority", "--capacity", "6blocks")
    report_of(capsys, *asked, "--per-request", str(rows))
    hits = [json.loads(line)["cached_tokens"] for line in rows.read_text().splitlines()]
    assert hits == [0, 0, 0, 32]


def test_the_screen_says_what_is_in_flight_and_what_counters_would_show(capsys, tmp_path):
    requests = [
        {"id": str(i), "arrive": 0, "token_ids": [i] * 40, "output_len": 40} for i in range(4)
    ]
    log = write(tmp_path / "log.jsonl", requests)
    options = ["replay", log, "--isolated", "--schedule", "steps", "--capacity", "8blocks"]
    assert run([*options, "--engine-version", "0.26.0", "--format", "full"]) == Exit.OK
    shown = " ".join(capsys.readouterr().out.split())
    assert "in flight requests hold" in shown
    assert "preemption" in shown
    assert "prefix_cache_hits / queries would show" in shown
    assert "at every look of a waiting request" in shown


def test_the_screen_shows_the_pool_over_time(capsys, tmp_path):
    requests = [
        {"id": str(i), "arrived_s": s, "token_ids": [i] * 64, "output_tokens": 90}
        for i, s in enumerate((0.0, 0.1, 0.2, 9.0))
    ]
    log = write(tmp_path / "log.jsonl", requests)
    assert run(["replay", log, "--isolated", "--capacity", "16blocks", "--format", "full"]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("  over time"))
    held, keyed = (line[13:45] for line in lines[at : at + 2])
    # Three at once, and then one that meets nobody; the cache keeps what they leave.
    assert held == "▇" + 30 * " " + "▁"
    assert keyed[-1] == "█"


def test_a_log_without_outputs_is_said_to_end_its_requests_early(capsys, tmp_path):
    turns = conversation(4)
    for turn in turns[:3]:
        del turn["output_ids"]
    some = write(tmp_path / "some.jsonl", turns)
    for turn in turns[3:]:
        del turn["output_ids"]
    none = write(tmp_path / "none.jsonl", turns)
    asked = ("--capacity", "20blocks", "--schedule")

    def remarks(log, schedule):
        return " ".join(n["text"] for n in report_of(capsys, log, *asked, schedule)["notes"])

    assert "3 of 4 requests have no known output" in remarks(some, "timed")
    assert "no request has known output" in remarks(none, "timed")
    assert "known output" not in remarks(none, "sequential")
