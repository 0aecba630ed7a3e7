"""tiktoken over the rank files that bpe-openai brings: the reference, without a network."""

from __future__ import annotations

import base64
import gzip
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import tiktoken
from tiktoken_ext import openai_public

BOUNDARIES = (
    *("a", "Z", "é", "中", "你好", "1", "22", "4567", " ", "  ", "\t", "\n", "\n\n", "\r\n", "\r"),
    *("\u00a0", "\u2028", "\x85", "\u200d", "\u0301", "e\u0301", "\U0001f469\u200d\U0001f4bb"),
    *(".", "!!", "'s", "'LL", "'", "/", "_", "-", "camelCase", "HTTPServer", "\nB", "\n7", "\n/"),
    *("<|im_end|>", "<|endoftext|>", "<|", "|>", "<|think|>", "\u0938\u094d\u0924\u0947", "ﬁ"),
)
"""What pre-tokenizers treat apart, control tokens as text included."""


@cache
def reference(name: str, special_tokens: tuple[tuple[str, int], ...] = ()) -> tiktoken.Encoding:
    """tiktoken's own definition of ``name``, with local ranks; other control tokens if given."""
    download = openai_public.load_tiktoken_bpe
    openai_public.load_tiktoken_bpe = _local_ranks
    try:
        definition = getattr(openai_public, name)()
    finally:
        openai_public.load_tiktoken_bpe = download
    if special_tokens:
        definition["special_tokens"] = dict(special_tokens)
    return tiktoken.Encoding(**definition)


@cache
def _local_ranks(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
    # Not imported: the package warns about a deprecated call of its own, and warnings are errors.
    package = find_spec("bpe_openai")
    assert package is not None
    assert package.origin is not None
    file = Path(package.origin).parent / "data" / f"{url.rpartition('/')[2]}.gz"
    rows = (line.split() for line in gzip.decompress(file.read_bytes()).splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in rows}
