"""Any transformer encoder in a local folder, as sentence-transformers or transformers saved it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from kvaudit.core.errors import InputError
from kvaudit.replay.semantic.encoder import Encoder
from kvaudit.replay.semantic.transformer import TransformerEncoder

DEFAULT_TOKENS = 512


def make(folder: Path) -> Encoder:
    """Return the encoder. Raises `InputError` where the folder holds none that can be run."""
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: holds no config.json, so it is no model of transformers")
    pooling = _read(folder / "1_Pooling" / "config.json")
    first = bool(pooling.get("pooling_mode_cls_token"))
    if pooling and not first and not pooling.get("pooling_mode_mean_tokens"):
        raise InputError(
            f"{folder}: pools neither the mean nor the first token, and no other way is known here"
        )
    limit = _read(folder / "sentence_bert_config.json").get("max_seq_length")
    return TransformerEncoder(
        folder,
        title=f"{folder.name} ({'first token' if first else 'mean'})",
        identity=f"folder {_weights_hash(folder)} {'cls' if first else 'mean'}",
        extra="gpu",
        max_tokens=limit if isinstance(limit, int) else DEFAULT_TOKENS,
        first_token=first,
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    return found if isinstance(found, dict) else {}


def _weights_hash(folder: Path) -> str:
    """Return a hash of all files of the folder itself: other weights are another encoder."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(p for p in folder.iterdir() if p.is_file()):
        digest.update(path.name.encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()
