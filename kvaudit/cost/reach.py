"""Which earlier tokens a layer attends to, and how many pairs of tokens that makes.

Token ``n`` (from 0) attends to itself and to tokens before it. Over a prompt's first ``n``
tokens that is a sum with a closed form, so what the tokens after a reused prefix need is the
difference of two such sums. All functions take whole numbers or integer arrays alike; an array
of 64 bits holds the pairs of any prompt below three thousand million tokens.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Tokens = TypeVar("Tokens", int, NDArray[np.int64])


class ReachKind(StrEnum):
    """How a layer chooses what a token attends to."""

    FULL = "full"
    """Every token up to itself."""
    WINDOW = "window"
    """The last tokens only, itself among them."""
    CHUNK = "chunk"
    """The tokens of its own chunk, up to itself (Llama 4)."""
    TOP = "top"
    """As many tokens as an index picks (DeepSeek sparse attention)."""


class Reach(NamedTuple):
    """Which earlier tokens a layer attends to."""

    kind: ReachKind
    tokens: int = 0
    """Of the window, the chunk or the choice; 0 for full attention."""

    def pairs(self, new: Tokens, reused: Tokens) -> Tokens:
        """Return the (query, key) pairs of ``new`` tokens after ``reused`` ones, causally."""
        return self._up_to(reused + new) - self._up_to(reused)

    def square(self, new: Tokens, reused: Tokens) -> Tokens:
        """Return the pairs of the rectangle that an unfused kernel computes and then masks.

        This is what a FLOP counter sees. A window's cache holds the last ``tokens`` - 1 keys
        beside the new ones (transformers 5, ``DynamicSlidingWindowLayer``).
        """
        if self.kind in (ReachKind.FULL, ReachKind.TOP):
            return new * (reused + new)
        return new * (_least(reused, self.tokens - 1) + new)

    def _up_to(self, n: Tokens) -> Tokens:
        """Return the pairs of a prompt's first ``n`` tokens."""
        if self.kind is ReachKind.FULL:
            return n * (n + 1) // 2
        if self.kind is ReachKind.CHUNK:
            rest = n % self.tokens
            whole = n // self.tokens * (self.tokens * (self.tokens + 1) // 2)
            return whole + rest * (rest + 1) // 2
        growing = _least(n, self.tokens)
        return growing * (growing + 1) // 2 + (n - growing) * self.tokens


FULL = Reach(ReachKind.FULL)


def _least(n: Tokens, most: int) -> Tokens:
    return min(n, most) if isinstance(n, int) else np.minimum(n, most)
