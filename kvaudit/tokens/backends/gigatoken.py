"""A user's ``tokenizer.json`` through gigatoken: several times as fast as tokenizers.

An optional package that no extra brings. Its cache of words is not bounded: on text where
every word is new, memory grows with the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import MissingExtra, UsageError
from kvaudit.tokens.backends.tokenizer_json import TokenizerFile, read_tokenizer_file


class GigatokenTokenizer:
    """One tokenizer file."""

    def __init__(self, file: TokenizerFile, package: Any, version: str) -> None:
        """Build it with gigatoken, the ``package``."""
        try:
            self._tokenizer = package.Tokenizer.from_json(file.text)
        except (ValueError, RuntimeError) as error:
            raise UsageError(f"gigatoken cannot use {file.path}: {error}") from None
        self.name = file.name
        self.source = f"gigatoken {version}"
        self.exactness = "estimate" if file.glues_to_the_first else "exact"
        self.bos_id = file.bos_id
        self.control_tokens = file.control_tokens
        self.cuts_at_lines = file.cuts_at_lines

    def encode_batch(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Token ids of each text, on all cores."""
        encoded = self._tokenizer.encode_batch_list(list(texts)) if texts else []
        return [np.array(ids, np.int32) for ids in encoded]

    def special_id(self, token: str) -> int | None:
        """Id of a control token of the vocabulary."""
        known = self.control_tokens.get(token)
        return None if known is None else known.id


def load(path: str) -> GigatokenTokenizer:
    """Load a ``tokenizer.json`` or the one in a model folder."""
    file = read_tokenizer_file(path)
    try:
        import gigatoken
    except ModuleNotFoundError:
        raise MissingExtra(
            "gigatoken is not installed, and no extra of kvaudit brings it; install it with: "
            "pip install gigatoken, or use hf:PATH"
        ) from None
    from importlib.metadata import version

    return GigatokenTokenizer(file, gigatoken, version("gigatoken"))
