"""Families of models: the defaults of their code, and how their layers are built."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

_BUILT_ALIKE = {
    "kimi_k2": "deepseek_v3",
    "deepseek": "deepseek_v3",
    "mistral3": "mistral",
    "llama4": "llama4_text",
    "gemma3": "gemma3_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "qwen3_vl": "qwen3_vl_text",
    "qwen3_vl_moe": "qwen3_vl_moe_text",
    "qwen2_5_vl": "qwen2_5_vl_text",
}
"""Types whose language model is built as another family's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """How the layers of a family are built; see families.toml."""

    name: str
    known: bool = True
    gated: bool = True
    gated_attention: bool = False
    shared_beside: bool = False
    one_shared_expert: bool = False
    lightning: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict)


@cache
def families() -> Mapping[str, Family]:
    """Return the known families by their ``model_type``."""
    text = resources.files("kvaudit.cost").joinpath("families.toml").read_text("utf-8")
    return {name: Family(name=name, **traits) for name, traits in tomllib.loads(text).items()}


def family_of(model_type: object) -> Family:
    """Return a model's family; an unknown one is taken to be built as Llama, and says so."""
    name = _BUILT_ALIKE.get(str(model_type), str(model_type))
    return families().get(name) or Family(name=name, known=False)
