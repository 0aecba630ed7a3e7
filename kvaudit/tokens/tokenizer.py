"""What a tokenizer must do, and which one a name means.

A name is looked up among the vocabularies inside splintr's wheel, which need no network.
``tiktoken:NAME`` uses a vocabulary that tiktoken already has on this machine, ``hf:PATH`` and
``gigatoken:PATH`` a ``tokenizer.json`` or the model folder that holds it, and ``bytes`` counts
four bytes of UTF-8 as a token. Nothing here opens a connection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast, runtime_checkable

from kvaudit.core.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ControlToken(NamedTuple):
    """A token whose spelling is matched in text before anything else is tokenized."""

    id: int
    strips_left: bool = False
    """White space before it belongs to it, as in Phi-4's vocabulary."""
    strips_right: bool = False


class Tokenizer(Protocol):
    """A vocabulary and its way of cutting text.

    ``exactness`` is "exact" where the ids are those of the engine's own tokenizer, else
    "estimate". ``bos_id`` is the token an engine puts before a raw prompt, or None.
    ``cuts_at_lines`` says that no token reaches from a newline into a following ASCII letter
    or digit, so that long texts may be cut there (see `kvaudit.tokens.cuts`).
    """

    name: str
    exactness: str
    source: str
    """Package and version, or the file."""
    bos_id: int | None
    control_tokens: Mapping[str, ControlToken]
    """The control tokens of the vocabulary itself."""
    cuts_at_lines: bool

    def encode_batch(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Token ids of each text.

        The texts spell none of ``control_tokens``; see `kvaudit.tokens.control`.
        """
        ...

    def special_id(self, token: str) -> int | None:
        """Id of a control token, also of one that the vocabulary only reserves."""
        ...


@runtime_checkable
class Decodes(Protocol):
    """A tokenizer that turns ids back into text, as most do."""

    def decode(self, ids: NDArray[np.int32]) -> str:
        """Return the text of ids, control tokens spelled."""
        ...


# Prefix of a specification -> module with `load(argument) -> Tokenizer`.
_BACKENDS = {
    "splintr": "kvaudit.tokens.backends.splintr",
    "tiktoken": "kvaudit.tokens.backends.tiktoken",
    "hf": "kvaudit.tokens.backends.huggingface",
    "gigatoken": "kvaudit.tokens.backends.gigatoken",
}
DEFAULT_TOKENIZER = "o200k_base"


def load_tokenizer(spec: str) -> Tokenizer:
    """Load the tokenizer that ``spec`` names, checked against known ids where there are any.

    Raises `UsageError` for a name or file that cannot be used, `MissingExtra` where the
    package is not installed.
    """
    if spec == "bytes":
        return cast(Tokenizer, import_module("kvaudit.tokens.backends.utf8").load())
    prefix, separator, argument = spec.partition(":")
    if not separator:
        prefix, argument = "splintr", spec
    if prefix not in _BACKENDS:
        raise UsageError(
            f"tokenizer {spec!r}: {prefix!r} is not a kind of tokenizer; "
            f"use a vocabulary's name, bytes, or one of {', '.join(f'{p}:' for p in _BACKENDS)}"
        )
    return cast(Tokenizer, import_module(_BACKENDS[prefix]).load(argument))


def describe(tokenizer: Tokenizer) -> str:
    """Vocabulary and how exact its ids are, for a report: ``o200k_base (exact)``."""
    return f"{tokenizer.name} ({tokenizer.exactness})"
