"""Models by name and by file."""

import json

import pytest

from kvaudit.core.errors import InputError, UsageError
from kvaudit.core.quantities import Capacity
from kvaudit.cost.catalogue import catalogue, load_model_shape


@pytest.mark.parametrize(
    ("name", "kv_bytes"),
    [
        ("llama-3.1-8b", 131_072),
        ("llama-3.1-70b", 327_680),
        ("llama-3.1-405b", 516_096),
        ("qwen2.5-7b", 57_344),
        ("qwen2.5-32b", 262_144),
        ("qwen3-30b-a3b", 98_304),
        ("qwen3.5-27b", 65_536),
        ("deepseek-v3", 70_272),
        ("kimi-k2", 70_272),
        ("gpt-oss-120b", 36_864),
        ("gemma-3-27b", 81_920),
        ("mixtral-8x7b", 131_072),
        ("phi-4", 204_800),
    ],
)
def test_known_sizes(name, kv_bytes):
    assert load_model_shape(name).kv_bytes_per_token == kv_bytes


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_every_entry_has_a_size_and_a_dated_source(name):
    shape = load_model_shape(name)
    assert 1_000 < shape.kv_bytes_per_token < 1_000_000
    assert ", read 20" in shape.source
    assert shape.name == name


@pytest.mark.parametrize(
    "spelling",
    [
        "Llama-3.1-8B",
        "meta-llama/Llama-3.1-8B-Instruct",
        "meta-llama/Meta-Llama-3.1-8B-Instruct-FP8",
    ],
)
def test_names_may_be_spelled_as_elsewhere(spelling):
    assert load_model_shape(spelling).name == "llama-3.1-8b"


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UsageError, match=r"in the catalogue; .* did you mean llama-3.1-8b"):
        load_model_shape("llama-3.1-8")


def test_a_config_file_or_its_folder(tmp_path):
    config = {
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "hidden_size": 64,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    for spec in (tmp_path, tmp_path / "config.json"):
        shape = load_model_shape(str(spec))
        assert shape.kv_bytes_per_token == 2 * 4 * 2 * 16 * 2
        assert shape.name == tmp_path.name
    assert Capacity.parse("1MiB").to_blocks(block_size=16, kv_bytes_per_token=512) == 128


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot be read"), ("{", "is not JSON"), ("[" * 9999, "is not JSON"), ("[]", "object")],
)
def test_a_file_that_is_no_config(tmp_path, content, message):
    path = tmp_path / "config.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=message):
        load_model_shape(str(path))
