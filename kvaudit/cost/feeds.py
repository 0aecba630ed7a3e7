"""What one layer's feed-forward part computes: dense, or experts of which a token uses a few."""

from __future__ import annotations

from typing import NamedTuple

from kvaudit.core.errors import UsageError
from kvaudit.cost.families import Family
from kvaudit.cost.fields import Fields
from kvaudit.cost.layout import feeds_of
from kvaudit.cost.work import LayerWork


class Experts(NamedTuple):
    """How many routed experts a layer has, and how many of them a token uses."""

    all: int
    active: int


def experts_of(fields: Fields) -> Experts:
    """Return the experts of a layer that has them; none is (0, 0)."""
    number = fields.size("num_experts", "num_local_experts", "n_routed_experts")
    if number < 2:
        _refuse_unknown(fields)
        return Experts(0, 0)
    return Experts(number, fields.count("num_experts_per_tok", "experts_per_token"))


def _refuse_unknown(fields: Fields) -> None:
    """Refuse a model whose experts are spelled in a way that is not known."""
    strange = next((name for name in fields.given if name.startswith("moe_")), None)
    if strange is not None and fields.first(strange):
        raise UsageError(
            f"{fields.source}: the model has experts ({strange}), but how many is not said in a "
            "way that is known to kvaudit, so its FLOPs are not known either"
        )


def feed_forward(fields: Fields, family: Family, experts: Experts) -> list[LayerWork]:
    """Return the feed-forward parts of all layers."""
    feeds = feeds_of(fields, experts=experts.all)
    matrices = 3 if family.gated else 2
    hidden = fields.count("hidden_size")
    parts = []
    if family.shared_beside:  # Granite: a dense part beside the experts, or in their place
        width = fields.count("shared_intermediate_size")
        parts.append(_dense(feeds.dense + feeds.experts, matrices * hidden * width))
    elif feeds.dense:
        width = fields.count("intermediate_size_mlp", "intermediate_size")
        parts.append(_dense(feeds.dense, matrices * hidden * width))
    if feeds.experts:
        parts.append(_mixture(fields, family, experts, matrices, feeds.experts))
    return parts


def _dense(layers: int, weights: int) -> LayerWork:
    return LayerWork(part="mlp", layers=layers, token_flops=2 * weights, weights=weights)


def _mixture(
    fields: Fields, family: Family, experts: Experts, matrices: int, layers: int
) -> LayerWork:
    hidden = fields.count("hidden_size")
    width = fields.count("moe_intermediate_size", "intermediate_size")
    inner = fields.size("moe_latent_size")  # Nemotron 3 Super: experts work in a smaller space
    one = matrices * (inner or hidden) * width
    always = hidden * experts.all + matrices * hidden * _shared_width(fields, family, width)
    always += 2 * hidden * inner
    if fields.first("shared_expert_intermediate_size"):
        always += hidden  # Qwen: a gate on the shared expert
    return LayerWork(
        part="experts",
        layers=layers,
        token_flops=2 * (always + experts.active * one),
        weights=always + experts.all * one,
        expert_weights=experts.all * one,
        active_weights=always + experts.active * one,
    )


def _shared_width(fields: Fields, family: Family, width: int) -> int:
    """Return the width of the experts that every token uses."""
    if family.one_shared_expert:
        return width
    own = fields.size("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size")
    return own or width * fields.size("n_shared_experts", "num_shared_experts")
