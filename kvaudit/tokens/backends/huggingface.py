"""A user's ``tokenizer.json`` through Hugging Face's tokenizers: exact and slow.

A folder may hold the whole model; only its tokenizer is read. Nothing is looked up by name,
so nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvaudit.core import extras
from kvaudit.core.errors import UsageError
from kvaudit.tokens.backends.tokenizer_json import TokenizerFile, read_tokenizer_file


class HuggingFaceTokenizer:
    """One tokenizer file."""

    def __init__(self, file: TokenizerFile, package: Any) -> None:
        """Build it with tokenizers, the ``package``."""
        try:
            self._tokenizer = package.Tokenizer.from_str(file.text)
        except Exception as error:  # the package raises nothing narrower
            raise UsageError(f"tokenizers cannot use {file.path}: {error}") from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.name = file.name
        self.source = f"tokenizers {package.__version__}"
        self.exactness = "estimate" if file.glues_to_the_first else "exact"
        self.bos_id = file.bos_id
        self.control_tokens = file.control_tokens
        self.cuts_at_lines = file.cuts_at_lines

    def encode_batch(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Token ids of each text, on all cores."""
        encoded = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [np.array(encoding.ids, np.int32) for encoding in encoded]

    def decode(self, ids: NDArray[np.int32]) -> str:
        """Return the text of ids, control tokens among them."""
        text: str = self._tokenizer.decode(ids.tolist(), skip_special_tokens=False)
        return text

    def special_id(self, token: str) -> int | None:
        """Id of a control token of the vocabulary."""
        known = self.control_tokens.get(token)
        return None if known is None else known.id


def load(path: str) -> HuggingFaceTokenizer:
    """Load a ``tokenizer.json`` or the one in a model folder."""
    return HuggingFaceTokenizer(read_tokenizer_file(path), extras.load("tokenizers", extra="hf"))
