"""`kvaudit replay --l2 --l3` as it is called."""

import json

import pytest

from kvaudit.cli import run
from kvaudit.core.errors import Exit

BLOCK, LONG = 16, 200
LMCACHE_FLEET = ("--engine", "lmcache", "--l2", "inf", "--instances", "2")


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Three prompts of 200 blocks in turn, twice; each alone nearly fills the first tier."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "log.jsonl"
    with path.open("w") as out:
        for i in range(6):
            ids = [i % 3] * BLOCK * LONG + [9]
            print(json.dumps({"id": str(i), "token_ids": ids, "output_len": 1}), file=out)
    return path.name


def replayed(capsys, *args):
    code = run(["replay", *args, "--format", "json", "--isolated"])
    return code, json.loads(capsys.readouterr().out)


def test_tiers_add_up_and_are_priced(capsys, log, tmp_path):
    rows = tmp_path / "rows.jsonl"
    code, found = replayed(
        capsys,
        *(log, "--capacity", "240blocks", "--l2", "400blocks", "--l3", "inf"),
        *("--model", "llama-3.1-8b", "--accelerator", "h100", "--per-request", str(rows)),
    )
    assert code == Exit.OK
    hbm, dram, disk = found["tiers"]
    assert [t["name"] for t in found["tiers"]] == ["hbm", "dram", "disk"]
    assert (hbm["hit_tokens"], hbm["moved_bytes"], hbm["time_s"]) == (0, None, None)
    # Of three prompts in a row the second tier holds the two latest, and drops the one before
    # it comes again; the third holds all.
    per_token = 131_072
    assert disk["hit_tokens"] == 3 * LONG * BLOCK
    assert disk["stored_tokens"] == 3 * LONG * BLOCK
    assert disk["moved_bytes"] == (disk["hit_tokens"] + disk["stored_tokens"]) * per_token
    assert disk["time_s"] == pytest.approx(
        disk["hit_tokens"] * per_token / disk["bandwidth_gb_s"] / 1e9
    )
    assert disk["break_even_gb_s"] == pytest.approx(
        disk["hit_tokens"] * per_token / disk["saved_prefill_s"] / 1e9
    )
    assert dram["capacity_bytes"] == 400 * BLOCK * per_token
    assert sum(t["hit_tokens"] for t in found["tiers"]) == found["prefix"]["hit_tokens"]
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    for line in lines:
        parts = line["l1_tokens"], line["l2_tokens"], line["l3_tokens"]
        assert line["cached_tokens"] == sum(parts)


def test_without_a_model_tokens_are_told_and_bytes_are_not(capsys, log):
    _, found = replayed(capsys, log, "--capacity", "240blocks", "--l2", "9600tokens")
    dram = found["tiers"][1]
    assert dram["capacity_blocks"] == 600
    assert dram["hit_tokens"] == 3 * LONG * BLOCK
    assert dram["moved_bytes"] is dram["time_s"] is dram["capacity_bytes"] is None


def test_a_bandwidth_that_is_given_is_used(capsys, log):
    args = (log, "--capacity", "240blocks", "--l2", "inf", "--model", "llama-3.1-8b")
    _, found = replayed(capsys, *args, "--l2-bandwidth", "10")
    dram = found["tiers"][1]
    assert dram["bandwidth_source"] == "as given"
    assert dram["time_s"] == dram["hit_tokens"] * 131_072 / 10e9


def test_one_tier_is_none(capsys, log):
    assert replayed(capsys, log)[1]["tiers"] is None


def test_lmcache_says_where_it_would_not_come_back(capsys, tmp_path):
    path = tmp_path / "log.jsonl"
    row = {"id": "a", "token_ids": [*range(40)]}
    path.write_text(f"{json.dumps(row)}\n" * 3)
    args = ["--engine", "lmcache", "--block-size", "8", "--capacity", "2blocks", "--l2", "inf"]
    _, found = replayed(capsys, str(path), *args)
    assert [t["hit_tokens"] for t in found["tiers"]] == [16, 16]
    (note,) = [n["text"] for n in found["notes"] if "waits for ever" in n["text"]]
    assert note.startswith("1 request found more")


def test_lmcaches_instances_share_a_remote_store(capsys, log, tmp_path):
    rows = tmp_path / "rows.jsonl"
    args = ("--engine", "lmcache", "--block-size", "16", "--instances", "2", "--l2", "300blocks")
    code, found = replayed(
        *(capsys, log, "--capacity", "240blocks", *args, "--l3", "remote:inf"),
        *("--per-request", str(rows)),
    )
    assert code == Exit.OK
    tiers = {tier["name"]: tier for tier in found["tiers"]}
    # Both instances together: 240 chunks of CPU memory, and 300 on disk, each.
    assert (tiers["dram"]["capacity_blocks"], tiers["disk"]["capacity_blocks"]) == (480, 600)
    assert tiers["remote"]["capacity_blocks"] is None
    # The second time, each prompt comes to the instance that did not compute it.
    assert tiers["remote"]["hit_tokens"] == found["prefix"]["hit_tokens"] == 3 * LONG * BLOCK
    fleet = found["fleet"]
    assert (fleet["sharing"], fleet["shared_hit_tokens"]) == ("remote", 3 * LONG * BLOCK)
    told = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [row["l3_tokens"] for row in told] == [0, 0, 0, *[LONG * BLOCK] * 3]
    _, apart = replayed(
        *(capsys, log, "--capacity", "240blocks", *args, "--l3", "remote:inf"),
        *("--hash-seeds", "differ"),
    )
    assert apart["prefix"]["hit_tokens"] == 0


def test_lmcache_below_several_vllms(capsys, log, tmp_path):
    rows = tmp_path / "rows.jsonl"
    args = (log, "--capacity", "240blocks", "--instances", "2", "--l2", "lmcache:16blocks")
    _, found = replayed(
        *(capsys, *args, "--l3", "remote:inf", "--lmcache-chunk-size", "64"),
        *("--per-request", str(rows)),
    )
    tiers = [(t["name"], t["capacity_blocks"], t["hit_tokens"]) for t in found["tiers"]]
    assert tiers == [("hbm", 480, 0), ("dram", 32, 0), ("remote", None, 3 * 16 * 64)]
    fleet = found["fleet"]
    assert (fleet["sharing"], fleet["local_hit_tokens"]) == ("remote", 0)
    assert fleet["shared_hit_tokens"] == fleet["moved_tokens"] == 3 * 16 * 64
    assert fleet["sharing_rule"].startswith("every replica has hbm and dram of its own; all write")
    assert fleet["one_cache"]["capacity_blocks"] == 480
    told = [json.loads(line)["l3_tokens"] for line in rows.read_text().splitlines()]
    assert told == [0, 0, 0, *[16 * 64] * 3]
    assert any("in chunks of 64 tokens, lru" in note["text"] for note in found["notes"])


def test_lmcache_below_vllm(capsys, log):
    args = (log, "--capacity", "240blocks", "--model", "llama-3.1-8b")
    _, found = replayed(capsys, *args, "--l2", "lmcache:1GiB", "--l3", "remote:inf")
    hbm, dram, remote = found["tiers"]
    # 1 GiB is 32 chunks of 256 tokens at 128 KiB each, less than three prompts of 12.
    assert (dram["capacity_blocks"], dram["capacity_bytes"]) == (32, 2**30)
    assert remote["name"] == "remote"
    assert hbm["hit_tokens"] == 0
    assert dram["hit_tokens"] + remote["hit_tokens"] == 3 * (LONG * BLOCK // 256) * 256
    (note,) = [n["text"] for n in found["notes"] if "LMCache" in n["text"]]
    assert "in chunks of 256 tokens, lru" in note
    _, small = replayed(capsys, *args, "--l2", "lmcache:inf", "--lmcache-chunk-size", "64")
    assert small["tiers"][1]["hit_tokens"] == 3 * LONG * BLOCK


@pytest.mark.parametrize(("field", "told"), [("lora", 1), ("salt", 1), ("user", 0)])
def test_lmcache_below_vllm_tells_what_it_would_give_to_another(capsys, tmp_path, field, told):
    path = tmp_path / "log.jsonl"
    with path.open("w") as out:
        for value in "ab":
            row = {"id": value, "token_ids": [*range(300)], "output_len": 1, field: value}
            print(json.dumps(row), file=out)
    args = ("--capacity", "40blocks", "--l2", "lmcache:inf", "--namespace", "user")
    _, found = replayed(capsys, str(path), *args)
    assert found["prefix"]["hit_tokens"] == 0
    notes = [n["text"] for n in found["notes"] if "leave out adapter" in n["text"]]
    assert len(notes) == told
    assert all("1 of 2 requests would read 256 tokens" in note for note in notes)


def test_lmcache_counts_what_it_cannot_reach(capsys, log):
    args = (log, "--engine", "lmcache", "--block-size", "16", "--capacity", "300blocks")
    _, found = replayed(capsys, *args, "--policy", "fifo")
    (dram,) = found["tiers"]
    assert (dram["name"], dram["unreachable_blocks"]) == ("dram", 100)


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (("--l3", "40blocks"), "say --l2 SIZE too"),
        (("--exclusive",), "say --l2 SIZE too"),
        (("--l2", "inf", "--l3-bandwidth", "3"), "say --l3 SIZE too"),
        (("--l2", "inf", "--exclusive"), "use --write-policy write-back"),
        (("--l2", "inf", "--write-policy", "write-bak"), "write-back"),
        (("--l2", "1GiB"), "add --model NAME"),
        (("--l2", "5tokens"), "holds no block"),
        (("--l2", "inf", "--l2-bandwidth", "0"), "more than 0 GB/s"),
        (("--l2", "inf", "--l2-bandwidth", "inf"), "a finite number"),
        (("--l2", "inf", "--engine", "ideal"), "not modelled; use --engine vllm"),
        (("--l2", "inf", "--instances", "2"), "leave out --instances"),
        (("--l2", "inf", "--schedule", "steps"), "one request after the other"),
        (("--l2", "remote:inf"), "use --l2 lmcache:SIZE --l3 remote:SIZE"),
        (("--l2", "remote:inf", "--engine", "sglang"), "use --engine lmcache"),
        (("--l2", "remot:inf"), "did you mean remote?"),
        (("--l2", "9blocks", "--l3", "lmcache:inf"), "write --l2 lmcache:SIZE"),
        (("--l2", "lmcache:inf", "--engine", "trtllm"), "use --engine vllm"),
        (("--l2", "lmcache:inf", "--write-policy", "write-back"), "leave --write-policy"),
        (("--l2", "lmcache:inf", "--exclusive"), "leave --write-policy and --exclusive out"),
        (("--l2", "inf", "--instances", "2", "--engine", "sglang"), "use --engine lmcache"),
        (("--l2", "inf", "--lmcache-chunk-size", "64"), "say --l2 lmcache:SIZE"),
        (("--lmcache-chunk-size", "64"), "say --l2 lmcache:SIZE too"),
        (("--l2", "lmcache:inf", "--lmcache-cache-policy", "lrw"), "did you mean lru"),
        (("--save-decode-cache",), "use --engine lmcache, or --l2 lmcache:SIZE"),
        (("--engine", "lmcache", "--l2", "remote:inf", "--l3", "9blocks"), "the last tier"),
        ((*LMCACHE_FLEET, "--sharing", "pool"), "--sharing is not modelled"),
        (
            (*LMCACHE_FLEET, "--engine-version", "0.5.4"),
            "the disk of LMCache 0.5.4 is not modelled",
        ),
        (
            ("--engine", "lmcache", "--engine-version", "0.4.7", "--l2", "remote:inf"),
            "the remote store of LMCache 0.4.7 was not read; use --engine-version 0.5.5",
        ),
        ((*LMCACHE_FLEET, "--invalidate", "3:all"), "--invalidate is not modelled"),
        ((*LMCACHE_FLEET, "--write-policy", "write-back"), "--write-policy is not modelled"),
        (("--engine", "lmcache", "--l2", "inf", "--router", "logged"), "say --instances N too"),
        (
            ("--l2", "inf", "--engine", "sglang", "--write-policy", "write-back", "--exclusive"),
            "sglang keeps its copy",
        ),
    ],
)
def test_what_cannot_be_is_refused(capsys, log, args, complaint):
    assert run(["replay", log, *args, "--isolated"]) == Exit.ERROR
    out, err = capsys.readouterr()
    assert out == ""
    assert complaint in err


def test_the_screen_tells_what_a_tier_adds(capsys, log):
    args = ("--capacity", "240blocks", "--l2", "inf", "--model", "llama-3.1-8b")
    run(["replay", log, *args, "--accelerator", "h100", "--format", "full", "--isolated"])
    out = capsys.readouterr().out
    assert "pays from" in out
    assert all(len(line) <= 100 for line in out.splitlines())


@pytest.mark.parametrize("policy", ["write-through", "write_back"])
def test_sglang_loads_whole_prompts_back(capsys, log, policy):
    args = ("--engine", "sglang", "--block-size", "16", "--capacity", "240blocks", "--l2", "inf")
    _, found = replayed(capsys, log, *args, "--write-policy", policy)
    hbm, dram = found["tiers"]
    # A host that keeps all gives back each of the three prompts when it comes again.
    assert (hbm["hit_tokens"], dram["hit_tokens"]) == (0, 3 * LONG * BLOCK)
    assert (dram["peak_blocks"], dram["stored_tokens"]) == (3 * LONG, 3 * LONG * BLOCK)
