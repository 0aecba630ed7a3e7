"""What a model's KV cache holds: how many bytes one token adds, and in which layers.

Read from the fields of a Hugging Face ``config.json``. Full attention keeps every token;
a layer with a window keeps the last tokens only; a recurrent layer (Mamba, linear attention)
keeps a state and no token. A model that stores KV in a way that is not known here is refused:
a wrong size would turn every capacity in bytes into a wrong number of blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvaudit.core.errors import UsageError

BF16_BYTES = 2

_NESTED = ("text_config", "llm_config", "language_config")
"""Where a multimodal model keeps the configuration of its language model."""

_UNKNOWN_STORAGE = {
    "compress_ratios": "compresses KV along the prompt",
    "num_kv_shared_layers": "shares KV between layers",
    "global_head_dim": "has another head size in some layers",
    "hybrid_layer_pattern": "has other heads in some layers",
    "linear_attn_config": "lists its attention layers in its own way",
    "block_configs": "has another shape in every layer",
    "cross_attention_layers": "keeps KV of images in some layers",
    "sparse_attention_config": "keeps an index of its own",
}
"""Fields that mean a storage this module does not model, with what they say about it."""

_EVERY_NTH_IS_FULL = {"gemma2": 2, "gemma3": 6, "gemma3_text": 6, "cohere2": 4, "gpt_oss": 2}
"""Families whose code, not their config.json, says which layers see the whole prompt
(transformers 5: the ``layer_types`` that each family's configuration class fills in)."""

LLAMA4_FULL_INTERVAL = 4
"""Llama 4: every fourth layer is not chunked (transformers' ``no_rope_layer_interval``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """The KV cache of one model."""

    name: str
    source: str
    """The file the numbers are from, and its date if it is a catalogue entry."""
    full_layers: int
    """Layers that keep every token."""
    window_layers: int
    """Layers that keep no more than the last ``window`` tokens."""
    window: int | None
    stateless_layers: int
    """Layers that keep a state of fixed size instead of tokens."""
    layer_bytes: int
    """What one token adds to one layer that keeps it."""

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes that a cached token keeps occupied.

        Layers with a window are left out where there are others, since they stop growing; a
        model that has nothing else is counted in full.
        """
        return (self.full_layers or self.window_layers) * self.layer_bytes

    @property
    def window_bytes_per_token(self) -> int:
        """Bytes that a token takes besides, for as long as it is among the last ``window``."""
        return self.window_layers * self.layer_bytes if self.full_layers else 0

    @property
    def note(self) -> str | None:
        """What a reader of a capacity must know about it."""
        if self.window_layers and not self.full_layers:
            return (
                f"all {self.window_layers} layers of {self.name} forget after {self.window:,} "
                "tokens; the capacity is counted as if they kept every token"
            )
        if self.window_layers:
            return (
                f"{self.window_layers} of {self.name}'s layers keep only the last "
                f"{self.window:,} tokens and are not counted in the capacity"
            )
        if self.stateless_layers:
            return (
                f"{self.stateless_layers} of {self.name}'s layers keep a state instead of "
                "tokens, which is not counted in the capacity"
            )
        return None


def shape_from_config(
    config: Mapping[str, Any], *, name: str, source: str, kv_dtype_bytes: int = BF16_BYTES
) -> ModelShape:
    """Read the shape from the fields of a config.json, or say which field is missing."""
    text = next((config[key] for key in _NESTED if isinstance(config.get(key), dict)), config)
    for field, meaning in _UNKNOWN_STORAGE.items():
        if text.get(field):
            raise UsageError(
                f"{source}: {name} {meaning} ({field}), and its KV size is not known to kvaudit; "
                "give the capacity in blocks or tokens"
            )
    full, window_layers, stateless, window = _layers(text, source)
    return ModelShape(
        name=name,
        source=source,
        full_layers=full,
        window_layers=window_layers,
        window=window,
        stateless_layers=stateless,
        layer_bytes=_layer_bytes(text, source, kv_dtype_bytes),
    )


def _layer_bytes(config: Mapping[str, Any], source: str, dtype_bytes: int) -> int:
    if config.get("kv_lora_rank"):
        # MLA keeps one latent and one rotated key for all heads, and no values.
        latent = _count(config, "kv_lora_rank", source)
        rope = _count(config, "qk_rope_head_dim", source)
        return (latent + rope) * dtype_bytes + _index_bytes(config, source)
    query_heads = _count(config, "num_attention_heads", source)
    heads = _count(config, "num_key_value_heads", source, default=query_heads)
    if config.get("head_dim") is not None:
        head_dim = _count(config, "head_dim", source)
    else:
        head_dim = _count(config, "hidden_size", source) // query_heads
    return 2 * heads * head_dim * dtype_bytes


def _index_bytes(config: Mapping[str, Any], source: str) -> int:
    """Return the bytes of a sparse attention's index key, whatever the KV's own type.

    vLLM 0.11 and later, DeepseekV32IndexerCache: one FP8 value each and a 4-byte scale for
    every 128 of them.
    """
    if config.get("index_head_dim") is None:
        return 0
    index_dim = _count(config, "index_head_dim", source)
    return index_dim + index_dim // 128 * 4


def _layers(config: Mapping[str, Any], source: str) -> tuple[int, int, int, int | None]:
    """Return how many layers are full, windowed and stateless, and the window."""
    listed = next((config[field] for field in _LISTS if config.get(field)), None)
    if listed:
        return _listed_layers(config, listed, source)
    layers = _count(config, "num_hidden_layers", source)
    if config.get("full_attention_interval"):
        full = layers // _count(config, "full_attention_interval", source)
        return full, 0, layers - full, None
    if recurrent := next((field for field in config if "mamba" in field or "ssm" in field), None):
        raise UsageError(
            f"{source}: some layers keep a state instead of tokens ({recurrent}), and which ones "
            "is not known to kvaudit; give the capacity in blocks or tokens"
        )
    if config.get("attention_chunk_size"):
        full = layers // LLAMA4_FULL_INTERVAL
        return full, layers - full, 0, _count(config, "attention_chunk_size", source)
    if config.get("sliding_window") and config.get("use_sliding_window") is not False:
        full = _full_beside_windows(config, layers, source)
        return full, layers - full, 0, _count(config, "sliding_window", source)
    return layers, 0, 0, None


_LISTS = ("layer_types", "layers_block_type", "hybrid_override_pattern", "attn_type_list")
"""Fields that name the kind of every layer."""

_KINDS: Mapping[Any, str] = {
    "full_attention": "full",
    "attention": "full",
    "deepseek_sparse_attention": "full",
    "*": "full",
    1: "full",  # MiniMax
    "sliding_attention": "window",
    "chunked_attention": "window",
    "linear_attention": "stateless",
    "mamba": "stateless",
    "conv": "stateless",
    "moe": "stateless",
    "mlp": "stateless",
    0: "stateless",
    "M": "stateless",
    "E": "stateless",  # experts and plain layers of Nemotron-H hold nothing at all
    "-": "stateless",
}


def _listed_layers(
    config: Mapping[str, Any], listed: Any, source: str
) -> tuple[int, int, int, int | None]:
    counts = {"full": 0, "window": 0, "stateless": 0}
    for kind in listed if isinstance(listed, list | str) else [listed]:
        if not isinstance(kind, str | int) or kind not in _KINDS:
            raise UsageError(
                f"{source}: the layer kind {kind!r} is not known to kvaudit; "
                "give the capacity in blocks or tokens"
            )
        counts[_KINDS[kind]] += 1
    window = None
    if counts["window"]:
        field = "sliding_window" if config.get("sliding_window") else "attention_chunk_size"
        window = _count(config, field, source)
    return counts["full"], counts["window"], counts["stateless"], window


def _full_beside_windows(config: Mapping[str, Any], layers: int, source: str) -> int:
    pattern = config.get("sliding_window_pattern") or _EVERY_NTH_IS_FULL.get(
        str(config.get("model_type"))
    )
    if isinstance(pattern, int):
        return layers // pattern
    if config.get("use_sliding_window") and config.get("max_window_layers") is not None:
        # Qwen: the layers from max_window_layers on have the window.
        return min(layers, _count(config, "max_window_layers", source))
    return 0


def _count(
    config: Mapping[str, Any], field: str, source: str, *, default: int | None = None
) -> int:
    value = config.get(field)
    if value is None and default is not None:
        return default
    if value is None:
        raise UsageError(f"{source}: the field {field} is missing, and the KV size needs it")
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{source}: {field} = {value!r} is not a positive whole number")
    return value
