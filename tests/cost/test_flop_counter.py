"""FLOPs and KV bytes against what torch counts and transformers allocates, family by family.

Small random models on the CPU with eager attention (torch does not count its fused one there).
A plain forward pass makes a row of logits for every token and multiplies the whole rectangle of
attention, which is `square` with as many rows. What it does in recurrent layers is not the
recurrence but a chunked form of it over padded tokens, so these products are left out of both.
"""

import inspect
import logging

import pytest

from kvaudit.cost.shapes import shape_from_config

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SIZES = {
    "hidden_size": 64,
    "intermediate_size": 176,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 500,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
}
MLA = {
    "num_key_value_heads": 8,
    "kv_lora_rank": 32,
    "q_lora_rank": 48,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "n_group": 1,
    "topk_group": 1,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "moe_intermediate_size": 40,
}
DSA = {"index_n_heads": 4, "index_head_dim": 16, "index_topk": 24}
GDN = {
    "num_hidden_layers": 4,
    "head_dim": 16,
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 24,
    "linear_conv_kernel_dim": 4,
}
MAMBA2 = {"mamba_d_state": 8, "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_n_groups": 1}
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 48}
LOCAL_EXPERTS = {"num_local_experts": 8, "num_experts_per_tok": 2}
HALF = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 24}

FAMILIES = {
    "Llama": {},
    "Qwen2": {},
    "Qwen3": {"head_dim": 16},
    "Qwen2Moe": EXPERTS | {"shared_expert_intermediate_size": 96},
    "Qwen3Moe": EXPERTS | {"head_dim": 16, "mlp_only_layers": [1]},
    "Qwen3Next": GDN | EXPERTS | {"shared_expert_intermediate_size": 40},
    "Qwen3_5Text": GDN,
    "Qwen3_5MoeText": GDN | EXPERTS | {"shared_expert_intermediate_size": 40},
    "Mistral": {"sliding_window": 24},
    "Ministral3": {"head_dim": 16},
    "Mixtral": LOCAL_EXPERTS,
    "Gemma": {"num_key_value_heads": 1, "head_dim": 16},
    "Gemma2": HALF | {"head_dim": 16},
    "Gemma3Text": HALF | {"head_dim": 16},
    "Ministral": HALF | {"head_dim": 16},
    "Glm": {"head_dim": 16},
    "Olmoe": {"num_experts": 8, "num_experts_per_tok": 3},
    "Qwen2_5_VLText": {
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10_000.0,
            "mrope_section": [2, 1, 1],
        }
    },
    "Qwen3VLText": {"head_dim": 16},
    "Qwen3VLMoeText": EXPERTS | {"head_dim": 16},
    "Phi3": {},
    "Phimoe": LOCAL_EXPERTS,
    "DeepseekV2": MLA | {"q_lora_rank": None, "first_k_dense_replace": 1},
    "DeepseekV3": MLA | {"first_k_dense_replace": 1},
    "DeepseekV32": MLA | DSA | {"first_k_dense_replace": 1},
    "GlmMoeDsa": MLA | DSA | {"num_hidden_layers": 4, "indexer_types": ["full", "shared"] * 2},
    "Glm4MoeLite": MLA,
    "Glm4": {"head_dim": 16},
    "Glm4Moe": MLA | {"kv_lora_rank": None, "num_key_value_heads": 2, "head_dim": 16},
    "GptOss": LOCAL_EXPERTS | HALF | {"head_dim": 16},
    "MiniMaxM2": LOCAL_EXPERTS | {"head_dim": 16},
    "Cohere": {},
    "Cohere2": HALF,
    "Granite": {},
    "GraniteMoe": LOCAL_EXPERTS,
    "Olmo2": {},
    "Olmo3": HALF,
    "SmolLM3": {},
    "SeedOss": {"head_dim": 16},
    "Starcoder2": {},
    "Nemotron": {},
    "Exaone4": HALF,
    "Llama4Text": LOCAL_EXPERTS
    | {
        "num_hidden_layers": 4,
        "num_experts_per_tok": 1,
        "head_dim": 16,
        "interleave_moe_layer_step": 2,
        "intermediate_size_mlp": 100,
        "attention_chunk_size": 32,
    },
    "Jamba": {
        "num_hidden_layers": 4,
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "expert_layer_period": 2,
        "expert_layer_offset": 1,
        "mamba_d_state": 8,
        "mamba_dt_rank": 4,
        "use_mamba_kernels": False,
    },
    "GraniteMoeHybrid": LOCAL_EXPERTS
    | MAMBA2
    | {"layer_types": ["mamba", "attention"], "shared_intermediate_size": 40},
    "NemotronH": {
        "layers_block_type": ["mamba", "attention", "moe", "mlp"],
        "head_dim": 16,
        "mamba_num_heads": 8,
        "mamba_head_dim": 16,
        "ssm_state_size": 8,
        "n_groups": 2,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 40,
        "moe_shared_expert_intermediate_size": 24,
        "moe_latent_size": 32,
    },
    "MiniMax": LOCAL_EXPERTS
    | {"layer_types": ["linear_attention", "full_attention"], "head_dim": 16},
}
RECURRENT = ("MambaMixer", "Mamba2Mixer", "MambaLayer", "GatedDeltaNet", "LightningAttention")
"""Modules whose batched products and convolutions are transformers' own way to a recurrence."""


@pytest.fixture(scope="module", params=FAMILIES)
def model(request):
    """A small random model of one family, and its configuration as a config.json."""
    logging.disable(logging.WARNING)
    torch.manual_seed(0)
    made = getattr(transformers, f"{request.param}Config")(**SIZES | FAMILIES[request.param])
    # The language model of a multimodal one comes without a head.
    kind = transformers.AutoModel if "VL" in request.param else transformers.AutoModelForCausalLM
    built = kind.from_config(made, attn_implementation="eager", experts_implementation="eager")
    yield built.eval(), json_of(made)
    logging.disable(logging.NOTSET)


def json_of(config):
    """Return the fields as a config.json has them, with the field names of a saved one."""
    return config.to_dict()


def shape(config):
    return shape_from_config(config, name="m", source="config.json", kv_dtype_bytes=4)


def forward(model, new, cache=None):
    """Compute tokens after those in the cache; transformers 5.2x renamed the parameter."""
    name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
    with torch.no_grad():
        return model(torch.ones(1, new, dtype=torch.long), use_cache=True, **{name: cache})


def counted(model, new, reused):
    """Return what torch counts of ``new`` tokens after ``reused`` ones, without recurrences."""
    from torch.utils.flop_counter import FlopCounterMode

    cache = forward(model, reused).past_key_values if reused else None
    with FlopCounterMode(display=False) as counter:
        forward(model, new, cache)
    modules = dict(model.named_modules())
    scanned = sum(
        flops
        for name, operations in counter.get_flop_counts().items()
        if type(modules.get(name.partition(".")[2])).__name__.endswith(RECURRENT)
        for operation, flops in operations.items()
        if "bmm" in str(operation) or "convolution" in str(operation)
    )
    return counter.get_total_flops() - scanned


@pytest.mark.parametrize(("new", "reused"), [(96, 0), (33, 64)])
def test_flops_are_those_that_torch_counts(model, new, reused):
    built, config = model
    if type(built).__name__.startswith("MiniMaxFor"):
        reused = 0  # transformers' lightning attention takes no second part of a prompt
    work = shape(config).work()
    rows = new if built.get_output_embeddings() is not None else 0
    ours = work.prefill_flops(new, reused, logit_rows=rows, square=True)
    ours -= sum(w.layers * w.scan_flops for w in work.layers) * new
    if type(built).__name__.startswith("Llama4"):
        # Its experts are computed for every token there, chosen or not.
        (experts,) = (w for w in work.layers if w.part == "experts")
        ours += 2 * experts.layers * (experts.weights - experts.active_weights) * new
    assert ours == counted(built, new, reused)


def test_weights_are_those_of_the_model(model):
    """All but norms, biases, and the constants of a recurrence."""
    built, config = model
    matrices = {
        id(p): p.numel()
        for name, p in built.named_parameters()
        if p.ndim >= 2 and "bias" not in name
    }
    work = shape(config).work()
    head = 0 if built.get_output_embeddings() is not None or work.tied else 64 * 500
    assert work.weights - head == sum(matrices.values()) - constants(built)


def constants(model):
    """Return the numbers of Mamba's decay, which is stored as a matrix but multiplies nothing."""
    return sum(p.numel() for name, p in model.named_parameters() if "A_log" in name and p.ndim > 1)


@pytest.mark.parametrize("tokens", [16, 40])
def test_kv_bytes_are_those_that_are_allocated(model, tokens):
    built, config = model
    found = shape(config)
    cache = forward(built, tokens).past_key_values
    tokens_kept = sum(bytes_of(layer, "keys") + bytes_of(layer, "values") for layer in cache.layers)
    near = min(tokens, (found.window or tokens + 1) - 1)  # transformers keeps one less
    assert tokens_kept == found.layer_bytes * (
        found.full_layers * tokens + found.window_layers * near
    )
    if type(built).__name__.startswith("MiniMaxFor"):
        return  # its states are kept apart from the cache's layers
    states = sum(bytes_of(layer, "recurrent_states") for layer in cache.layers)
    # transformers keeps one input more than its convolution of 4 needs, here in 32 bits.
    convolved = sum(bytes_of(layer, "conv_states") for layer in cache.layers) * 3 // 4 // 2
    assert states + convolved == found.work().state_bytes


def bytes_of(layer, name):
    """Return the bytes of a tensor, or of several, that a layer of a cache may hold."""
    held = getattr(layer, name, None)
    tensors = held.values() if isinstance(held, dict) else [held]
    return sum(t.numel() * t.element_size() for t in tensors if t is not None)
