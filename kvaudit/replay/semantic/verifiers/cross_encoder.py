"""A cross-encoder in a local folder: reads both texts at once, and scores the pair.

A head of one number is taken through the sigmoid; of several, the last class is "the same". No code
that a folder brings is run.
"""

from __future__ import annotations

from math import exp
from pathlib import Path
from typing import Any

from kvaudit.core.errors import InputError
from kvaudit.core.extras import load

MAX_TOKENS = 512


class CrossEncoderVerifier:
    """A sequence classifier over pairs of texts, in fp32 on the CPU."""

    def __init__(self, folder: Path) -> None:
        """Load it. Raises `MissingExtra`, and `InputError` for a folder that holds none."""
        if not (folder / "config.json").is_file():
            raise InputError(f"{folder}: holds no config.json, so it is no model of transformers")
        self._torch = load("torch", extra="gpu")
        transformers = load("transformers", extra="gpu")
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), **local)
            model = transformers.AutoModelForSequenceClassification.from_pretrained(
                str(folder), dtype=self._torch.float32, use_safetensors=True, **local
            )
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{folder}: is no cross-encoder that can be loaded: {error}") from None
        self._model = model.eval()

    def score(self, a: str, b: str, cosine: float) -> float:
        """Return the chance that the two mean the same, as the model gives it."""
        fed = self._tokenizer(a, b, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
        with self._torch.inference_mode():
            logits = self._model(**fed).logits[0]
        if len(logits) == 1:
            return 1 / (1 + exp(-float(logits[0])))
        return float(self._torch.softmax(logits, 0)[-1])
