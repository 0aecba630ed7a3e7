"""Runs a model over the tokens after a past, in chunks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kvaudit.replay.device.kv import past_of, run_of
from kvaudit.replay.device.runnable import Runnable


@dataclass(frozen=True, slots=True)
class Prefilled:
    """What running a model over some tokens gave."""

    logits: torch.Tensor
    """Of the last token, float32, shape (vocabulary,)."""
    cache: Any
    """The past and the tokens, as transformers keeps it."""

    def run(self, start: int, end: int) -> torch.Tensor:
        """Return a copy of the KV of tokens ``start`` to ``end``, the past counted."""
        return run_of(self.cache, start, end)


class Prefill:
    """A model that computes no more than ``chunk_tokens`` at once, as an engine's step does."""

    def __init__(self, model: Runnable, chunk_tokens: int) -> None:
        """Take the model and the most tokens of a step."""
        self.model = model
        self.chunk_tokens = chunk_tokens

    def chunks(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the pieces in which tokens ``start`` to ``end`` are computed."""
        for at in range(start, end, self.chunk_tokens):
            yield at, min(at + self.chunk_tokens, end)

    def __call__(self, past: torch.Tensor, tokens: Sequence[int]) -> Prefilled:
        """Compute at least one token after the KV of ``past``, chunk by chunk."""
        return self.after(past_of(past, self.model.module.config), tokens)

    @torch.no_grad()
    def after(self, cache: Any, tokens: Sequence[int]) -> Prefilled:
        """Compute at least one token after what ``cache`` holds, to which they are added."""
        model = self.model
        ids = torch.tensor([list(tokens)], dtype=torch.long, device=model.device)
        ids %= model.vocabulary
        logits = torch.empty(0)
        with model.kernels(), warnings.catch_warnings():
            # transformers 5.20 and later rename an argument whose old name all of 5 take.
            warnings.simplefilter("ignore", FutureWarning)
            for start, end in self.chunks(0, len(tokens)):
                answer = model.module(
                    input_ids=ids[:, start:end],
                    past_key_values=cache,
                    use_cache=True,
                    logits_to_keep=1,
                )
                logits = answer.logits[0, -1]
        return Prefilled(logits.float(), cache)

    def nothing(self) -> torch.Tensor:
        """Return the KV of no token."""
        kv = self.model.kv
        return torch.empty(kv.block(0), dtype=kv.dtype, device=self.model.device)
