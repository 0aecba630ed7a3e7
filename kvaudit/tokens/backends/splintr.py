"""splintr-rs: the vocabularies inside its wheel, by name.

Ids of the byte-level vocabularies are exact (tests compare them with tiktoken). Those of the
SentencePiece ones are an estimate beside control tokens, where implementations differ about
the space they put before a text. splintr adds 54 control tokens of its own above each
vocabulary; they are matched in no text here, and only stand in for control tokens that a chat
template writes and the vocabulary lacks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvaudit.core import extras
from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.tokens.known_ids import check_known_ids
from kvaudit.tokens.tokenizer import ControlToken

# Models whose vocabulary splintr knows under another name only.
_ALIASES = {
    "gpt-3.5-turbo": "cl100k_base",
    "gpt-4": "cl100k_base",
    "gpt-4o": "o200k_base",
    "gpt-4.1": "o200k_base",
    "gpt-5": "o200k_base",
    "harmony": "gpt-oss",
    "llama-3": "llama3",
    "llama-3.1": "llama3",
    "llama-3.2": "llama3",
    "llama-3.3": "llama3",
    "qwen-2.5": "qwen2.5",
    "qwen-3": "qwen3",
    "deepseek": "deepseek_v3",
    "deepseek-r1": "deepseek_v3",
    "deepseek_r1": "deepseek_v3",
    "mistral-nemo": "mistral_v3",
    "mixtral": "mistral_v1",
    "gemma": "gemma3",
    "phi": "phi4",
    "olmo": "olmo2",
}
# Speech and embedding models: they wrap every text in tokens of their own and serve no chat.
_NOT_PROMPTS = ("whisper", "modernbert", "modern-bert")
# Vocabularies whose pre-tokenizer is cl100k's or o200k's or a variant of them.
_CUTS_AT_LINES = re.compile(
    r"cl100k_base|o200k_base|o200k_harmony|gpt[-_]oss|llama-?3|qwen|baichuan_m2|phi-?4|olmo-?2"
)
# Their tokenizer.json normalises text to NFC; splintr's copy of the vocabulary does not.
_NFC = ("qwen", "baichuan_m2")
# The tokens that Hugging Face's tokenizers of these families put before a raw prompt.
_BOS = ("<|begin_of_text|>", "<s>", "<bos>", "<｜begin▁of▁sentence｜>")


class SplintrTokenizer:
    """One vocabulary of splintr."""

    def __init__(self, name: str, package: Any) -> None:
        """Load the vocabulary ``name`` of splintr, the ``package``."""
        self._encoder = package.Tokenizer.from_pretrained(name)
        self.name = name
        self.source = f"splintr-rs {package.__version__}"
        self.exactness = "exact" if self._encoder.family == "BPE" else "estimate"
        self._special_ids: dict[str, int] = self._encoder.special_tokens()
        own = package.base_vocab_size(name)
        self.control_tokens: Mapping[str, ControlToken] = {
            text: self._control_token(text, id_)
            for text, id_ in sorted(self._special_ids.items())
            if id_ < own
        }
        self.bos_id = next(
            (self.control_tokens[bos].id for bos in _BOS if bos in self.control_tokens), None
        )
        self.cuts_at_lines = _CUTS_AT_LINES.match(name) is not None
        self._normalises = name.startswith(_NFC)
        # Longest first, though no such token is another's beginning today.
        spellings = sorted(self._special_ids, key=lambda text: (-len(text), text))
        self._find_special = re.compile("|".join(map(re.escape, spellings))).search

    def _control_token(self, text: str, id_: int) -> ControlToken:
        parse = self._encoder.encode_with_special
        return ControlToken(
            id_,
            strips_left=len(parse(f"a {text}")) < len(parse("a ")) + 1,
            strips_right=len(parse(f"{text} ")) == 1,
        )

    def encode_batch(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Token ids of each text, on all cores; any control token in it is ordinary text."""
        if self._normalises:
            texts = [unicodedata.normalize("NFC", text) for text in texts]
        # The parallel call knows no ordinary mode, so texts that spell a control token, which
        # are few, go one by one.
        literal = [i for i, text in enumerate(texts) if self._find_special(text)]
        ids, bounds = self._encoder.encode_batch_flat(list(texts))
        flat = np.frombuffer(ids, np.int32)
        ends = np.frombuffer(bounds, np.int64).tolist()
        encoded = [flat[a:b] for a, b in pairwise(ends)]
        for i in literal:
            encoded[i] = np.array(self._encoder.encode_ordinary(texts[i]), np.int32)
        return encoded

    def decode(self, ids: NDArray[np.int32]) -> str:
        """Return the text of ids; bytes that are half of a character are replaced."""
        text: str = self._encoder.decode_lossy(ids.tolist())
        return text

    def special_id(self, token: str) -> int | None:
        """Id of a control token of the vocabulary, or of splintr's own beside it."""
        return self._special_ids.get(token)


def vocabulary_names(package: Any) -> list[str]:
    """Names splintr answers to, without those of speech and embedding models."""
    try:
        package.Tokenizer.from_pretrained("")
    except ValueError as error:  # the only place where the package lists them
        names = str(error).partition("Supported: ")[2].split(", ")
        return [name for name in names if name and not name.startswith(_NOT_PROMPTS)]
    return []


def load(name: str) -> SplintrTokenizer:
    """Load the vocabulary ``name`` or the one a model of that name uses."""
    package = extras.load("splintr", extra="replay")
    wanted = _ALIASES.get(name.lower(), name.lower())
    known = vocabulary_names(package)
    if wanted not in known:
        near = did_you_mean(name, [*known, *_ALIASES]) or "."
        raise UsageError(
            f"tokenizer {name!r} is not known{near} Vocabularies: {', '.join(known)}. Beside "
            "them: bytes, tiktoken:NAME, hf:PATH, gigatoken:PATH"
        )
    tokenizer = SplintrTokenizer(wanted, package)
    check_known_ids(tokenizer)
    return tokenizer
