"""Seconds of prefills and steps, against sums done by hand."""

import numpy as np
import pytest

from kvaudit.core.errors import UsageError
from kvaudit.cost.accelerators import accelerators, find_accelerator
from kvaudit.cost.roofline import Assumptions, make_roofline
from kvaudit.cost.shapes import shape_from_config
from kvaudit.cost.steps import decode_part_s, prefill_part_s, step_cost, step_s

LLAMA_8B = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}
MIXTRAL = LLAMA_8B | {
    "model_type": "mixtral",
    "vocab_size": 32000,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
}


def roofline(config=None, accelerator="h100", **options):
    shape = shape_from_config(config or LLAMA_8B, name="m", source="config.json")
    return make_roofline(shape, find_accelerator(accelerator), **options)


def read_bytes(work):
    """All weights in 16 bits, but for the embedding, of which a step needs a few rows."""
    return 2 * (work.weights - work.hidden * work.vocabulary)


def prefill_s(line, new, reused):
    return line.prefill_s(np.array([new]), np.array([reused]))[0]


@pytest.mark.parametrize(
    ("accelerator", "cold_ms", "hit_ms"), [("a100", 205, 19.3), ("h100", 64.7, 6.1)]
)
def test_a_prefill_that_computes(accelerator, cold_ms, hit_ms):
    """31.979 and 3.013 TFLOP at half of 312 and of 989 TFLOP/s."""
    line = roofline(accelerator=accelerator)
    assert prefill_s(line, 2200, 0) * 1e3 == pytest.approx(cold_ms, rel=2e-3)
    assert prefill_s(line, 200, 2000) * 1e3 == pytest.approx(hit_ms, rel=2e-3)


def test_a_prefill_that_waits_for_the_weights():
    line = roofline()
    read = read_bytes(line.work) + 131_072 * 1001
    assert prefill_s(line, 1, 1000) == pytest.approx(read / (3350e9 * 0.8))
    assert prefill_s(line, 0, 1000) == 0


def test_more_accelerators_share_the_work_and_a_constant_stays():
    alone, four = roofline(), roofline(count=4)
    assert prefill_s(four, 2200, 0) == pytest.approx(prefill_s(alone, 2200, 0) / 4)
    slow = roofline(assumptions=Assumptions(mfu=0.25, constant_s=0.01))
    assert prefill_s(slow, 2200, 0) == pytest.approx(2 * prefill_s(alone, 2200, 0) + 0.01)


def test_weights_in_8_bits_are_half_as_large_and_computed_twice_as_fast():
    plain, small = roofline(), roofline(weights="fp8")
    assert small.flops_per_s == 2 * plain.flops_per_s
    others = plain.work.weights - plain.work.embedding_weights
    one = np.array([1])
    assert small.weight_bytes_read(one) == plain.weight_bytes_read(one) - others


def test_a_step_reads_the_experts_that_some_token_uses():
    line = roofline(MIXTRAL, count=2)
    experts = 2 * 32 * 8 * 3 * 4096 * 14336
    other = read_bytes(line.work) - experts
    read = line.weight_bytes_read(np.array([0, 1, 2]))
    assert read == pytest.approx([other, other + experts * 2 / 8, other + experts * (1 - 0.75**2)])


def test_what_is_left_for_kv():
    line = roofline()
    assert line.kv_room_bytes() == int(80 * 2**30 * 0.9) - 2 * line.work.weights


def test_weights_that_do_not_fit():
    with pytest.raises(UsageError, match=r"weights take 93 GB \(bf16\), and 1 x H100 SXM has 77"):
        roofline(MIXTRAL)


@pytest.mark.parametrize("config", [LLAMA_8B, LLAMA_8B | {"sliding_window": 512}])
def test_the_parts_of_a_step_add_up_to_the_flops(config):
    line = roofline(config | {"model_type": "mistral", "head_dim": None})
    cost, rate = step_cost(line), line.flops_per_s
    whole = prefill_part_s(cost, 2200, 0, True)
    assert whole == pytest.approx(line.work.prefill_flops(2200) / rate)
    chunks = prefill_part_s(cost, 1200, 0, False) + prefill_part_s(cost, 1000, 1200, True)
    assert chunks == pytest.approx(whole)
    assert decode_part_s(cost, 2200) == pytest.approx(line.work.decode_flops(2200, 2) / rate)
    assert step_s(cost, whole, 2200, 2200) == pytest.approx(prefill_s(line, 2200, 0))


def test_a_step_of_decodes_waits_for_memory():
    line = roofline()
    seconds = step_s(step_cost(line), 0.001, 10, 10_000)
    assert seconds == pytest.approx((read_bytes(line.work) + 131_072 * 10_000) / (3350e9 * 0.8))
    assert step_s(step_cost(line), 0, 0, 0) == 0


def test_loading_goes_over_the_links_of_all_accelerators_or_at_a_rate():
    two = roofline(count=2)
    tokens = np.array([0, 2000])
    assert two.load_s(tokens).tolist() == pytest.approx([0, 2000 * 131_072 / (64e9 * 0.8 * 2)])
    assert two.load_s(tokens, 12.5e9).tolist() == pytest.approx([0, 2000 * 131_072 / 12.5e9])


@pytest.mark.parametrize("name", sorted(accelerators()))
def test_every_accelerator_is_dated_and_plausible(name):
    found = accelerators()[name]
    assert ", read 20" in found.source
    assert 50e12 < found.flops_16_bit < 5e15
    assert found.flops_8_bit is None or 1.9 < found.flops_8_bit / found.flops_16_bit < 2.1
    assert 100e9 < found.memory_bandwidth < 10e12


@pytest.mark.parametrize("spelling", ["H100", "NVIDIA H100 SXM", "h100_sxm"])
def test_names_of_accelerators_may_be_spelled_as_elsewhere(spelling):
    assert find_accelerator(spelling).title == "H100 SXM"


def test_an_accelerator_that_is_not_known():
    with pytest.raises(UsageError, match="h10 is not in the table; did you mean h100"):
        find_accelerator("h10")
