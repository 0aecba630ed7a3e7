"""`kvaudit replay --model --accelerator`: what the hits are worth."""

import json

import pytest

from kvaudit import cli
from kvaudit.cost.catalogue import load_model_shape

HOUR = 3600.0


def write(path, requests):
    path.write_text("".join(f"{json.dumps(request)}\n" for request in requests))
    return str(path)


def request(number, tokens, **fields):
    return {"id": str(number), "arrived_s": number * 60.0, "token_ids": tokens} | fields


@pytest.fixture
def textbook(tmp_path):
    """Two requests of 2,200 tokens that share the first 2,000."""
    shared = list(range(2000))
    requests = [request(i, shared + [10_000 * (i + 1)] * 200) for i in range(2)]
    return write(tmp_path / "textbook.jsonl", requests)


def savings(capsys, *arguments, code=0):
    assert cli.run(["replay", *arguments, "--format", "json", "-q", "--isolated"]) == code
    return json.loads(capsys.readouterr().out)["savings"]


def screen(capsys, *arguments):
    assert cli.run(["replay", *arguments, "--format", "full", "-q", "--isolated"]) == 0
    return capsys.readouterr().out


def refused(capsys, *arguments):
    assert cli.run(["replay", *arguments, "-q", "--isolated"]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        ("llama-3.1-8b", "2.90e13 of 6.40e13 prefill FLOPs (45.3 %)"),
        ("qwen3-30b-a3b", "1.25e13 of 2.78e13 prefill FLOPs (44.9 %)"),
        ("deepseek-v3", "1.49e14 of 3.38e14 prefill FLOPs (43.9 %)"),
    ],
)
def test_the_textbook_case(textbook, capsys, model, shown):
    """2,200 tokens computed, then 200 after 2,000 that are reused."""
    found = savings(capsys, textbook, "--model", model)
    work = load_model_shape(model).work()
    cold, hit = work.prefill_flops(2200), work.prefill_flops(200, 2000)
    assert found["flops_without"] == 2 * cold
    assert found["flops_with"] == cold + hit
    assert found["saved_flops"] == cold - hit
    assert found["share"] == (cold - hit) / (2 * cold)
    assert (found["ttft_s"], found["usd"], found["accelerator"]) == (None, None, None)
    assert shown in screen(capsys, textbook, "--model", model)


def test_seconds_hours_and_money(textbook, capsys):
    """31.979 and 3.013 TFLOP at half of 989 TFLOP/s: 64.7 and 6.1 ms."""
    on_h100 = ("--model", "llama-3.1-8b", "--accelerator", "h100", "--price-per-hour", "3")
    found = savings(capsys, textbook, *on_h100)
    cold, hit = 31_979_420_516_352 / 494.5e12, 3_013_032_804_352 / 494.5e12
    times = found["ttft_s"]
    assert times["basis"] == "modelled"
    assert times["off"] == pytest.approx({"p50": cold, "p99": cold})
    assert times["on"] == pytest.approx({"p50": hit, "p99": cold})
    use = found["accelerator"]
    assert use["hours_without"] == pytest.approx(2 * cold / HOUR)
    assert use["hours_saved"] == pytest.approx((cold - hit) / HOUR)
    assert use["hours_saved_per_day"] == pytest.approx((cold - hit) / HOUR * 24 * 60)
    assert found["usd"] == pytest.approx((cold - hit) / HOUR * 3)
    assert use["usd_saved_per_day"] == pytest.approx((cold - hit) / HOUR * 24 * 60 * 3)
    assert use["break_even_bytes_per_s"] == pytest.approx(2000 * 131_072 / (cold - hit))
    assert use["kv_room_blocks"] == use["kv_room_bytes"] // (16 * 131_072)
    shown = screen(capsys, textbook, *on_h100)
    assert "TTFT       P50 64.7 → 6.1 ms   P99 64.7 → 64.7 ms   (modelled)" in shown
    assert "0.13 s → 0.071 s of prefill on H100 SXM at MFU 0.5" in shown
    assert all(len(line) <= 80 for line in shown.splitlines()[1:])


def test_assumptions_may_be_changed(textbook, capsys):
    base = ("--model", "llama-3.1-70b", "--accelerator", "h200")
    plain = savings(capsys, textbook, *base, "--accelerators", "2")
    slower = savings(capsys, textbook, *base, "--accelerators", "2", "--mfu", "0.25")
    small = savings(capsys, textbook, *base, "--accelerators", "2", "--weights", "fp8")
    off = plain["ttft_s"]["off"]["p50"]
    assert slower["ttft_s"]["off"]["p50"] == pytest.approx(2 * off)
    assert small["ttft_s"]["off"]["p50"] == pytest.approx(off / 2)
    assert slower["accelerator"]["mfu"] == 0.25
    assert small["accelerator"]["weights"] == "fp8"


def test_kv_in_8_bits_takes_half_the_room(textbook, capsys):
    base = ("--model", "llama-3.1-8b", "--accelerator", "h100")
    plain = savings(capsys, textbook, *base)["accelerator"]
    small = savings(capsys, textbook, *base, "--kv-dtype", "fp8")["accelerator"]
    assert small["kv_room_blocks"] == pytest.approx(2 * plain["kv_room_blocks"], abs=1)
    half = plain["break_even_bytes_per_s"] / 2
    assert small["break_even_bytes_per_s"] == pytest.approx(half)


def test_a_log_without_times_is_not_projected(tmp_path, capsys):
    log = write(tmp_path / "log.jsonl", [{"id": "a", "token_ids": list(range(500))}])
    on_h100 = ("--model", "llama-3.1-8b", "--accelerator", "h100")
    assert savings(capsys, log, *on_h100)["accelerator"]["hours_saved_per_day"] is None
    assert "no times in the log to project it a day" in " ".join(
        screen(capsys, log, *on_h100).split()
    )


def measured(tmp_path, seconds):
    """A log whose requests had nothing cached and took as long as ``seconds`` of their FLOPs."""
    work = load_model_shape("llama-3.1-8b").work()
    requests = [
        request(
            i,
            [i] * (1000 + 37 * i),
            cached_tokens=0,
            ttft_s=seconds(work.prefill_flops(1000 + 37 * i)),
        )
        for i in range(40)
    ]
    return write(tmp_path / "measured.jsonl", requests)


def test_measured_times_are_fitted_and_the_assumption_is_held_against_them(tmp_path, capsys):
    log = measured(tmp_path, lambda flops: 0.05 + flops / 2e14)
    options = ("--model", "llama-3.1-8b", "--accelerator", "h100")
    times = savings(capsys, log, *options)["ttft_s"]
    assert times["basis"] == "measured"
    assert times["fit"]["constant_s"] == pytest.approx(0.05)
    assert times["fit"]["mfu"] == pytest.approx(2e14 / 989e12)
    assert times["fit"]["median_error"] < 1e-6
    assert 0.5 < times["fit"]["assumed_median_error"] < 1
    assert times["off"]["p99"] == pytest.approx(times["measured"]["p99"])
    assert "(fitted to measured times)" in screen(capsys, log, *options)
    bare = savings(capsys, log, "--model", "llama-3.1-8b")["ttft_s"]
    assert bare["off"] == times["off"]
    assert bare["fit"]["mfu"] is None


def test_measured_times_that_do_not_grow_with_work_are_not_fitted(tmp_path, capsys):
    log = measured(tmp_path, lambda flops: 1e13 / flops)
    options = ("--model", "llama-3.1-8b", "--accelerator", "h100")
    times = savings(capsys, log, *options)["ttft_s"]
    assert (times["basis"], times["fit"]) == ("modelled", None)
    assert times["measured"] is not None


def test_rows_say_what_each_request_cost(textbook, tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    options = ("--model", "llama-3.1-8b", "--accelerator", "h100", "--per-request", str(rows))
    savings(capsys, textbook, *options)
    first, second = map(json.loads, rows.read_text().splitlines())
    assert (first["flops"], first["saved_flops"]) == (31_979_420_516_352, 0)
    assert second["flops"] == 3_013_032_804_352
    assert second["saved_flops"] == first["flops"] - second["flops"]
    assert second["ttft_s"] == pytest.approx(0.0061, rel=0.01)


@pytest.mark.parametrize(("limit", "code"), [("0.4", 0), ("50%", 1)])
def test_a_budget_of_saved_flops(textbook, capsys, limit, code):
    options = ("--model", "llama-3.1-8b", "--fail-under", f"saved-flops={limit}")
    savings(capsys, textbook, *options, code=code)


def test_a_budget_of_saved_flops_without_a_model_is_missed(textbook, capsys):
    assert savings(capsys, textbook, "--fail-under", "saved-flops=0", code=1) is None


@pytest.mark.parametrize("engine", ["vllm", "sglang", "lmcache", "ideal"])
def test_every_engine_has_savings(textbook, capsys, engine):
    found = savings(capsys, textbook, "--model", "llama-3.1-8b", "--engine", engine)
    assert 0.4 < found["share"] < 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--accelerator", "h100"], "--accelerator h100 needs --model"),
        (
            ["--engine", "openai", "--model", "gpt-4o", "--accelerator", "h100"],
            "nobody knows what a provider's models run on",
        ),
        (["--kv-dtype", "fp8"], "--kv-dtype says more of a model"),
        (["--kv-dtype", "fp9", "--model", "llama-3.1-8b"], "did you mean fp8"),
        (["--mfu", "0.4"], "--mfu needs --model and --accelerator"),
        (["--price-per-hour", "inf"], "--price-per-hour"),
        (["--model", "llama-3.1-8b", "--weights", "fp8"], "--weights needs --model and --acc"),
        (["--model", "llama-3.1-8b", "--accelerator", "h10"], "did you mean h100"),
        (
            ["--model", "llama-3.1-405b", "--accelerator", "h100"],
            "its weights take 812 GB (bf16)",
        ),
        (
            ["--model", "llama-3.1-8b", "--accelerator", "h100", "--weights", "fp9"],
            "--weights fp9 is not known",
        ),
    ],
)
def test_options_that_say_nothing_alone_are_refused(textbook, capsys, options, message):
    assert message in refused(capsys, textbook, *options)


def test_a_model_with_a_kv_size_but_no_flops_still_replays(textbook, tmp_path, capsys):
    config = {"num_hidden_layers": 4, "num_attention_heads": 4, "head_dim": 64}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    shown = screen(capsys, textbook, "--model", str(path), "--capacity", "1GiB")
    assert "no FLOPs:" in shown
    assert "hidden_size is missing, and FLOPs need it" in " ".join(shown.split())
    needs = ["--model", str(path), "--accelerator", "h100"]
    assert "FLOPs need it" in refused(capsys, textbook, *needs)


def test_a_capacity_for_which_there_is_no_room_is_said(textbook, capsys):
    base = (textbook, "--model", "llama-3.1-8b", "--accelerator", "h100", "--capacity")
    said = "the capacity of 40,960 blocks is more than the 29,206 for which 1 x H100 SXM has room"
    assert said in " ".join(screen(capsys, *base, "80GiB").split())
    assert "is more than" not in screen(capsys, *base, "50GiB")


def test_models_that_are_priced_as_another_are_named(tmp_path, capsys):
    requests = [request(i, [i] * 50, model=f"m{i}") for i in range(2)]
    log = write(tmp_path / "log.jsonl", requests)
    shown = screen(capsys, log, "--model", "llama-3.1-8b")
    assert "the log names 2 models, and all are priced as llama-3.1-8b" in shown


def test_what_lies_in_a_lower_tier_is_loaded_before_the_first_token(tmp_path, capsys):
    """Prompts in turn that the first tier cannot hold: hits come from the second one."""
    requests = [request(i, [i % 3] * 3200 + [9]) for i in range(6)]
    log, rows = write(tmp_path / "log.jsonl", requests), tmp_path / "rows.jsonl"
    options = (log, "--model", "llama-3.1-8b", "--accelerator", "h100", "--capacity", "240blocks")
    tiers = ("--l2", "inf", "--per-request", str(rows))
    assert cli.run(["replay", *options, *tiers, "--format", "json", "-q", "--isolated"]) == 0
    found = json.loads(capsys.readouterr().out)
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    line = lines[-1]
    assert line["l2_tokens"] == line["cached_tokens"] == 3200
    alone = load_model_shape("llama-3.1-8b").work().weights
    assert line["ttft_s"] > 3200 * 131_072 / (64e9 * 0.8) > 0
    assert line["ttft_s"] < 3200 * 131_072 / (64e9 * 0.8) + 2 * alone / (3350e9 * 0.8)
    loading = sum(row["ttft_s"] for row in lines[3:]) - 3 * one_token_s(capsys, tmp_path)
    assert found["tiers"][1]["time_s"] == pytest.approx(loading)
    assert "loaded first" in found["savings"]["ttft_s"]["definition"]


def one_token_s(capsys, tmp_path):
    """The prefill of the last of 3,201 tokens, by a replay that reuses all others."""
    requests = [request(i, [0] * 3200 + [9]) for i in range(2)]
    log, rows = write(tmp_path / "one.jsonl", requests), tmp_path / "one-rows.jsonl"
    options = ("--model", "llama-3.1-8b", "--accelerator", "h100", "--per-request", str(rows))
    savings(capsys, log, *options)
    return json.loads(rows.read_text().splitlines()[-1])["ttft_s"]


def test_in_a_timed_schedule_waiting_is_in_the_times(tmp_path, capsys):
    """Two prompts arrive at once and share steps of 8,192 tokens; the third finds the second."""
    tokens = list(range(8000))
    requests = [request(0, tokens, arrived_s=0.0, output_len=1)]
    requests += [request(i, [9, *tokens], arrived_s=float(i - 1), output_len=1) for i in (1, 2)]
    log, rows = write(tmp_path / "log.jsonl", requests), tmp_path / "rows.jsonl"
    options = ("--model", "llama-3.1-8b", "--accelerator", "h100", "--per-request", str(rows))
    found = savings(capsys, log, *options, "--schedule", "timed", "--capacity", "2000blocks")
    work = load_model_shape("llama-3.1-8b").work()
    rate = 494.5e12
    both = work.prefill_flops(8000) + work.prefill_flops(8001)
    first_step = work.prefill_flops(8000) + work.prefill_flops(192) - work.logit_flops
    times = found["ttft_s"]
    assert "with waiting" in times["definition"]
    # The second waits for the first, which in turn shares its step with the second's head.
    expected = {"p50": first_step / rate, "p99": both / rate}
    assert times["off"] == pytest.approx(expected)
    assert times["on"] == pytest.approx(expected)
    last = json.loads(rows.read_text().splitlines()[-1])
    assert last["cached_tokens"] == 8000
    assert last["ttft_s"] < 0.01
