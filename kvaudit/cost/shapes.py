"""What a model's KV cache holds: how many bytes one token adds, and in which layers.

Read from the fields of a Hugging Face ``config.json``. Full attention keeps every token;
a layer with a window keeps the last tokens only; a recurrent layer (Mamba, linear attention)
keeps a state and no token. A model that stores KV in a way that is not known here is refused:
a wrong size would turn every capacity in bytes into a wrong number of blocks. What the model
computes needs more fields, so it is worked out only when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kvaudit.core.errors import UsageError
from kvaudit.cost.families import family_of
from kvaudit.cost.feeds import experts_of, feed_forward
from kvaudit.cost.fields import Fields
from kvaudit.cost.layout import IN_BLOCKS_OR_TOKENS, Mixers, mixers_of
from kvaudit.cost.mixers import attention, indexed_layers, latent_attention, recurrence
from kvaudit.cost.reach import FULL
from kvaudit.cost.weights import WeightFormat, weight_format
from kvaudit.cost.work import LayerWork, ModelWork

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """One model: its KV cache, its weights and what it computes."""

    name: str
    source: str
    """The file the numbers are from, and its date if it is a catalogue entry."""
    mixers: Mixers
    """How many layers keep every token, the near ones, a state, or nothing."""
    layer_bytes: int
    """What one token adds to one layer that keeps it."""
    index_bytes: int = 0
    """What it adds to the indexes of sparse attention, in all layers together."""
    fields: Fields
    """The language model's fields."""
    outer: Mapping[str, Any]
    """The whole file, which says some things of a multimodal model."""

    @property
    def full_layers(self) -> int:
        """Layers that keep every token."""
        return self.mixers.full

    @property
    def window_layers(self) -> int:
        """Layers that keep no more than the last ``window`` tokens."""
        return self.mixers.near

    @property
    def window(self) -> int | None:
        """Tokens of the window or chunk."""
        return self.mixers.reach.tokens or None

    @property
    def stateless_layers(self) -> int:
        """Layers that keep no token: a state of fixed size, or nothing at all."""
        return self.mixers.recurrent + self.mixers.none

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes that a cached token keeps occupied.

        Layers with a window are left out where there are others, since they stop growing; a
        model that has nothing else is counted in full.
        """
        return (self.full_layers or self.window_layers) * self.layer_bytes + self.index_bytes

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

    def work(self) -> ModelWork:
        """Return what the model computes, or raise `UsageError` naming the field it lacks."""
        return _work(self)

    def weight_format(self, spec: str | None = None) -> WeightFormat:
        """Return how its weights are stored: as ``spec`` says, else as its file does.

        Raises `UsageError` for a name that is not known.
        """
        return weight_format(self.fields.given, self.outer, spec=spec, source=self.source)


def shape_from_config(
    config: Mapping[str, Any], *, name: str, source: str, kv_dtype_bytes: int = BF16_BYTES
) -> ModelShape:
    """Read the shape from the fields of a config.json, or say which field is missing."""
    text = next((config[key] for key in _NESTED if isinstance(config.get(key), dict)), config)
    for field, meaning in _UNKNOWN_STORAGE.items():
        if text.get(field):
            raise UsageError(
                f"{source}: {name} {meaning} ({field}), and its KV size is not known to kvaudit; "
                f"{IN_BLOCKS_OR_TOKENS}"
            )
    fields = Fields(given=text, source=source, defaults=family_of(text.get("model_type")).defaults)
    mixers = mixers_of(fields)
    return ModelShape(
        name=name,
        source=source,
        mixers=mixers,
        layer_bytes=_layer_bytes(fields, kv_dtype_bytes),
        index_bytes=_index_bytes(fields) * indexed_layers(fields, mixers.full),
        fields=fields,
        outer=config,
    )


def _layer_bytes(fields: Fields, dtype_bytes: int) -> int:
    if fields.first("kv_lora_rank"):
        # MLA keeps one latent and one rotated key for all heads, and no values.
        latent, rope = fields.count("kv_lora_rank"), fields.count("qk_rope_head_dim")
        return (latent + rope) * dtype_bytes
    query_heads = fields.count("num_attention_heads")
    heads = fields.count("num_key_value_heads", default=query_heads)
    if fields.first("head_dim") is not None:
        head_dim = fields.count("head_dim")
    else:
        head_dim = fields.count("hidden_size") // query_heads
    return 2 * heads * head_dim * dtype_bytes


def _index_bytes(fields: Fields) -> int:
    """Return the bytes of a sparse attention's index key, whatever the KV's own type.

    vLLM 0.11 and later, DeepseekV32IndexerCache: one FP8 value each and a 4-byte scale for
    every 128 of them.
    """
    if fields.first("index_topk") is None:
        return 0
    index_dim = fields.count("index_head_dim")
    return index_dim + index_dim // 128 * 4


def _work(shape: ModelShape) -> ModelWork:
    family = family_of(shape.fields.first("model_type"))
    fields = replace(shape.fields, purpose="FLOPs need it")
    mixers, experts = shape.mixers, experts_of(fields)
    layers: list[LayerWork] = []
    if fields.first("kv_lora_rank"):
        layers += latent_attention(fields, mixers.full)
    elif mixers.full:
        layers.append(replace(attention(fields, family, FULL), layers=mixers.full))
    if mixers.near:
        layers.append(replace(attention(fields, family, mixers.reach), layers=mixers.near))
    if mixers.recurrent:
        layers.append(replace(recurrence(fields, family), layers=mixers.recurrent))
    tied = fields.first("tie_word_embeddings")
    return ModelWork(
        layers=(*layers, *feed_forward(fields, family, experts)),
        hidden=fields.count("hidden_size"),
        vocabulary=fields.count("vocab_size"),
        tied=bool(shape.outer.get("tie_word_embeddings") if tied is None else tied),
        experts=experts.all,
        active_experts=experts.active,
        note=None
        if family.known
        else (
            f"{family.name} is not a kind of model that kvaudit knows; its FLOPs are counted as "
            "if its layers were built like Llama's"
        ),
    )
