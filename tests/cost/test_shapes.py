"""KV bytes of a token, against sums done by hand and against published figures."""

import pytest

from kvaudit.core.errors import UsageError
from kvaudit.cost.shapes import shape_from_config

DENSE = {
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
}
MLA = {"num_hidden_layers": 61, "kv_lora_rank": 512, "qk_rope_head_dim": 64}


def shape(**config):
    return shape_from_config(config, name="m", source="config.json")


@pytest.mark.parametrize(
    ("config", "kv_bytes"),
    [
        (DENSE, 2 * 32 * 8 * 128 * 2),  # grouped queries
        (DENSE | {"num_key_value_heads": 32}, 524_288),  # one KV head a query head
        ({k: v for k, v in DENSE.items() if k != "num_key_value_heads"}, 524_288),
        (DENSE | {"num_key_value_heads": 1}, 16_384),  # one KV head for all
        (DENSE | {"head_dim": 64}, 65_536),
        (DENSE | {"sliding_window": None}, 131_072),
        (DENSE | {"sliding_window": 4096, "use_sliding_window": False}, 131_072),
        (MLA, 70_272),
        (MLA | {"num_key_value_heads": 128, "num_attention_heads": 128}, 70_272),
        (MLA | {"index_head_dim": 128, "index_topk": 2048}, 61 * (1152 + 132)),
        ({"text_config": DENSE, "num_hidden_layers": 1}, 131_072),
    ],
)
def test_bytes_of_a_token(config, kv_bytes):
    found = shape(**config)
    assert found.kv_bytes_per_token == kv_bytes
    assert found.note is None


def test_a_smaller_type_of_kv():
    assert (
        shape_from_config(DENSE, name="m", source="", kv_dtype_bytes=1).kv_bytes_per_token == 65_536
    )


LAYER = 2 * 8 * 128 * 2
WINDOWS = {"sliding_window": 1024}


@pytest.mark.parametrize(
    ("config", "full", "window", "stateless"),
    [
        (WINDOWS | {"sliding_window_pattern": 4}, 8, 24, 0),
        (WINDOWS | {"model_type": "gemma2", "head_dim": 128}, 16, 16, 0),
        (WINDOWS | {"model_type": "gemma3_text", "head_dim": 128}, 5, 27, 0),
        (WINDOWS | {"use_sliding_window": True, "max_window_layers": 20}, 20, 12, 0),
        ({"attention_chunk_size": 8192}, 8, 24, 0),
        ({"full_attention_interval": 4}, 8, 0, 24),
        (WINDOWS | {"layer_types": ["full_attention", "sliding_attention"] * 16}, 16, 16, 0),
        ({"layer_types": ["linear_attention"] * 24 + ["full_attention"] * 8}, 8, 0, 24),
        ({"hybrid_override_pattern": "MEM*-" * 4, "num_hidden_layers": 20}, 4, 0, 16),
        ({"layers_block_type": ["mamba", "moe", "attention", "mlp"] * 8}, 8, 0, 24),
        ({"attn_type_list": [0, 0, 0, 1] * 8}, 8, 0, 24),
    ],
)
def test_only_layers_that_keep_every_token_are_counted(config, full, window, stateless):
    found = shape(**DENSE | config)
    assert (found.full_layers, found.window_layers, found.stateless_layers) == (
        full,
        window,
        stateless,
    )
    assert found.kv_bytes_per_token == full * LAYER
    assert found.note is not None
    assert str(window or stateless) in found.note


def test_a_model_of_windows_alone_is_counted_in_full_and_says_so():
    found = shape(**DENSE | {"sliding_window": 4096})
    assert found.kv_bytes_per_token == 131_072
    assert "all 32 layers of m forget after 4,096 tokens" in found.note


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "config.json: the field num_hidden_layers is missing"),
        ({"num_hidden_layers": 32}, "the field num_attention_heads is missing"),
        (
            {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8},
            "the field hidden_size is missing",
        ),
        ({"num_hidden_layers": 61, "kv_lora_rank": 512}, "the field qk_rope_head_dim is missing"),
        (DENSE | {"num_hidden_layers": "32"}, "num_hidden_layers = '32' is not a positive whole"),
        (DENSE | {"num_key_value_heads": 0}, "num_key_value_heads = 0 is not a positive whole"),
        (DENSE | {"layer_types": ["full_attention", "cosmic"]}, "layer kind 'cosmic' is not known"),
        (
            DENSE | {"compress_ratios": [0, 4]},
            r"compresses KV along the prompt \(compress_ratios\)",
        ),
        (DENSE | {"layer_types": ["full_attention"] * 3}, "kinds of 3 layers, and num_hidden_l"),
        (DENSE | {"layer_types": 7}, "layer kind 7 is not known"),
        (DENSE | {"layer_types": [{}]}, "layer kind {} is not known"),
        (DENSE | {"mamba_d_state": 128}, r"keep a state instead of tokens \(mamba_d_state\)"),
        (DENSE | {"num_kv_shared_layers": 10}, "shares KV between layers"),
    ],
)
def test_what_cannot_be_sized_is_refused(config, message):
    with pytest.raises(UsageError, match=message):
        shape(**config)
