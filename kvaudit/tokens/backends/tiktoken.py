"""tiktoken, where its vocabulary already lies on this machine.

That is in tiktoken's own cache (``TIKTOKEN_CACHE_DIR``), or in an installed plugin that brings
it. tiktoken would download a vocabulary that it lacks; here it may not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.tokens.known_ids import check_known_ids
from kvaudit.tokens.tokenizer import ControlToken

if TYPE_CHECKING:
    from tiktoken import Encoding

_CUTS_AT_LINES = frozenset(("cl100k_base", "o200k_base", "o200k_harmony"))


class TiktokenTokenizer:
    """One encoding of tiktoken: the reference for OpenAI's vocabularies."""

    exactness = "exact"
    bos_id: int | None = None

    def __init__(self, encoding: Encoding, source: str) -> None:
        """Wrap a loaded encoding."""
        self._encoding = encoding
        self.name = encoding.name
        self.source = source
        self.cuts_at_lines = encoding.name in _CUTS_AT_LINES
        self.control_tokens: Mapping[str, ControlToken] = {
            text: ControlToken(encoding.encode_single_token(text))
            for text in sorted(encoding.special_tokens_set)
        }

    def encode_batch(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Token ids of each text, on all cores."""
        threads = os.cpu_count() or 1
        encoded = self._encoding.encode_ordinary_batch(list(texts), num_threads=threads)
        return [np.array(ids, np.int32) for ids in encoded]

    def decode(self, ids: NDArray[np.int32]) -> str:
        """Return the text of ids; bytes that are half of a character are replaced."""
        return self._encoding.decode(ids.tolist())

    def special_id(self, token: str) -> int | None:
        """Id of a control token of the vocabulary."""
        known = self.control_tokens.get(token)
        return None if known is None else known.id


class _NotHere(Exception):
    """tiktoken asked for a file from the network."""


@contextmanager
def _without_network() -> Iterator[None]:
    from tiktoken import load as loading

    read_file = loading.read_file

    def read_local_file(blobpath: str) -> bytes:
        if "://" in blobpath:
            raise _NotHere
        return read_file(blobpath)

    loading.read_file = read_local_file
    try:
        yield
    finally:
        loading.read_file = read_file


def load(name: str) -> TiktokenTokenizer:
    """Load the encoding ``name`` from files of this machine."""
    import tiktoken

    known = tiktoken.list_encoding_names()
    if name not in known:
        raise UsageError(f"tiktoken has no encoding {name!r}{did_you_mean(name, known)}")
    try:
        with _without_network():
            encoding = tiktoken.get_encoding(name)
    except _NotHere:
        raise UsageError(
            f"tiktoken's vocabulary {name} is not on this machine, and kvaudit downloads "
            "nothing; point TIKTOKEN_CACHE_DIR at a cache that holds it, or name the "
            f"vocabulary without tiktoken: if it is built in (--tokenizer {name})"
        ) from None
    tokenizer = TiktokenTokenizer(encoding, f"tiktoken {tiktoken.__version__}")
    check_known_ids(tokenizer)
    return tokenizer
