"""A transformer that reads texts: run in fp32, pooled and normalised.

No code that a folder brings is run: only architectures that transformers itself has.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import InputError
from kvaudit.core.extras import load
from kvaudit.replay.semantic.encoder import normalised

BATCH_TEXTS = 32


class TransformerEncoder:
    """Mean of the last layer over the tokens of a text, or its first token."""

    cached = True
    remark: str | None = None

    def __init__(
        self,
        folder: Path,
        *,
        title: str,
        identity: str,
        extra: str,
        max_tokens: int,
        first_token: bool = False,
    ) -> None:
        """Load tokenizer and weights. Raises `MissingExtra`, and `InputError` for the folder."""
        self._torch = load("torch", extra=extra)
        transformers = load("transformers", extra=extra)
        self.title, self.identity = title, f"{identity} fp32 {max_tokens} tokens"
        self._max_tokens, self._first_token = max_tokens, first_token
        self._device = "cpu"
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), **local)
            self._model = transformers.AutoModel.from_pretrained(
                str(folder), dtype=self._torch.float32, use_safetensors=True, **local
            ).eval()
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{folder}: is not an encoder that can be loaded: {error}") from None

    def move(self, device: str) -> None:
        """Run on that device from now on; its vectors are kept apart from the CPU's."""
        self._device = device
        self._model.to(device)
        if device != "cpu":
            self.identity += f" on {device}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors; texts are run by length, so that little is padded."""
        order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), i))
        out = np.empty((len(texts), self._model.config.hidden_size), np.float32)
        for start in range(0, len(order), BATCH_TEXTS):
            rows = order[start : start + BATCH_TEXTS]
            out[rows] = self._pooled([texts[i] for i in rows])
        return normalised(out)

    def _pooled(self, texts: list[str]) -> NDArray[np.float32]:
        fed = self._tokenizer(
            texts, padding=True, truncation=True, max_length=self._max_tokens, return_tensors="pt"
        ).to(self._device)
        with self._torch.inference_mode():
            states = self._model(**fed).last_hidden_state
            if self._first_token:
                pooled = states[:, 0]
            else:
                mask = fed["attention_mask"].unsqueeze(-1).float()
                pooled = (states * mask).sum(1) / mask.sum(1).clamp(min=1)
        vectors: NDArray[np.float32] = pooled.cpu().numpy()
        return vectors

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        """Return the share of pieces that are the tokenizer's unknown one."""
        unknown = self._tokenizer.unk_token_id
        if unknown is None:
            return None
        ids = self._tokenizer(
            list(texts), add_special_tokens=False, truncation=True, max_length=self._max_tokens
        )["input_ids"]
        pieces = sum(map(len, ids))
        return sum(row.count(unknown) for row in ids) / pieces if pieces else None
