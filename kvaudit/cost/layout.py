"""Which layers of a model are which: attention over everything, a window, a recurrence; experts.

Read from the fields of a Hugging Face ``config.json``; where a family's code decides and not its
file, that is said here. Only how many layers of a kind there are matters to a sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kvaudit.core.errors import UsageError
from kvaudit.cost.fields import Fields
from kvaudit.cost.reach import FULL, Reach, ReachKind

_EVERY_NTH_IS_FULL = {"gemma2": 2, "gemma3": 6, "gemma3_text": 6, "cohere2": 4, "gpt_oss": 2}
"""Families whose code, not their config.json, says which layers see the whole prompt
(transformers 5: the ``layer_types`` that each family's configuration class fills in)."""

LLAMA4_FULL_INTERVAL = 4
"""Llama 4: every fourth layer is not chunked (transformers' ``no_rope_layer_interval``)."""

IN_BLOCKS_OR_TOKENS = "give the capacity in blocks or tokens"


class Mixers(NamedTuple):
    """How many layers mix tokens in which way."""

    full: int
    """Attend to every token."""
    near: int = 0
    """Attend to near tokens only, as ``reach`` says."""
    recurrent: int = 0
    """Keep a state instead of tokens."""
    none: int = 0
    """Mix nothing: feed-forward layers that stand on their own."""
    reach: Reach = FULL
    """Of the layers that attend to near tokens."""


class Feeds(NamedTuple):
    """How many layers have which feed-forward part."""

    dense: int
    experts: int


_LISTS = ("layer_types", "layers_block_type", "hybrid_override_pattern", "attn_type_list")
"""Fields that name the kind of every layer."""

_KINDS: Mapping[Any, str] = {
    "full_attention": "full",
    "attention": "full",
    "deepseek_sparse_attention": "full",
    "indexed_attention": "full",
    "*": "full",
    1: "full",  # MiniMax
    "sliding_attention": "near",
    "chunked_attention": "near",
    "linear_attention": "recurrent",
    "mamba": "recurrent",
    "conv": "recurrent",
    0: "recurrent",
    "M": "recurrent",
    "moe": "experts",
    "mlp": "dense",
    "E": "experts",
    "-": "dense",
}
"""The last four stand for layers of Nemotron-H that are a feed-forward part and nothing else."""


def mixers_of(fields: Fields) -> Mixers:
    """Return how many layers mix tokens in which way, or say why that is not known."""
    listed = _listed(fields)
    if listed is not None:
        return _listed_mixers(fields, listed)
    layers = fields.count("num_hidden_layers")
    if fields.first("full_attention_interval"):
        full = layers // fields.count("full_attention_interval")
        return Mixers(full, recurrent=layers - full)
    if fields.first("attn_layer_period"):  # Jamba
        full = _periodic(fields, layers, "attn_layer_period", "attn_layer_offset")
        return Mixers(full, recurrent=layers - full)
    if recurrent := next((f for f in fields.given if "mamba" in f or "ssm" in f), None):
        raise UsageError(
            f"{fields.source}: some layers keep a state instead of tokens ({recurrent}), and "
            f"which ones is not known to kvaudit; {IN_BLOCKS_OR_TOKENS}"
        )
    if fields.first("attention_chunk_size"):
        full = layers // LLAMA4_FULL_INTERVAL
        return Mixers(full, layers - full, reach=_near(fields))
    if fields.first("sliding_window") and fields.first("use_sliding_window") is not False:
        full = _full_beside_windows(fields, layers)
        return Mixers(full, layers - full, reach=_near(fields))
    return Mixers(layers)


def feeds_of(fields: Fields, *, experts: int) -> Feeds:
    """Return how many layers have which feed-forward part; ``experts`` is how many there are."""
    kinds = [_KINDS[kind] for kind in _listed(fields) or ()]
    if "dense" in kinds or "experts" in kinds:
        return Feeds(kinds.count("dense"), kinds.count("experts"))
    layers = len(kinds) or fields.count("num_hidden_layers")
    if experts < 2:
        return Feeds(layers, 0)
    if isinstance(types := fields.first("mlp_layer_types"), list):
        return Feeds(types.count("dense"), layers - types.count("dense"))
    if listed := fields.numbers("moe_layers"):
        return Feeds(layers - len(listed), len(listed))
    if fields.first("interleave_moe_layer_step"):  # Llama 4: every so many layers, the last first
        sparse = layers // fields.count("interleave_moe_layer_step")
    elif fields.first("expert_layer_period"):  # Jamba
        sparse = _periodic(fields, layers, "expert_layer_period", "expert_layer_offset")
    else:
        sparse = sum(_has_experts(fields, layer) for layer in range(layers))
    return Feeds(layers - sparse, sparse)


def _has_experts(fields: Fields, layer: int) -> bool:
    """Return whether a layer of a DeepSeek, GLM or Qwen model has experts."""
    every = fields.first("moe_layer_freq")
    if isinstance(every, list):
        return bool(every[layer])
    if layer < fields.size("first_k_dense_replace") or layer in fields.numbers("mlp_only_layers"):
        return False
    if fields.size("moe_layer_freq") and layer % fields.count("moe_layer_freq"):
        return False
    return (layer + 1) % fields.count("decoder_sparse_step", default=1) == 0


def _periodic(fields: Fields, layers: int, period: str, offset: str) -> int:
    every, first = fields.count(period), fields.size(offset)
    return sum(layer % every == first for layer in range(layers))


def _listed(fields: Fields) -> list[Any] | None:
    """Return the kind of every layer where the file lists them, all of them known."""
    listed = next((fields.first(name) for name in _LISTS if fields.first(name)), None)
    if listed is None:
        return None
    kinds = list(listed) if isinstance(listed, list | str) else [listed]
    for kind in kinds:
        if not isinstance(kind, str | int) or kind not in _KINDS:
            raise UsageError(
                f"{fields.source}: the layer kind {kind!r} is not known to kvaudit; "
                f"{IN_BLOCKS_OR_TOKENS}"
            )
    layers = fields.first("num_hidden_layers")
    if layers is not None and layers != len(kinds):
        raise UsageError(
            f"{fields.source}: lists the kinds of {len(kinds)} layers, and num_hidden_layers is "
            f"{layers!r}"
        )
    return kinds


def _listed_mixers(fields: Fields, listed: list[Any]) -> Mixers:
    kinds = [_KINDS[kind] for kind in listed]
    near = kinds.count("near")
    return Mixers(
        kinds.count("full"),
        near,
        kinds.count("recurrent"),
        kinds.count("dense") + kinds.count("experts"),
        _near(fields, chunked="chunked_attention" in listed) if near else FULL,
    )


def _near(fields: Fields, *, chunked: bool = False) -> Reach:
    if chunked or not fields.first("sliding_window"):
        return Reach(ReachKind.CHUNK, fields.count("attention_chunk_size"))
    return Reach(ReachKind.WINDOW, fields.count("sliding_window"))


def _full_beside_windows(fields: Fields, layers: int) -> int:
    pattern = fields.first("sliding_window_pattern") or _EVERY_NTH_IS_FULL.get(
        str(fields.first("model_type"))
    )
    if isinstance(pattern, int):
        return layers // pattern
    if fields.first("use_sliding_window") and fields.first("max_window_layers") is not None:
        # Qwen: the layers from max_window_layers on have the window.
        return min(layers, fields.count("max_window_layers"))
    return 0
