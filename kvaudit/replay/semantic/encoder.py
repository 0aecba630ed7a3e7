"""What an encoder is, how a policy's name finds one, and which languages it can read.

An encoder is one module in ``encoders``; its file name is what a policy's ``encoder`` takes. It
defines ``make()``, which returns an `Encoder` and is the only place that imports its packages.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import MissingExtra, UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.replay.semantic import encoders

MAX_UNKNOWN = 0.10
"""An encoder to which more of a language's pieces are unknown cannot read it."""
SAMPLE_TEXTS = 500
"""Texts a language that are looked at."""
CHOSEN = ("use", "hashing")
"""What ``auto`` takes: the first that is installed."""

Vectors = Any
"""Unit vectors, one row a text: a float32 array, or a scipy CSR matrix of the same."""


class Encoder(Protocol):
    """Texts to unit vectors; the same text gives the same vector in every run."""

    title: str
    """Name and version, for the report."""
    identity: str
    """Names all that a vector depends on: package, version, model, pooling."""
    cached: bool
    """Whether a vector takes longer to make than to keep."""
    remark: str | None
    """What a reader must know of its similarities, as a sentence; None for nothing."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the unit vectors of the texts, shape (texts, dimensions)."""

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        """Return the share of pieces that the vocabulary lacks; None where it lacks nothing."""


class Found(NamedTuple):
    """An encoder, and whether the policy named it or kvaudit chose it."""

    encoder: Encoder
    named: bool


def encoder_names() -> list[str]:
    """Return the encoders that a policy may name, beside a folder and a column."""
    return sorted(m.name for m in iter_modules(encoders.__path__) if m.name != "folder")


def find_encoder(name: str) -> Found:
    """Return the encoder of that name or folder.

    Raises `UsageError` for a name that is not known, `MissingExtra` where it is not installed.
    """
    if name == "auto":
        for candidate in CHOSEN:
            try:
                return Found(_make(candidate), named=False)
            except MissingExtra:
                if candidate == CHOSEN[-1]:
                    raise
    if name in encoder_names():
        return Found(_make(name), named=True)
    if Path(name).is_dir():
        module = import_module(f"{encoders.__name__}.folder")
        encoder: Encoder = module.make(Path(name))
        return Found(encoder, named=True)
    raise UsageError(
        f'encoder = "{name}" is neither an encoder nor a folder'
        f"{did_you_mean(name, [*encoder_names(), 'auto'])}; column:NAME takes vectors from the log"
    )


def _make(name: str) -> Encoder:
    encoder: Encoder = import_module(f"{encoders.__name__}.{name}").make()
    return encoder


class Uncovered(NamedTuple):
    """A language that an encoder cannot read."""

    language: str
    texts: int
    """Of all texts."""
    unknown_share: float


def uncovered(encoder: Encoder, texts: Sequence[str]) -> list[Uncovered]:
    """Return the languages of the texts that the encoder cannot read, the most frequent first."""
    by_language: dict[str, list[str]] = {}
    for text in texts:
        by_language.setdefault(language_of(text), []).append(text)
    found = []
    for language, own in sorted(by_language.items(), key=lambda item: (-len(item[1]), item[0])):
        step = -(-len(own) // SAMPLE_TEXTS)
        share = encoder.unknown_share(own[::step])
        if share is not None and share > MAX_UNKNOWN:
            found.append(Uncovered(language, len(own), share))
    return found


_SCRIPTS = {
    "CJK": "Chinese",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "HANGUL": "Korean",
    "LATIN": "Latin script",
}


def language_of(text: str) -> str:
    """Return the language, or the script, that most of a text's letters belong to.

    Han with any kana is Japanese; a text without letters counts as Latin script.
    """
    if text.isascii():
        return "Latin script"
    counts: Counter[str] = Counter()
    for character in text:
        if character.isascii():
            counts["LATIN"] += character.isalpha()
        elif character.isalpha():
            counts[unicodedata.name(character, "OTHER").split()[0]] += 1
    # One Han character carries about as much as three letters do.
    counts["CJK"] *= 3
    if counts["CJK"] and counts["HIRAGANA"] + counts["KATAKANA"]:
        return "Japanese"
    script, count = max(counts.items(), key=lambda item: (item[1], item[0]), default=("LATIN", 0))
    return _SCRIPTS.get(script, f"{script.capitalize()} script") if count else "Latin script"


def row_product(vectors: Vectors, one: int, other: int) -> float:
    """Return the inner product of two rows."""
    product = vectors[one : one + 1] @ vectors[other : other + 1].T
    dense = product if isinstance(product, np.ndarray) else product.toarray()
    return float(dense[0, 0])


def normalised(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return unit vectors; a vector of zeros stays one, and is near nothing."""
    vectors = np.ascontiguousarray(vectors, np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    lengths[lengths == 0] = 1
    unit: NDArray[np.float32] = vectors / lengths
    return unit
