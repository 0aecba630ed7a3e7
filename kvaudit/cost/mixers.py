"""What one layer's attention or recurrence computes, from the fields of a config.json.

The names of the parts are those of a report by kind. Checked against FlopCounterMode on random
models of every family (``tests/cost/test_flop_counter.py``).
"""

from __future__ import annotations

from dataclasses import replace

from kvaudit.core.errors import UsageError
from kvaudit.cost.families import Family
from kvaudit.cost.fields import Fields
from kvaudit.cost.reach import FULL, Reach, ReachKind
from kvaudit.cost.work import LayerWork, PairWork

STATE_BYTES = 4
"""Recurrent states are kept in 32 bits by transformers and, unless told otherwise, by vLLM."""
CONVOLVED_BYTES = 2
"""The inputs a convolution still needs are kept in the model's own type."""


def attention(fields: Fields, family: Family, reach: Reach) -> LayerWork:
    """Return a layer of multi-head, grouped or multi-query attention."""
    hidden, heads = fields.count("hidden_size"), fields.count("num_attention_heads")
    kv_heads = fields.count("num_key_value_heads", default=heads)
    dim = fields.count("head_dim", default=hidden // heads)
    gate = fields.flag("attn_output_gate", default=family.gated_attention)
    projected = heads * dim * (2 if gate else 1) + 2 * kv_heads * dim
    weights = hidden * projected + heads * dim * hidden
    return LayerWork(
        part=_PARTS[reach.kind],
        token_flops=2 * weights,
        pairs=(PairWork(reach, 4 * heads * dim),),
        weights=weights,
    )


_PARTS = {
    ReachKind.FULL: "full attention",
    ReachKind.WINDOW: "sliding attention",
    ReachKind.CHUNK: "chunked attention",
}


def latent_attention(fields: Fields, layers: int) -> list[LayerWork]:
    """Return the layers of multi-head latent attention (DeepSeek, Kimi, GLM 5).

    Prefill expands the latents of all tokens in view, reused ones too, since those are what is
    cached. Decode goes without: queries and outputs are moved into the latents' space.
    """
    indexed = indexed_layers(fields, layers)
    if not indexed:
        return [replace(_latent(fields, FULL), layers=layers)]
    reach = Reach(ReachKind.TOP, fields.count("index_topk"))
    found = [replace(_with_index(fields, _latent(fields, reach)), layers=indexed)]
    if indexed < layers:
        found.append(replace(_latent(fields, reach), layers=layers - indexed))
    return found


def indexed_layers(fields: Fields, layers: int) -> int:
    """Return how many layers have an index of their own that picks what is attended to."""
    if fields.first("index_topk") is None:
        return 0
    kinds = fields.first("indexer_types")  # GLM 5.2: most layers use the choice of one before
    return kinds.count("full") if isinstance(kinds, list) else layers


def _latent(fields: Fields, reach: Reach) -> LayerWork:
    hidden, heads = fields.count("hidden_size"), fields.count("num_attention_heads")
    rank, rope = fields.count("kv_lora_rank"), fields.count("qk_rope_head_dim")
    nope, value = fields.count("qk_nope_head_dim"), fields.count("v_head_dim")
    query_rank = fields.size("q_lora_rank")
    query = heads * (nope + rope)
    up = rank * heads * (nope + value)
    asked = hidden * query_rank + query_rank * query if query_rank else hidden * query
    weights = asked + hidden * (rank + rope) + heads * value * hidden
    return LayerWork(
        part="latent attention",
        token_flops=2 * weights,
        view_flops=2 * up,
        pairs=(PairWork(reach, 2 * heads * (nope + rope + value)),),
        decode_token_flops=2 * (weights + up),
        decode_pairs=(PairWork(reach, 2 * heads * (2 * rank + rope)),),
        weights=weights + up,
    )


def _with_index(fields: Fields, work: LayerWork) -> LayerWork:
    """Return the layer with the index that picks what it attends to.

    DeepSeek-V3.2 (transformers 5, ``DeepseekV32Indexer``): every token is scored against every
    earlier one in ``index_n_heads`` small heads, and those scores are summed by weights.
    """
    heads, dim = fields.count("index_n_heads"), fields.count("index_head_dim")
    hidden = fields.count("hidden_size")
    weights = fields.count("q_lora_rank") * heads * dim + hidden * dim + hidden * heads
    scored = PairWork(FULL, 2 * heads * dim + 2 * heads)
    assert work.decode_token_flops is not None
    assert work.decode_pairs is not None
    return replace(
        work,
        token_flops=work.token_flops + 2 * weights,
        pairs=(*work.pairs, scored),
        decode_token_flops=work.decode_token_flops + 2 * weights,
        decode_pairs=(*work.decode_pairs, scored),
        weights=work.weights + weights,
    )


def recurrence(fields: Fields, family: Family) -> LayerWork:
    """Return a layer that keeps a state, or say that its kind is not known."""
    if fields.first("linear_num_value_heads"):
        return _gated_delta(fields)
    if fields.first("mamba_num_heads", "mamba_n_heads"):
        return _mamba2(fields)
    if fields.first("mamba_d_state"):
        return _mamba(fields)
    if family.lightning:
        return _lightning(fields)
    raise UsageError(
        f"{fields.source}: what the layers that keep a state compute is not known to kvaudit"
    )


def _gated_delta(fields: Fields) -> LayerWork:
    """Qwen3-Next and Qwen3.5: a matrix a head, read, corrected by one outer product, read."""
    hidden = fields.count("hidden_size")
    key_dim, value_dim = fields.count("linear_key_head_dim"), fields.count("linear_value_head_dim")
    value_heads = fields.count("linear_num_value_heads")
    keys = fields.count("linear_num_key_heads") * key_dim
    values = value_heads * value_dim
    weights = hidden * (2 * keys + 2 * values + 2 * value_heads) + values * hidden
    return _recurrent(
        "linear attention",
        weights=weights,
        convolved=2 * keys + values,
        kernel=fields.count("linear_conv_kernel_dim"),
        state=value_heads * key_dim * value_dim,
        products=3,
    )


def _mamba2(fields: Fields) -> LayerWork:
    """Nemotron-H and Granite 4: one outer product into the state, one read of it."""
    hidden = fields.count("hidden_size")
    heads = fields.count("mamba_num_heads", "mamba_n_heads")
    if fields.first("mamba_head_dim", "mamba_d_head") in (None, "auto"):
        inner = fields.count("mamba_expand") * hidden
    else:
        inner = heads * fields.count("mamba_head_dim", "mamba_d_head")
    size = fields.count("ssm_state_size", "mamba_d_state")
    convolved = inner + 2 * fields.count("n_groups", "mamba_n_groups") * size
    return _recurrent(
        "mamba",
        weights=hidden * (inner + convolved + heads) + inner * hidden,
        convolved=convolved,
        kernel=fields.count("conv_kernel", "mamba_d_conv"),
        state=inner * size,
        products=2,
    )


def _mamba(fields: Fields) -> LayerWork:
    """Jamba: as Mamba 2, but B, C and the time step come from the convolved input."""
    hidden = fields.count("hidden_size")
    inner = fields.count("mamba_expand") * hidden
    size, rank = fields.count("mamba_d_state"), -(-hidden // 16)
    if fields.first("mamba_dt_rank") not in (None, "auto"):
        rank = fields.count("mamba_dt_rank")
    weights = hidden * 2 * inner + inner * (rank + 2 * size) + rank * inner + inner * hidden
    return _recurrent(
        "mamba",
        weights=weights,
        convolved=inner,
        kernel=fields.count("mamba_d_conv"),
        state=inner * size,
        products=2,
    )


def _lightning(fields: Fields) -> LayerWork:
    """MiniMax-Text-01: a matrix a head and no convolution; a gate on the output."""
    hidden, heads = fields.count("hidden_size"), fields.count("num_attention_heads")
    dim = fields.count("head_dim", default=hidden // heads)
    return _recurrent(
        "linear attention",
        weights=5 * hidden * heads * dim,
        convolved=0,
        kernel=1,
        state=heads * dim * dim,
        products=2,
    )


def _recurrent(
    part: str, *, weights: int, convolved: int, kernel: int, state: int, products: int
) -> LayerWork:
    """Return the layer: ``products`` products of a vector with a state of ``state`` numbers."""
    scan_flops = 2 * (convolved * kernel + products * state)
    return LayerWork(
        part=part,
        token_flops=2 * weights + scan_flops,
        scan_flops=scan_flops,
        weights=weights + convolved * kernel,
        state_bytes=state * STATE_BYTES + convolved * (kernel - 1) * CONVOLVED_BYTES,
    )
