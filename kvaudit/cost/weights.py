"""How a model's weights are stored: bits a parameter, for which of them, and what computes.

A quantized model keeps its embedding and head, and often more, in 16 bits. Formats with scales
count these: a scale of 8 bits for every 32 values is a quarter bit each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.cost.work import ModelWork

FORMATS: Mapping[str, Fraction] = {
    "fp32": Fraction(32),
    "bf16": Fraction(16),
    "fp16": Fraction(16),
    "fp8": Fraction(8),
    "int8": Fraction(8),
    "mxfp4": Fraction(4) + Fraction(8, 32),
    "nvfp4": Fraction(4) + Fraction(8, 16),
    "int4": Fraction(4) + Fraction(16, 128),
}
"""Bits a parameter, scales included: MXFP4 has one of 8 bits for 32 values, NVFP4 for 16, and
4-bit integers (AWQ, GPTQ) usually one of 16 bits for 128."""

_DTYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
_METHODS = {"fp8": "fp8", "mxfp4": "mxfp4", "awq": "int4", "gptq": "int4", "fbgemm_fp8": "fp8"}
_MODELOPT = {"NVFP4": "nvfp4", "FP8": "fp8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFormat:
    """How weights are stored."""

    name: str
    bits: Fraction
    """Of each parameter in this format."""
    experts_only: bool = False
    """Whether all but routed experts stays in 16 bits."""

    @property
    def computes_in_8_bits(self) -> bool:
        """Whether matrix products can run on 8-bit units, twice as fast as on 16-bit ones."""
        return self.name in ("fp8", "int8") and not self.experts_only

    def bytes_of(self, work: ModelWork) -> int:
        """Return the bytes of all weights of a model."""
        return self.expert_bytes(work) + self.other_bytes(work)

    def expert_bytes(self, work: ModelWork) -> int:
        """Return the bytes of the routed experts."""
        return int(work.expert_weights * self.bits / 8)

    def other_bytes(self, work: ModelWork) -> int:
        """Return the bytes of everything else: embedding and head stay in 16 bits or more."""
        others = work.weights - work.expert_weights - work.embedding_weights
        bits = self._plain_bits if self.experts_only else self.bits
        return int(others * bits / 8 + work.embedding_weights * self._plain_bits / 8)

    def step_bytes(self, work: ModelWork) -> int:
        """Return what of these a step reads: of an embedding only the rows of its tokens."""
        looked_up = 0 if work.tied else work.hidden * work.vocabulary
        return self.other_bytes(work) - int(looked_up * self._plain_bits / 8)

    @property
    def _plain_bits(self) -> Fraction:
        return max(self.bits, FORMATS["bf16"])


def weight_format(
    text: Mapping[str, Any], outer: Mapping[str, Any], *, spec: str | None, source: str
) -> WeightFormat:
    """Return the format that ``spec`` names, or the one that a config.json describes."""
    if spec is not None:
        if spec not in FORMATS:
            raise UsageError(f"--weights {spec} is not known{did_you_mean(spec, FORMATS)}")
        return WeightFormat(name=spec, bits=FORMATS[spec])
    quantized = text.get("quantization_config") or outer.get("quantization_config")
    if isinstance(quantized, Mapping):
        return _quantized(quantized, source)
    stated = next(
        (fields[key] for fields in (text, outer) for key in ("dtype", "torch_dtype")
         if fields.get(key)),
        "bfloat16",
    )  # fmt: skip
    name = _DTYPES.get(str(stated), "bf16")
    return WeightFormat(name=name, bits=FORMATS[name])


def _quantized(config: Mapping[str, Any], source: str) -> WeightFormat:
    method = str(config.get("quant_method"))
    kept = config.get("modules_to_not_convert") or config.get("ignore") or ()
    # Whole attention layers, as a name or pattern: single parts of them are often kept too.
    whole = any(str(module).rstrip(".*").endswith("self_attn") for module in kept)
    name = _METHODS.get(method) or _MODELOPT.get(str(config.get("quant_algo")))
    if name is None and method == "compressed-tensors":
        name = _compressed(config)
    if name is None:
        raise UsageError(
            f"{source}: how the weights are quantized ({method}) is not known to kvaudit; say it "
            f"with --weights: {', '.join(FORMATS)}"
        )
    return WeightFormat(name=name, bits=FORMATS[name], experts_only=whole)


def _compressed(config: Mapping[str, Any]) -> str | None:
    """Return the format of compressed-tensors' first group."""
    groups = config.get("config_groups")
    group: Any = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
    stored = group.get("weights") if isinstance(group, Mapping) else None
    if not isinstance(stored, Mapping):
        return None
    floats = stored.get("type") == "float"
    names = {8: "fp8", 4: "nvfp4"} if floats else {8: "int8", 4: "int4"}
    return names.get(stored.get("num_bits", 0))
