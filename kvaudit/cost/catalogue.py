"""Models by name: a dated catalogue, and any model's own config.json."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from kvaudit.core.errors import InputError, UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.cost.shapes import BF16_BYTES, ModelShape, shape_from_config

# Fine-tunes keep the shape of their base model.
_TUNED = ("-instruct", "-it", "-chat", "-thinking", "-fp8", "-bf16", "-base", "-hf")
_VENDOR = "meta-"


class Entry(NamedTuple):
    """One model of the catalogue."""

    name: str
    source: str
    config: dict[str, Any]


TINY = Entry(
    "tiny",
    "kvaudit: a shape small enough to run anywhere, always with random weights",
    {
        "model_type": "llama",
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 1024,
        "tie_word_embeddings": False,
    },
)
"""For ``--device``; no model that anybody serves, so it does not stand in the catalogue."""


@cache
def catalogue() -> dict[str, Entry]:
    """Return the catalogue by name."""
    text = resources.files("kvaudit.cost").joinpath("catalogue.toml").read_text("utf-8")
    return {
        name: Entry(name, f"{model['source']}, read {model['date']}", model["config"])
        for model in tomllib.loads(text)["model"]
        for name in model["names"]
    }


def load_model_shape(spec: str, *, kv_dtype_bytes: int = BF16_BYTES) -> ModelShape:
    """Return the shape of a model: a name of the catalogue, or a config.json or its folder.

    Names may be written as on Hugging Face: ``meta-llama/Llama-3.1-8B-Instruct``.
    """
    path = Path(spec)
    if path.is_dir():
        path /= "config.json"
    if path.suffix == ".json" or path.is_file():
        return shape_from_config(
            _read(path),
            name=path.parent.name or path.stem,
            source=str(path),
            kv_dtype_bytes=kv_dtype_bytes,
        )
    known = catalogue()
    entry = TINY if spec == TINY.name else known.get(_plain(spec))
    if entry is None:
        raise UsageError(
            f"--model {spec}: is neither a file nor one of the {len(known)} models in the "
            f"catalogue; give the path of its config.json{did_you_mean(_plain(spec), known)}"
        )
    return shape_from_config(
        entry.config, name=entry.name, source=entry.source, kv_dtype_bytes=kv_dtype_bytes
    )


def _plain(spec: str) -> str:
    name = spec.rpartition("/")[2].lower().removeprefix(_VENDOR)
    shortened = True
    while shortened:
        shortened = False
        for suffix in _TUNED:
            if name.endswith(suffix):
                name, shortened = name.removesuffix(suffix), True
    return name


def _read(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: is not JSON; --model takes a model's config.json") from None
    if not isinstance(config, dict):
        raise InputError(f"{path}: is not a JSON object; --model takes a model's config.json")
    return config
