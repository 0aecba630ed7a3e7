"""FLOPs of prefill and decode: closed forms, sums over requests, and what is not known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.core.errors import UsageError
from kvaudit.cost.catalogue import load_model_shape
from kvaudit.cost.shapes import shape_from_config

TEXTBOOK = {
    "llama-3.1-8b": (31_979_420_516_352, 3_013_032_804_352),
    "qwen3-30b-a3b": (13_918_817_222_656, 1_423_199_174_656),
    "deepseek-v3": (169_171_219_578_880, 20_473_951_354_880),
}
"""FLOPs of 2,200 tokens, and of the last 200 of them, by the closed forms below."""


def pairs(new, reused):
    return new * reused + new * (new + 1) // 2


def llama_3_1_8b(new, reused):
    """Grouped queries: 32 heads of 128 on 8 of keys and values, gated parts of 14,336."""
    projections = 2 * new * 4096 * 128 * (32 + 2 * 8) + 2 * new * 32 * 128 * 4096
    attention = 4 * pairs(new, reused) * 32 * 128
    return 32 * (projections + attention + 6 * new * 4096 * 14336) + 2 * 4096 * 128_256


def qwen3_30b_a3b(new, reused):
    """Experts: a router over 128 of them, 8 of 768 for each token."""
    projections = 2 * new * 2048 * 128 * (32 + 2 * 4) + 2 * new * 32 * 128 * 2048
    attention = 4 * pairs(new, reused) * 32 * 128
    experts = 2 * new * 2048 * 128 + 6 * new * 8 * 2048 * 768
    return 48 * (projections + attention + experts) + 2 * 2048 * 151_936


def deepseek_v3(new, reused):
    """Latents of 512 and 64, expanded for every token in view; 3 dense layers, 58 of experts."""
    query = 2 * new * (7168 * 1536 + 1536 * 128 * 192)
    latent = 2 * new * 7168 * 576 + 2 * (new + reused) * 512 * 128 * 256
    attention = query + latent + 2 * new * 128 * 128 * 7168 + 2 * pairs(new, reused) * 128 * 320
    dense = 6 * new * 7168 * 18432
    experts = 2 * new * 7168 * 256 + 6 * new * 9 * 7168 * 2048
    return 61 * attention + 3 * dense + 58 * experts + 2 * 7168 * 129_280


@pytest.mark.parametrize("form", [llama_3_1_8b, qwen3_30b_a3b, deepseek_v3])
def test_the_textbook_case(form):
    """2,000 shared tokens and 200 of its own: 2,200 are computed, then 200."""
    name = form.__name__.replace("_", "-").replace("3-1", "3.1")
    work = load_model_shape(name).work()
    expected = form(2200, 0), form(200, 2000)
    assert (work.prefill_flops(2200), work.prefill_flops(200, 2000)) == expected
    assert expected == TEXTBOOK[name]


def test_parts_add_up_and_the_square_is_larger():
    work = load_model_shape("gpt-oss-20b").work()
    parts = work.prefill_flops_by_part(1000, 500)
    assert set(parts) == {"full attention", "sliding attention", "experts", "head"}
    assert sum(parts.values()) == work.prefill_flops(1000, 500)
    assert work.prefill_flops(1000, 500, square=True) > work.prefill_flops(1000, 500)
    assert work.prefill_flops(9, logit_rows=9) == work.prefill_flops(9) + 8 * work.logit_flops
    assert work.prefill_flops(0, 500) == 0


@pytest.mark.parametrize("name", ["llama-3.1-8b", "deepseek-v3.2", "gpt-oss-20b", "qwen3.5-27b"])
@given(requests=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 5000)), max_size=5))
def test_many_requests_are_the_sum_of_each(name, requests):
    work = load_model_shape(name).work()
    new, reused = np.array(requests, np.int64).reshape(-1, 2).T
    each = [work.prefill_flops(n, r) for n, r in requests]
    assert work.prefill_flops_total(new, reused) == sum(each)
    assert work.prefill_flops_each(new, reused).tolist() == pytest.approx(each)
    decoded = [work.decode_flops(n, r) for n, r in requests]
    assert work.decode_flops_total(new, reused) == sum(decoded)


def test_a_sum_may_exceed_64_bits():
    work = load_model_shape("llama-3.1-405b").work()
    new, reused = np.full(200_000, 1_000_000), np.zeros(200_000, np.int64)
    assert work.prefill_flops_total(new, reused) == 200_000 * work.prefill_flops(1_000_000) > 2**70


@pytest.mark.parametrize("name", ["llama-3.1-8b", "gpt-oss-20b", "qwen3-next-80b-a3b"])
def test_decoding_computes_what_the_same_tokens_would_in_steps(name):
    """The first token comes from the prefill; each pass makes one row of logits."""
    work = load_model_shape(name).work()
    steps = sum(work.prefill_flops(1, 100 + n) for n in range(9))
    assert work.decode_flops(100, 10) == steps
    assert work.decode_flops(100, 1) == work.decode_flops(100, 0) == 0


def test_latent_attention_decodes_on_its_latents():
    """Per head 512 + 64 for the scores and 512 for the values, and one row of logits."""
    work = load_model_shape("deepseek-v3").work()
    expanded = work.prefill_flops(1, 1000)
    longer = work.decode_flops(1001, 2) - work.decode_flops(1000, 2)
    assert longer == 61 * 2 * 128 * (2 * 512 + 64)
    assert work.decode_flops(1000, 2) < expanded


def test_a_family_that_is_not_known_is_counted_as_llama_and_says_so():
    config = {
        "model_type": "cosmic",
        "num_hidden_layers": 2,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_attention_heads": 4,
        "vocab_size": 100,
    }
    work = shape_from_config(config, name="m", source="config.json").work()
    assert work.note is not None
    assert "cosmic is not a kind of model that kvaudit knows" in work.note
    assert work.weights == 2 * 64 * 100 + 2 * (4 * 64 * 64 + 3 * 64 * 128)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"hidden_size": None}, "config.json: the field hidden_size is missing, and FLOPs need it"),
        ({"vocab_size": None}, "the field vocab_size is missing, and FLOPs need it"),
        ({"moe_num_experts": 8}, r"the model has experts \(moe_num_experts\)"),
        ({"num_experts": 8}, "the field num_experts_per_tok is missing"),
        ({"num_experts": 8.5}, "num_experts = 8.5 is not a positive whole number"),
        (
            {"layer_types": ["full_attention", "linear_attention"]},
            "what the layers that keep a state compute is not known",
        ),
    ],
)
def test_what_cannot_be_counted_is_refused(config, message):
    whole = {
        "num_hidden_layers": 2,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_attention_heads": 4,
        "head_dim": 16,
        "vocab_size": 100,
    }
    with pytest.raises(UsageError, match=message):
        shape_from_config(whole | config, name="m", source="config.json").work()
