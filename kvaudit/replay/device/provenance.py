"""How every block of KV came to be, so that it can be computed again in the same pieces.

Floating-point KV depends on how many tokens a model computes at once: the same text in other
pieces differs in its last bits. So reused KV can be held against a recompute bit for bit only if
that computes each piece as it was computed, after the same KV. A `Piece` remembers one such run of
the model; blocks name the piece they were cut from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from kvaudit.replay.device.prefill import Prefill


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Tokens that the model computed at once, and the KV it looked back at."""

    past: Sequence[Span]
    """What stood before it, in order."""
    start: int
    tokens: NDArray[np.int32]

    @property
    def end(self) -> int:
        """Where it ends, in tokens of its prompt."""
        return self.start + len(self.tokens)


class Span(NamedTuple):
    """A part of a piece's tokens, by their places in the prompt."""

    piece: Piece
    start: int
    end: int


def joined_spans(spans: Sequence[Span]) -> list[Span]:
    """Join neighbours of one piece."""
    runs = (list(run) for _, run in groupby(spans, key=lambda span: id(span.piece)))
    return [Span(run[0].piece, run[0].start, run[-1].end) for run in runs]


class Recompute:
    """Computes pieces again, each once; holds their KV until it is let go."""

    def __init__(self, prefill: Prefill) -> None:
        """Take what runs the model."""
        self._prefill = prefill
        self._runs: dict[int, torch.Tensor] = {}

    def past(self, spans: Sequence[Span]) -> torch.Tensor:
        """Return the KV of spans that follow each other, as one run."""
        for piece in _needed(spans):
            if id(piece) not in self._runs:
                before = self._joined(piece.past)
                done = self._prefill(before, piece.tokens.tolist())
                self._runs[id(piece)] = done.run(piece.start, piece.end)
        return self._joined(spans)

    def _joined(self, spans: Sequence[Span]) -> torch.Tensor:
        parts = [
            self._runs[id(piece)][:, :, :, start - piece.start : end - piece.start]
            for piece, start, end in spans
        ]
        return torch.cat(parts, 3) if parts else self._prefill.nothing()


def _needed(spans: Sequence[Span]) -> Iterator[Piece]:
    """Yield the pieces behind some spans, each after those it looked back at."""
    done: set[int] = set()
    waiting = [span.piece for span in reversed(spans)]
    while waiting:
        piece = waiting[-1]
        before = [span.piece for span in piece.past if id(span.piece) not in done]
        if id(piece) in done or not before:
            waiting.pop()
            if id(piece) not in done:
                done.add(id(piece))
                yield piece
        else:
            waiting += before
