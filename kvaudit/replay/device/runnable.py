"""A model that can be run: from a folder with its weights, or with random ones of a shape.

Weights are read from safetensors files only, and no code of a model's folder is run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from kvaudit.core.errors import InputError, MissingExtra, UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.replay.device.kv import KvShape

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
SEED = 0
"""Of random weights."""
ATTENTION = "sdpa"

_KINDS = ("full_attention", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runnable:
    """A causal language model on a device, and what its KV looks like."""

    name: str
    module: Any
    device: torch.device
    dtype_name: str
    kv: KvShape
    vocabulary: int
    weights: str
    """``random`` or ``file``."""
    identity: str
    """Digest of configuration, type and a part of the weights: KV of one model is not another's."""
    attention: str
    """The attention backend, by name."""

    def kernels(self) -> AbstractContextManager[Any]:
        """Return a context in which one attention kernel is used, and no reduced precision."""
        if self.device.type != "cuda":
            return nullcontext()
        from torch.nn.attention import SDPBackend, sdpa_kernel

        return sdpa_kernel(SDPBackend[self.attention.split(":")[1].upper()])


def load_runnable(
    spec: str, config: Mapping[str, Any] | None, *, device: torch.device, dtype: str | None
) -> Runnable:
    """Return the model named by ``spec``: a folder with weights, or else of shape ``config``.

    ``dtype`` None is fp32 on a CPU and bf16 on CUDA. Raises `UsageError` for a model whose KV
    is not plain full attention, `InputError` for a folder that cannot be loaded.
    """
    try:
        import transformers
    except ImportError as error:
        raise MissingExtra(
            "running a model needs transformers; install it with: pip install 'kvaudit[gpu]'"
        ) from error
    dtype = dtype or ("bf16" if device.type == "cuda" else "fp32")
    if dtype not in DTYPES:
        raise UsageError(f"--dtype {dtype} is not one{did_you_mean(dtype, DTYPES)}")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    transformers.logging.set_verbosity_error()
    folder = Path(spec)
    weights = "random"
    if folder.is_dir() and _weight_files(folder):
        module, weights = _from_folder(folder, DTYPES[dtype]), "file"
    elif config is not None:
        module = _from_shape(spec, config, DTYPES[dtype], device)
    else:
        raise UsageError(f"--model {spec} has no shape that could be run")
    module = module.to(device).eval()
    return Runnable(
        name=spec,
        module=module,
        device=device,
        dtype_name=dtype,
        kv=_kv_shape(spec, module.config, DTYPES[dtype]),
        vocabulary=int(module.get_input_embeddings().weight.shape[0]),
        weights=weights,
        identity=_identity(module, dtype),
        attention=f"{ATTENTION}:{_backend(device)}",
    )


def _weight_files(folder: Path) -> bool:
    if any(folder.glob("*.safetensors")):
        return True
    pickled = next((p.name for p in folder.glob("*.bin")), None)
    if pickled is not None:
        raise InputError(
            f"{folder}: its weights are in {pickled}, a pickle, which can run code when it is "
            "loaded; save them as safetensors, or name its config.json for random weights"
        )
    return False


def _from_folder(folder: Path, dtype: torch.dtype) -> Any:
    from transformers import AutoModelForCausalLM

    try:
        return AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=dtype,
            attn_implementation=ATTENTION,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
        )
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"{folder}: not a model that transformers can load: {reason}") from error


def _from_shape(
    spec: str, config: Mapping[str, Any], dtype: torch.dtype, device: torch.device
) -> Any:
    from transformers import AutoConfig, AutoModelForCausalLM

    from kvaudit.replay.device.room import check_room

    fields = {k: v for k, v in config.items() if k not in ("model_type", "auto_map")}
    # Catalogue entries leave out how long a prompt may be.
    fields.setdefault("max_position_embeddings", 1 << 20)
    try:
        made = AutoConfig.for_model(config["model_type"], **fields)
        make = partial(
            AutoModelForCausalLM.from_config,
            made,
            dtype=dtype,
            attn_implementation=ATTENTION,
            trust_remote_code=False,
        )
        _kv_shape(spec, made, dtype)  # refused before there are weights
        with torch.device("meta"):
            check_room(spec, sum(p.nbytes for p in make().parameters()), device)
        torch.manual_seed(SEED)
        with torch.device(device):
            return make()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"--model {spec}: transformers cannot make a model of its shape: {error}"
        ) from error


def _kv_shape(spec: str, config: Any, dtype: torch.dtype) -> KvShape:
    text = config.get_text_config()
    kinds = set(getattr(text, "layer_types", None) or [None])
    window = getattr(text, "sliding_window", None)
    if not kinds <= set(_KINDS) or (None in kinds and window and _uses_window(text)):
        found = ", ".join(sorted(str(kind) for kind in kinds - set(_KINDS))) or "sliding windows"
        raise UsageError(
            f"--model {spec}: it has layers of {found}; only models of full attention in all "
            "layers are run"
        )
    if getattr(text, "kv_lora_rank", None):
        raise UsageError(
            f"--model {spec}: it keeps a latent in place of keys and values; such models are "
            "simulated, not run"
        )
    heads = text.num_attention_heads
    return KvShape(
        layers=text.num_hidden_layers,
        heads=getattr(text, "num_key_value_heads", None) or heads,
        head_dim=getattr(text, "head_dim", None) or text.hidden_size // heads,
        dtype=dtype,
    )


def _uses_window(text: Any) -> bool:
    return bool(getattr(text, "use_sliding_window", True))


def _identity(module: Any, dtype: str) -> str:
    """Return a digest of the configuration and of the first numbers of every parameter."""
    digest = hashlib.sha256(dtype.encode())
    config = module.config.to_dict()
    for volatile in ("_name_or_path", "transformers_version", "dtype"):
        config.pop(volatile, None)
    digest.update(json.dumps(config, sort_keys=True, default=str).encode())
    for name, parameter in module.named_parameters():
        some = parameter.detach().flatten()[:16].float().cpu()
        digest.update(name.encode() + some.numpy().tobytes())
    return digest.hexdigest()


def _backend(device: torch.device) -> str:
    """Return the attention kernel that is used; CUDA has several, and one must be chosen.

    A prefill after reused KV has a mask, which the flash kernel does not take; the
    memory-efficient one does, where it serves the device at all.
    """
    if device.type != "cuda":
        return "cpu"
    from torch.nn.attention import SDPBackend, sdpa_kernel

    probe = torch.zeros(1, 1, 16, 64, device=device, dtype=torch.bfloat16)
    mask = torch.zeros(16, 16, device=device, dtype=torch.bfloat16)
    try:
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
            torch.nn.functional.scaled_dot_product_attention(probe, probe, probe, attn_mask=mask)
    except RuntimeError:
        return "math"
    return "efficient_attention"
