"""`kvaudit replay --device cpu` and `--gpu` as they are called, with a model that is really run."""

import json
import random
from pathlib import Path

import pytest
import torch

from kvaudit.cli import run
from kvaudit.core.errors import Exit

TIERS = ("--l2", "30blocks", "--l3", "200blocks")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Chats that take turns, with known answers: more than the two fast tiers hold."""
    rng = random.Random(3)
    heads = [[rng.randrange(5000) for _ in range(100)] for _ in range(2)]
    chats = [[*heads[number % 2]] for number in range(5)]
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    with path.open("w") as out:
        for number in range(24):
            chat = chats[rng.randrange(len(chats))]
            chat += [rng.randrange(5000) for _ in range(rng.randrange(3, 50))]
            answer = [rng.randrange(5000) for _ in range(rng.randrange(1, 30))]
            line = {"id": f"r{number}", "token_ids": chat, "output_ids": answer}
            print(json.dumps(line), file=out)
            chat += answer
    return str(path)


@pytest.fixture
def replayed(capsys, tmp_path):
    """Run a replay; return its exit code, its report, and its rows."""

    def call(*args):
        rows = tmp_path / "rows.jsonl"
        rows.unlink(missing_ok=True)
        shown = ("--format", "json", "--isolated", "--per-request", str(rows))
        code = run(["replay", *args, *shown])
        text = capsys.readouterr().out
        lines = [json.loads(line) for line in rows.read_text().splitlines()]
        return code, json.loads(text), lines

    return call


def hits(rows):
    return [(row["id"], row["cached_tokens"], row["l2_tokens"], row["l3_tokens"]) for row in rows]


@pytest.mark.parametrize(
    "engine",
    [
        ("--engine", "vllm", "--capacity", "30blocks"),
        ("--engine", "vllm", "--capacity", "30blocks", *TIERS),
        ("--engine", "vllm", "--capacity", "30blocks", *TIERS, "--write-policy", "write-back"),
        ("--engine", "sglang", "--capacity", "700tokens"),
        ("--engine", "sglang", "--block-size", "16", "--capacity", "480tokens", *TIERS),
        ("--engine", "sglang", "--capacity", "480tokens", "--l2", "600tokens", "--l3", "inf"),
        ("--engine", "vllm"),
    ],
)
@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_real_tiers_hit_what_is_simulated(replayed, log, engine, dtype):
    _, _, simulated = replayed(log, *engine, "--model", "tiny")
    on_device = ("--model", "tiny", "--device", "cpu", "--dtype", dtype, "--checks", "12")
    code, report, rows = replayed(log, *engine, *on_device)
    assert code == Exit.OK
    assert hits(rows) == hits(simulated)
    ran = report["device"]["execution"]
    assert (ran["requests"], ran["left_out"], ran["differing"]) == (24, 0, 0)
    assert ran["hit_tokens"] == report["prefix"]["hit_tokens"] > 0
    assert ran["computed_tokens"] == report["prefix"]["computed_tokens"]
    assert ran["leaked_blocks"] == 0
    logits = ran["logits"]
    assert logits["with_reuse"] > 0
    assert logits["same_split_equal"] == logits["within_tolerance"] == logits["requests"] == 12
    assert report["savings"]["ttft_s"]["basis"] == "measured"
    assert all(row["ttft_s"] > 0 for row in rows)
    match = report["device"]["match"]
    assert match["differing_requests"] == 0 < match["matched_blocks"]
    if TIERS[0] in engine:
        assert all(copies["read_bytes"] > 0 for copies in ran["copies"])


@pytest.fixture
def warm(replayed, log, tmp_path):
    """Options of a run whose files an earlier run, of half the log, has left."""
    device = ("--model", "tiny", "--device", "cpu", "--checks", "4", "--kv-dir", str(tmp_path))
    options = ("--capacity", "30blocks", *TIERS, *device)
    _, report, _ = replayed(log, *options, "--limit", "12")
    return options, report["prefix"]["hit_tokens"]


def test_files_outlive_the_process(replayed, log, warm):
    options, cold = warm
    _, report, _ = replayed(log, *options, "--limit", "12")
    ran = report["device"]["execution"]
    assert ran["hit_tokens"] > cold
    assert (ran["differing"], ran["damaged_blocks"]) == (0, 0)
    assert ran["logits"]["same_split_unknown"] > 0
    assert ran["logits"]["within_tolerance"] == 4


@pytest.mark.parametrize("damage", ["flipped", "cut off", "empty"])
def test_a_damaged_file_is_never_used(replayed, log, warm, tmp_path, damage):
    options, _ = warm
    for path in tmp_path.glob("*/*.safetensors"):
        data = bytearray(path.read_bytes())
        data[-3] ^= 1
        path.write_bytes({"flipped": data, "cut off": data[:-40], "empty": b""}[damage])
    code, report, _ = replayed(log, *options, "--limit", "12")
    ran = report["device"]["execution"]
    assert code == Exit.OK
    assert ran["damaged_blocks"] > 0 < ran["differing"]
    assert ran["logits"]["within_tolerance"] == 4


def test_files_of_another_model_are_not_used(replayed, log, warm, tmp_path):
    options, cold = warm
    _, report, _ = replayed(log, *options, "--dtype", "bf16", "--limit", "12")
    assert report["device"]["execution"]["hit_tokens"] == cold


def test_a_pool_without_room_shrinks_and_says_so(replayed, log, monkeypatch):
    from kvaudit.replay.device.tiers import Pool

    real = Pool._room

    def cramped(self, blocks):
        if blocks > 40:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate much")
        return real(self, blocks)

    monkeypatch.setattr(Pool, "_room", cramped)
    options = ("--model", "tiny", "--device", "cpu", "--checks", "0")
    _, report, rows = replayed(log, "--capacity", "150blocks", *options)
    ran = report["device"]["execution"]
    assert (ran["pool_blocks"], ran["shrunk_from_blocks"], ran["differing"]) == (37, 150, 0)
    assert report["engine"]["capacity_blocks"] == 37
    monkeypatch.undo()
    _, _, simulated = replayed(log, "--capacity", "37blocks")
    assert hits(rows) == hits(simulated)


def test_out_of_memory_in_the_middle_ends_the_run_and_keeps_what_was_measured(
    replayed, log, monkeypatch
):
    from kvaudit.replay.device.prefill import Prefill

    calls, real = [], Prefill.after

    def limited(self, cache, tokens):
        calls.append(1)
        if len(calls) > 20:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate much")
        return real(self, cache, tokens)

    monkeypatch.setattr(Prefill, "after", limited)
    code, report, rows = replayed(log, "--model", "tiny", "--device", "cpu", "--checks", "4")
    ran = report["device"]["execution"]
    assert code == Exit.OK
    assert 0 < ran["requests"] < 24 == ran["requests"] + ran["left_out"] == len(rows)
    assert "memory ran out at request r" in ran["reason"]


def test_without_a_model_nothing_is_executed_and_that_is_said(capsys, log):
    assert run(["replay", log, "--device", "cpu", "--isolated", "--format", "full"]) == Exit.OK
    shown = capsys.readouterr().out
    assert "equal to the host's" in shown
    assert "executed   nothing: name a model" in shown


RUN = ("--device", "cpu", "--model", "tiny")
REFUSED = [
    (("--gpu",), "--gpu needs a CUDA device"),
    (("--device", "cuda"), "--device cuda needs a CUDA device"),
    (("--device", "cpuu"), "did you mean cpu?"),
    (("--gpu", "--device", "cpu"), "contradict"),
    (("--device", "cpu", "--dtype", "bf16"), "name one with --model"),
    (("--device", "cpu", "--model", "tiny", "--dtype", "fp8"), "--dtype fp8 is not one"),
    (("--device", "cpu", "--model", "tiny", "--engine", "ideal"), "--engine ideal: a model is run"),
    (("--device", "cpu", "--model", "tiny", "--instances", "2"), "--instances: a model is run"),
    (("--device", "cpu", "--model", "deepseek-v3"), "keeps a latent"),
    (("--device", "cpu", "--model", "tiny", "--kv-dir", "x"), "--kv-dir keeps the files"),
    ((*RUN, "--kv-dir", __file__, *TIERS), "name another folder"),
    ((*RUN, "--engine", "openai"), "nobody can run a provider's model"),
    ((*RUN, "--l2", "1000000000000blocks"), "--l2: the host has no room"),
]


@pytest.mark.parametrize(("args", "said"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_cannot_be_done_is_refused(capsys, log, args, said, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert run(["replay", log, *args, "--isolated"]) == Exit.ERROR
    told = capsys.readouterr().err
    assert said in told
    assert "Traceback" not in told


SHAPE = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "vocab_size": 32,
}
HEADS_THAT_DO_NOT_DIVIDE = SHAPE | {"num_key_value_heads": 3}
BAD_FOLDERS = [
    (SHAPE | {"max_position_embeddings": 128}, None, "the model has 128 positions"),
    (SHAPE | {"sliding_window": 8, "model_type": "mistral"}, None, "layers of sliding windows"),
    (HEADS_THAT_DO_NOT_DIVIDE, None, "it cannot be run"),
    (SHAPE | {"model_type": "unheard_of"}, None, "Unrecognized model identifier"),
    (SHAPE, b"garbage", "transformers cannot load it"),
]


@pytest.mark.parametrize(("shape", "weights", "said"), BAD_FOLDERS, ids=lambda v: str(v)[-30:])
def test_a_folder_that_cannot_be_run_is_refused(capsys, log, tmp_path, shape, weights, said):
    code = "raise SystemExit('code of a model was run')"
    (tmp_path / "its_own.py").write_text(code)
    remote = {"auto_map": {"AutoConfig": "its_own.C", "AutoModelForCausalLM": "its_own.M"}}
    (tmp_path / "config.json").write_text(json.dumps(shape | remote))
    if weights is not None:
        (tmp_path / "model.safetensors").write_bytes(weights)
    args = ("--device", "cpu", "--model", str(tmp_path), "--isolated")
    assert run(["replay", log, *args]) == Exit.ERROR
    told = capsys.readouterr().err
    assert said in told
    assert len(told) < 500


def test_a_log_of_hashes_has_nothing_to_run_but_is_matched(capsys, tmp_path):
    path = tmp_path / "log.jsonl"
    rows = [{"block_ids": [1, 2, n], "block_tokens": 16, "prompt_tokens": 48} for n in (3, 4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    args = ["replay", str(path), "--isolated", "--device", "cpu", "--engine", "vllm"]
    assert run([*args, "--model", "tiny"]) == Exit.ERROR
    assert "block hashes only" in capsys.readouterr().err
    assert run([*args, "--format", "json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["device"]["match"]["matched_blocks"] == 2


def test_what_does_not_fit_the_cache_is_told_from_what_was_left_out(replayed, log):
    options = ("--device", "cpu", "--model", "tiny", "--checks", "2", "--capacity", "12blocks")
    _, report, rows = replayed(log, *options)
    ran = report["device"]["execution"]
    refused = sum(not row["admitted"] for row in rows)
    assert 0 < refused == ran["not_admitted"] == report["prefix"]["not_admitted"]
    assert (ran["left_out"], ran["requests"]) == (0, 24 - refused)
    assert [row["ttft_s"] is None for row in rows] == [not row["admitted"] for row in rows]


def test_a_warm_up_is_left_out_of_the_times(replayed, log):
    options = ("--device", "cpu", "--model", "tiny", "--checks", "24", "--warmup", "10")
    _, report, _ = replayed(log, *options)
    ran = report["device"]["execution"]
    assert (ran["logits"]["requests"], ran["ttft_s"]["requests"]) == (24, 14)


def test_pickled_weights_are_not_loaded(capsys, log, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    shape = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1, "vocab_size": 32}
    shape |= {"num_attention_heads": 2, "intermediate_size": 64}
    (folder / "config.json").write_text(json.dumps(shape))
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    assert run(["replay", log, "--device", "cpu", "--model", str(folder)]) == Exit.ERROR
    assert "a pickle, which can run code" in capsys.readouterr().err


def test_a_model_of_ones_own_is_run_from_its_folder(replayed, log, tmp_path):
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = Path(tmp_path, "model")
    config = LlamaConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        vocab_size=64,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    options = ("--device", "cpu", "--model", str(folder), "--checks", "3")
    _, report, _ = replayed(log, *options)
    ran = report["device"]["execution"]
    assert (ran["weights"], ran["differing"]) == ("file", 0)
    assert ran["logits"]["same_split_equal"] == 3


SHARED, OWN = 2000, 200


@pytest.fixture(scope="module")
def textbook(tmp_path_factory):
    """One long prefix with other ends; between them a prompt that pushes it out of two tiers."""
    rng = random.Random(5)
    prefix, other = ([rng.randrange(900) for _ in range(SHARED)] for _ in range(2))
    path = tmp_path_factory.mktemp("textbook") / "log.jsonl"
    with path.open("w") as out:
        for number, head in enumerate((prefix, prefix, other, prefix)):
            ids = [*head, *(rng.randrange(900) for _ in range(OWN))]
            print(json.dumps({"id": f"t{number}", "token_ids": ids, "output_len": 1}), file=out)
    return str(path)


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize(
    ("sizes", "tier"),
    [
        (("--capacity", "300blocks"), None),
        (("--capacity", "138blocks", "--l2", "400blocks"), "l2_tokens"),
        (("--capacity", "138blocks", "--l2", "9blocks", "--l3", "400blocks"), "l3_tokens"),
    ],
)
def test_the_textbook_case_computes_the_own_tokens_only(replayed, textbook, dtype, sizes, tier):
    options = ("--model", "tiny", "--device", "cpu", "--dtype", dtype, "--checks", "4")
    _, report, rows = replayed(textbook, *sizes, *options)
    assert [row["cached_tokens"] for row in rows] == [0, SHARED, 0, SHARED]
    if tier is not None:
        assert rows[3][tier] == SHARED
    ran = report["device"]["execution"]
    assert ran["computed_tokens"] == 2 * (SHARED + OWN) + 2 * OWN
    assert (ran["differing"], ran["logits"]["same_split_equal"]) == (0, 4)
    assert ran["logits"]["within_tolerance"] == 4
    saved = rows[1]["saved_flops"] / (rows[1]["flops"] + rows[1]["saved_flops"])
    assert 0.8 < saved < 0.91


def test_what_was_measured_is_an_accelerator_for_later_runs(replayed, capsys, log, tmp_path):
    path = tmp_path / "mine.toml"
    run_it = ("--model", "tiny", "--device", "cpu", "--capacity", "30blocks", *TIERS)
    replayed(log, *run_it, "--calibrate-accelerator", str(path))
    _, report, _ = replayed(log, "--model", "tiny", "--accelerator", str(path))
    assert report["savings"]["ttft_s"]["basis"] == "modelled"
    _, both, _ = replayed(log, *run_it, "--accelerator", str(path))
    ttft = both["device"]["execution"]["ttft_s"]
    assert ttft["modelled_error"] < 1
    path.write_text(path.read_text().replace("mfu = ", "mfu = -"))
    assert run(["replay", log, "--model", "tiny", "--accelerator", str(path)]) == Exit.ERROR
    assert "mfu must be a number above 0" in capsys.readouterr().err


def test_too_few_measurements_are_no_accelerator(capsys, log, tmp_path):
    path = tmp_path / "mine.toml"
    few = ("--model", "tiny", "--device", "cpu", "--checks", "3", "--isolated")
    assert run(["replay", log, *few, "--calibrate-accelerator", str(path)]) == Exit.ERROR
    assert "cannot be fitted" in capsys.readouterr().err
    assert not path.exists()
