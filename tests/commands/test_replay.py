"""`kvaudit replay` as it is called: what it prints, and what it says of bad input."""

import json
import os

import pytest

from kvaudit.cli import run
from kvaudit.core.errors import Exit


def write(path, *records):
    path.write_bytes(
        b"".join(r if isinstance(r, bytes) else json.dumps(r).encode() + b"\n" for r in records)
    )
    return str(path)


def tokens(i, ids, **more):
    return {"id": f"r{i}", "token_ids": ids, "arrived_s": float(i), **more}


def result(capsys, *args):
    code = run(["replay", *args, "--format", "json"])
    out, err = capsys.readouterr()
    return code, json.loads(out), err


def failure(capsys, *args):
    code = run(["replay", *args])
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert "Traceback" not in err
    return code, err


def test_a_token_log_is_replayed_and_accounted_for(capsys, tmp_path):
    log = write(tmp_path / "log.jsonl", *(tokens(i, list(range(40))) for i in range(3)))
    code, report, _ = result(capsys, log, "--per-request", "rows.jsonl")
    assert code == Exit.OK
    assert report["prefix"]["hit_tokens"] == 64
    assert report["ideal"]["hit_tokens"] == 80
    assert report["log"]["records"] == report["log"]["requests"] == 3
    assert report["engine"]["capacity_blocks"] is None
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["cached_tokens"] for row in rows] == [0, 32, 32]
    assert rows[0]["admitted"] is True
    assert rows[0]["ttft_s"] is None


def test_the_engines_own_keys_are_written_on_request(capsys, tmp_path):
    import hashlib

    import cbor2

    log = write(tmp_path / "log.jsonl", tokens(0, list(range(20)), salt="s"), tokens(1, [1] * 15))
    code, _, _ = result(
        capsys, log, "--engine-keys", "sha256_cbor:0", "--per-request", "rows.jsonl"
    )
    assert code == Exit.OK
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]

    def digest(value):
        return hashlib.sha256(cbor2.dumps(value, canonical=True)).digest()

    expected = digest((digest("0"), tuple(range(16)), (("cache_salt", "s"),)))
    assert [row["block_keys"] for row in rows] == [[expected.hex()], []]
    for options, named in (
        (["--engine-keys", "sha255", "--per-request", "rows.jsonl"], "sha256"),
        (["--engine-keys", "sha256"], "--per-request"),
        (["--engine-keys", "sha256", "--engine", "ideal", "--per-request", "r.jsonl"], "ideal"),
    ):
        code, err = failure(capsys, log, *options)
        assert code == Exit.ERROR
        assert named in err


def test_steps_let_requests_meet(capsys, tmp_path):
    prompt = list(range(40))
    log = write(
        tmp_path / "log.jsonl",
        *({"id": f"r{i}", "token_ids": prompt, "output_len": 30, "arrive": 0} for i in range(3)),
    )
    options = (log, "--schedule", "steps", "--capacity", "6blocks", "--max-num-seqs", "2")
    code, report, _ = result(capsys, *options, "--per-request", "rows.jsonl")
    assert code == Exit.OK
    assert report["engine"]["schedule"] == "steps"
    assert "scheduler" in report["engine"]["exactness"]
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["cached_tokens"] for row in rows] == [0, 32, 32]
    assert rows[0]["resumed_cached_tokens"] == 0
    assert sum(row["resumed_cached_tokens"] for row in rows) > 0


def test_engines_differ_by_their_own_rules(capsys, tmp_path):
    log = write(
        tmp_path / "log.jsonl",
        tokens(0, list(range(64)), salt="a"),
        tokens(1, list(range(64)), salt="a"),
        tokens(2, list(range(64)), salt="b"),
    )
    hits = {
        engine: result(capsys, log, "--engine", engine, *more)[1]["prefix"]["hit_tokens"]
        for engine, more in (
            ("vllm", ()),
            ("sglang", ()),
            ("lmcache", ("--block-size", "16")),
            ("ideal", ()),
        )
    }
    # LMCache's keys hold no salt; a prompt held to its end has one token computed again.
    assert hits == {"vllm": 48, "sglang": 63, "lmcache": 2 * 63, "ideal": 64}


def test_the_same_log_gives_the_same_bytes(capsys, tmp_path):
    log = write(
        tmp_path / "log.jsonl",
        *(
            tokens(i, [1] * (20 + i % 7), session=f"s{i % 3}", tenant=f"t{i % 2}")
            for i in range(50)
        ),
    )
    outputs = []
    for _ in range(2):
        run(["replay", log, "--format", "json", "--namespace", "tenant"])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


def test_an_empty_file_is_nothing_checked(capsys, tmp_path):
    code, report, _ = result(capsys, write(tmp_path / "log.jsonl"))
    assert code == Exit.NOTHING_CHECKED
    assert report["prefix"] is None
    assert "empty" in json.dumps(report["notes"])


def test_a_directory_is_not_a_log(capsys, tmp_path):
    code, err = failure(capsys, str(tmp_path))
    assert code == Exit.ERROR
    assert "folder" in err or "directory" in err


def test_a_missing_file_is_named(capsys):
    code, err = failure(capsys, "no-such.jsonl")
    assert code == Exit.ERROR
    assert "no-such.jsonl" in err


def test_a_binary_is_named_for_what_it_is(capsys, tmp_path):
    for content in (
        b"\x7fELF\x02\x01\x01" + bytes(200),
        b"\x80\x04\x95" + bytes(99),
        os.urandom(999),
    ):
        code, err = failure(capsys, write(tmp_path / "log.bin", content))
        assert code == Exit.ERROR
        assert "log.bin" in err


def test_a_parquet_without_usable_columns_is_told_about_map(capsys, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"colour": ["red", "blue"], "size": [1, 2]}), tmp_path / "log.parquet")
    code, err = failure(capsys, "log.parquet")
    assert code == Exit.ERROR
    assert "colour" in err
    assert "--map" in err


def test_one_bad_line_among_many_is_counted_and_shown(capsys, tmp_path):
    good = [tokens(i, [1, 2, 3]) for i in range(200)]
    log = write(tmp_path / "log.jsonl", *good[:100], b'{"token_ids": [1, 2\n', *good[100:])
    code, report, _ = result(capsys, log)
    assert code == Exit.OK
    assert (report["log"]["records"], report["log"]["requests"]) == (201, 200)
    assert report["log"]["skipped_reasons"] == {"broken record": 1}
    assert (
        report["log"]["broken"][0].startswith("log.jsonl:101: ")
        or ":101: " in report["log"]["broken"][0]
    )


def test_too_many_bad_lines_end_the_run(capsys, tmp_path):
    log = write(tmp_path / "log.jsonl", *(tokens(i, [1]) for i in range(20)), b"{oops}\n")
    code, err = failure(capsys, log)
    assert code == Exit.ERROR
    assert "21" in err
    code, _, _ = result(capsys, log, "--config", "max-broken-share=0.1")
    assert code == Exit.OK


def test_a_log_from_the_future_is_replayed_with_a_remark(capsys, tmp_path):
    log = write(tmp_path / "log.jsonl", *(tokens(i, [1, 2], arrived_s=4e9 + i) for i in range(3)))
    code, report, _ = result(capsys, log)
    assert code == Exit.OK
    assert "future" in json.dumps(report["notes"])


def test_ids_that_occur_twice_are_remarked(capsys, tmp_path):
    log = write(tmp_path / "log.jsonl", *(tokens(0, [1, 2], arrived_s=float(i)) for i in range(3)))
    code, report, _ = result(capsys, log)
    assert code == Exit.OK
    assert report["log"]["requests"] == 3
    assert "duplicate-ids" in json.dumps(report["notes"])


def test_children_before_their_parents_are_remarked(capsys, tmp_path):
    log = write(
        tmp_path / "log.jsonl",
        {"id": "b", "token_ids": [1, 2, 3, 4], "parent": "a", "answer_group": "x"},
        {"id": "a", "token_ids": [1, 2], "answer_group": "x"},
    )
    code, report, _ = result(capsys, log)
    assert code == Exit.OK
    assert "parent" in json.dumps(report["notes"])


def test_a_line_beyond_any_measure_is_one_broken_record(capsys, tmp_path):
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        for i in range(150):
            file.write(json.dumps(tokens(i, [1, 2])).encode() + b"\n")
        file.write(b'{"token_ids": [' + b"1, " * (200_000_000 // 3) + b"1]}\n")
        file.write(json.dumps(tokens(150, [1, 2])).encode() + b"\n")
    code, report, _ = result(capsys, str(path))
    assert code == Exit.OK
    assert report["log"]["requests"] == 151
    assert "200.0 MB" in report["log"]["broken"][0]


def test_a_log_of_counts_gets_lengths_and_a_sentence(capsys, tmp_path):
    path = tmp_path / "azure.csv"
    path.write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
        + "".join(f"2023-11-16 18:15:{i:02}.6805900,{100 + i},4\r\n" for i in range(30))
        + "2023-11-16 18:16:46.6805900,200,4"  # the published file ends without a line end
    )
    code, report, _ = result(capsys, str(path))
    assert code == Exit.OK
    assert report["prefix"] is None
    assert report["log"]["prompt_lengths"]["requests"] == 31
    assert "no hit rate" in json.dumps(report["notes"])


def test_budgets_decide_the_exit_code(capsys, tmp_path):
    log = write(tmp_path / "log.jsonl", *(tokens(i, list(range(40))) for i in range(3)))
    assert result(capsys, log, "--fail-under", "hit-rate=0.5")[0] == Exit.OK
    assert result(capsys, log, "--fail-under", "hit-rate=0.6")[0] == Exit.FINDINGS


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--engine", "vlm"], "vllm"),
        (["--capacity", "0blocks"], "block"),
        (["--capacity", "40GiB"], "--model"),
        (["--capacity", "lots"], "600blocks"),
        (["--engine-version", "99.0"], "0.33.0"),
        (["--tokenizer", "o200k_bse"], "o200k_base"),
        (["--chat-template", "chatm"], "chatml"),
        (["--input-format", "opnai-chat"], "openai-chat"),
        (["--namespace", "tenent"], "tenant"),
        (["--schedule", "stepps"], "steps"),
        (["--schedule", "steps"], "arrive_step"),
        (["--policy", "fifo"], "lru"),
        (["--per-request", "rows.txt"], ".jsonl"),
        (["--fail-under", "hit-rat=0.5"], "hit-rate"),
        (["--map", "prompt"], "FIELD=PATH"),
        (["--block-size", "0"], "block-size"),
        (["--capcity", "3blocks"], "--capacity"),
    ],
)
def test_a_mistaken_option_is_answered_with_the_right_one(capsys, tmp_path, options, named):
    log = write(
        tmp_path / "log.jsonl", {"id": "1", "prompt": "hello", "messages": None, "arrived_s": 1.0}
    )
    if "--chat-template" in options:
        log = write(
            tmp_path / "log.jsonl",
            {"id": "1", "messages": [{"role": "user", "content": "hi"}], "arrived_s": 1.0},
        )
    code, err = failure(capsys, log, *options)
    assert code == Exit.ERROR
    assert named in err


@pytest.mark.parametrize("option", ["--per-request", "--output"])
def test_the_log_is_never_written_over(option, capsys, tmp_path):
    log = tmp_path / "log.jsonl"
    write(log, tokens(0, [1, 2, 3]))
    before = log.read_bytes()
    (tmp_path / "link.jsonl").symlink_to(log)
    for name in ("log.jsonl", "link.jsonl"):
        value = name if option == "--per-request" else f"json:{name}"
        code, err = failure(capsys, str(log), option, value)
        assert code == Exit.ERROR
        assert "is one of the files to read" in err
    assert log.read_bytes() == before


def test_rows_and_report_do_not_share_a_file(capsys, tmp_path):
    log = write(tmp_path / "log.jsonl", tokens(0, [1, 2, 3]))
    code, err = failure(capsys, log, "--per-request", "x.jsonl", "--output", "json:x.jsonl")
    assert code == Exit.ERROR
    assert "named twice" in err


def test_the_block_size_of_hashes_is_taken_from_the_option_where_the_log_has_none(capsys, tmp_path):
    record = {"block_ids": [1, 2], "prompt_tokens": 32}
    log = write(tmp_path / "log.jsonl", record, record, {**record, "block_tokens": 0})
    code, report, _ = result(capsys, log, "--block-size", "16")
    assert code == Exit.OK
    assert report["engine"]["block_size"] == 16
    assert report["prefix"]["hit_tokens"] == 64
    code, err = failure(capsys, log)
    assert "say --block-size" in err


@pytest.mark.parametrize("name", ["prompt_tokens", "output_tokens", "block_tokens"])
def test_counts_that_no_request_has_are_broken_records(name, capsys, tmp_path):
    record = {"block_ids": [1], "block_tokens": 16, name: 2**63}
    code, err = failure(capsys, write(tmp_path / "log.jsonl", record))
    assert code == Exit.ERROR
    assert f"{name} is 9,223,372,036,854,775,808, and no request has that many" in err


@pytest.mark.parametrize("warmup", ["inf", "2.5"])
def test_a_warm_up_that_is_neither_share_nor_count_is_refused(warmup, capsys, tmp_path):
    code, err = failure(capsys, write(tmp_path / "log.jsonl", tokens(0, [1])), f"--warmup={warmup}")
    assert code == Exit.ERROR
    assert f"--warmup {warmup} is neither" in err


@pytest.mark.parametrize("command", ["replay", "why", "sweep"])
def test_a_warm_up_of_the_whole_log_is_nothing_checked(command, capsys, tmp_path):
    log = write(tmp_path / "log.jsonl", *(tokens(i, list(range(40))) for i in range(3)))
    code = run([command, log, "--warmup", "9", "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert code == Exit.NOTHING_CHECKED
    assert "the warm-up is the whole log: nothing is counted" in [
        note["text"] for note in report["notes"]
    ]
    assert run([command, log, "--warmup", "2"]) == Exit.OK


def test_a_time_that_is_none_is_a_broken_record(capsys, tmp_path):
    log = write(
        tmp_path / "log.jsonl", *({"token_ids": [1], "arrived_s": t} for t in (1e308, -1e308))
    )
    code, err = failure(capsys, log)
    assert code == Exit.ERROR
    assert err.startswith("error: 2 of 2 records are broken")
    assert "arrived_s is no point in time" in err
