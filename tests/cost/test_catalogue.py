"""Models by name and by file."""

import json
import re

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
    assert 1_000 < shape.kv_bytes_per_token < 2_000_000
    assert ", read 20" in shape.source
    assert shape.name == name


NAMED_SIZE = re.compile(r"-(\d+(?:\.\d+)?)b(?:-a(\d+)b)?$")
NAMED_OTHERWISE = {
    "deepseek-v3": (671.0, 37.6),
    "deepseek-v2": (235.7, 21.4),
    "deepseek-v2-lite": (15.7, 2.66),
    "qwen3-next-80b-a3b": (79.7, 3.87),
    "gpt-oss-20b": (20.9, 4.19),
    "gpt-oss-120b": (116.8, 5.7),
    "gemma-2b": (2.51, 2.51),
    "gemma-7b": (8.54, 8.54),
    "gemma-2-2b": (2.61, 2.61),
    "llama-3.2-1b": (1.24, 1.24),
    "kimi-k2": (1026.4, 32.9),
    "mixtral-8x7b": (46.7, 12.9),
    "llama-4-scout": (107.8, 17.2),
    "llama-4-maverick": (400.7, 17.2),
    "glm-4.5-air": (106.9, 13.4),
    "minimax-m2.5": (228.7, 11.0),
    "jamba-1.5-mini": (51.6, 12.1),
    "granite-4.0-h-small": (32.2, 8.8),
    "phi-4": (14.7, 14.7),
    "command-r": (35.0, 35.0),
}
"""Thousand million parameters, all and those a token uses, where a name says something else."""


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_every_entry_has_as_many_weights_as_its_name_says(name):
    work = load_model_shape(name).work()
    total, active = work.weights / 1e9, work.active_weights / 1e9
    assert work.note is None
    if name in NAMED_OTHERWISE:
        assert (total, active) == pytest.approx(NAMED_OTHERWISE[name], rel=5e-3)
    elif named := NAMED_SIZE.search(name):
        assert total == pytest.approx(float(named[1]), rel=0.2)
        assert active == pytest.approx(float(named[2] or named[1]), rel=0.2)


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_every_entry_knows_its_weights(name):
    shape = load_model_shape(name)
    assert shape.weight_format().bytes_of(shape.work()) > 0.5 * shape.work().weights


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
