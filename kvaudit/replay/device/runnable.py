"""A model that can be run: from a folder with its weights, or with random ones of a shape.

Weights are read from safetensors files only, and no code of a model's folder is run.
"""

from __future__ import annotations

import hashlib
import json
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from kvaudit.core.errors import InputError, KvauditError, MissingExtra, UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.replay.device.kv import KvShape

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
SEED = 0
"""Of random weights."""
ATTENTION = "sdpa"
KERNELS = ("efficient_attention", "flash_attention+efficient_attention", "math")
"""Of CUDA, the first that serves a model is taken."""
PROBE_TOKENS = 16
REASON_CHARS = 160

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
    """Digest of configuration, type and weights: KV of one model is not another's."""
    attention: str
    """The attention kernels, by name."""
    most_tokens: int | None
    """Positions that the model knows; None where it does not say."""

    def kernels(self) -> AbstractContextManager[Any]:
        """Return a context in which no other attention kernels are used."""
        return _only_kernels(self.attention.split(":")[1].split("+"))


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
    torch.set_float32_matmul_precision("highest")  # no TF32
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
    most = getattr(module.config.get_text_config(), "max_position_embeddings", None)
    return Runnable(
        name=spec,
        module=module,
        device=device,
        dtype_name=dtype,
        kv=_kv_shape(spec, module.config, DTYPES[dtype]),
        vocabulary=int(module.get_input_embeddings().weight.shape[0]),
        weights=weights,
        identity=_identity(module, dtype),
        attention=f"{ATTENTION}:{_backend(spec, module)}",
        most_tokens=most,
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
    except Exception as error:  # of many libraries, for files that nobody vouches for
        raise InputError(
            f"{folder}: transformers cannot load it: {_reason(error)}; name its config.json for "
            "random weights"
        ) from error


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
    except KvauditError:
        raise
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # whatever a configuration that nobody vouches for leads to
        raise UsageError(
            f"--model {spec}: transformers cannot make a model of its shape: {_reason(error)}"
        ) from error


def _reason(error: Exception) -> str:
    """Return the first sentence of an error, cut where it becomes a list."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return textwrap.shorten(lines[0].split(". ")[0], REASON_CHARS, placeholder=" ...")


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
    """Return a digest of the configuration and of all bits of every parameter.

    Their sum on the device costs no copy, and any change of a few numbers changes it.
    """
    digest = hashlib.sha256(dtype.encode())
    config = module.config.to_dict()
    for volatile in ("_name_or_path", "transformers_version", "dtype"):
        config.pop(volatile, None)
    digest.update(json.dumps(config, sort_keys=True, default=str).encode())
    for name, parameter in module.named_parameters():
        flat = parameter.detach().flatten()
        bits = flat.view(torch.int32 if flat.dtype.itemsize == 4 else torch.int16)
        digest.update(f"{name} {int(bits.sum(dtype=torch.int64))}".encode())
        digest.update(flat[:16].float().cpu().numpy().tobytes())
    return digest.hexdigest()


def _only_kernels(names: Sequence[str]) -> AbstractContextManager[Any]:
    """Return a context in which attention has these kernels only; a CPU has one anyway."""
    if list(names) == ["cpu"]:
        return nullcontext()
    from torch.nn.attention import SDPBackend, sdpa_kernel

    return sdpa_kernel([SDPBackend[name.upper()] for name in names])


def _backend(spec: str, module: Any) -> str:
    """Return the attention kernels that the model is run with, tried on it.

    CUDA has several, and which one torch takes depends on what it is given. A prefill after reused
    KV has a mask, which the flash kernel does not take. One without a past has none, and then
    transformers leaves heads that share KV to the kernel (`use_gqa_in_sdpa`), which the
    memory-efficient one does not do in every version of torch. The two together do both.
    """
    from transformers import DynamicCache

    choices = KERNELS if module.device.type == "cuda" else ("cpu",)
    reason = ""
    for names in choices:
        try:
            with torch.no_grad(), _only_kernels(names.split("+")), warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                cache = DynamicCache(config=module.config)
                ids = torch.zeros((1, PROBE_TOKENS), dtype=torch.long, device=module.device)
                for _ in range(2):  # without a past and with one
                    module(input_ids=ids, past_key_values=cache, use_cache=True)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # whatever the model's own code raises
            reason = _reason(error)
        else:
            return names
    raise UsageError(f"--model {spec}: it cannot be run: {reason}")
