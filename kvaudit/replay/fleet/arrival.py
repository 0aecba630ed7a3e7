"""A request as a router sees it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kvaudit.core.prompts import PromptBatch, RequestFacts
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.fleet.timeline import Span, Timeline

ROUTER_BLOCK_TOKENS = 16
"""Routers look at blocks of so many tokens where the replayed ones are smaller."""
HEAD_TOKENS = 256
"""How much of a prompt is hashed by routers that go by its beginning."""


@dataclass(slots=True, eq=False)
class Arrival:
    """One request; ``keys`` are those of its prompt's full blocks of the router's size."""

    facts: RequestFacts
    keys: list[int]
    blocks: int
    """Blocks of the prompt, a partial last one counted."""
    head: bytes
    """The namespace and the first tokens of the prompt."""
    prompt_tokens: int
    output_tokens: int
    span: Span


class Arrivals:
    """Turns batches into arrivals."""

    def __init__(self, *, block_units: int, block_tokens: int, replicas: int) -> None:
        """Take the interner's blocks, in units and in tokens."""
        self.stride = max(1, ROUTER_BLOCK_TOKENS // block_tokens)
        self.block_tokens = self.stride * block_tokens
        self._block_units = block_units
        self._head_units = max(1, HEAD_TOKENS * block_units // block_tokens)
        self.timeline = Timeline(replicas)

    def of(self, prompts: PromptBatch, blocks: BlockBatch) -> Iterator[Arrival]:
        """Yield the batch's requests."""
        starts = blocks.key_offsets.tolist()
        full = (prompts.prompt_units // self._block_units).tolist()
        units = prompts.offsets.tolist()
        known = prompts.prompt_units.tolist()
        outputs = prompts.output_tokens.tolist()
        namespaces = prompts.namespaces.tolist()
        for i, tokens in enumerate(prompts.prompt_tokens.tolist()):
            # The key of the last block of a run stands for all of it, and for all before.
            run = slice(starts[i] + self.stride - 1, starts[i] + full[i], self.stride)
            head = prompts.units[units[i] : units[i] + min(known[i], self._head_units)]
            yield Arrival(
                facts=prompts.requests[i],
                keys=blocks.keys[run].tolist(),
                blocks=-(-tokens // self.block_tokens),
                head=namespaces[i].to_bytes(4, "little") + head.tobytes(),
                prompt_tokens=tokens,
                output_tokens=outputs[i],
                span=self.timeline.span(prompts.requests[i], tokens, outputs[i]),
            )
