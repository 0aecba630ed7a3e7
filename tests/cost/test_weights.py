"""How weights are stored, as config files say it."""

import pytest

from kvaudit.core.errors import UsageError
from kvaudit.cost.catalogue import load_model_shape
from kvaudit.cost.shapes import shape_from_config

SMALL = {"num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 16}


def stored(**config):
    found = shape_from_config(SMALL | config, name="m", source="config.json").weight_format()
    return found.name, found.experts_only


def compressed(bits, kind, ignore=()):
    weights = {"num_bits": bits, "type": kind}
    return {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": weights}},
        "ignore": list(ignore),
    }


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({}, ("bf16", False)),
        ({"torch_dtype": "float16"}, ("fp16", False)),
        ({"dtype": "float32"}, ("fp32", False)),
        ({"quantization_config": {"quant_method": "fp8"}}, ("fp8", False)),
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, ("int4", False)),
        ({"quantization_config": compressed(8, "float")}, ("fp8", False)),
        ({"quantization_config": compressed(8, "int")}, ("int8", False)),
        ({"quantization_config": compressed(4, "int", ["re:.*self_attn.*"])}, ("int4", True)),
        ({"quantization_config": compressed(8, "float", ["0.self_attn.kv_b"])}, ("fp8", False)),
        (
            {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}},
            ("nvfp4", False),
        ),
    ],
)
def test_what_a_config_says(config, name):
    assert stored(**config) == name


def test_a_quantization_that_is_not_known_asks_for_it():
    with pytest.raises(UsageError, match=r"quantized \(cosmic\) is not known .* with --weights"):
        stored(quantization_config={"quant_method": "cosmic"})


def test_only_experts_of_gpt_oss_are_small():
    """The published checkpoint of gpt-oss-120b has 65.2 GB."""
    shape = load_model_shape("gpt-oss-120b")
    assert shape.weight_format().bytes_of(shape.work()) / 1e9 == pytest.approx(65.2, abs=0.1)
    assert not shape.weight_format().computes_in_8_bits


def test_the_command_line_may_say_it():
    shape = load_model_shape("llama-3.1-8b")
    work = shape.work()
    halved = (work.weights - work.embedding_weights) + 2 * work.embedding_weights
    assert shape.weight_format("fp8").bytes_of(work) == halved
    with pytest.raises(UsageError, match="--weights fp9 is not known; did you mean fp8"):
        shape.weight_format("fp9")
