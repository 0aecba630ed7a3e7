"""One row a request: what became of it in the modelled cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import UsageError
from kvaudit.core.prompts import PromptBatch
from kvaudit.cost.savings import Costing
from kvaudit.replay.engine import CacheSettings, Engine, KeyChain
from kvaudit.replay.outcomes import CacheOutcome
from kvaudit.replay.prompt_stream import PromptStream


class RowWriter(Protocol):
    """Takes one row a request, a batch of columns at a time."""

    def write(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Append the rows whose columns these are."""


class RequestRows:
    """Turns the outcome of each batch into rows, with the engine's own block keys if asked."""

    def __init__(
        self,
        writer: RowWriter,
        engine: Engine,
        settings: CacheSettings,
        prompts: PromptStream,
        *,
        engine_keys: str | None,
        costing: Costing | None = None,
    ) -> None:
        """Take ``engine_keys``, how the engine's keys are computed; None leaves them out.

        Raises `UsageError` where the engine or the log has none.
        """
        self._writer = writer
        self._costing = costing
        self._block_size = settings.block_size
        self._own_keys = (
            None if engine_keys is None else _own_keys(engine, settings, prompts, engine_keys)
        )

    def add(
        self,
        batch: PromptBatch,
        outcome: CacheOutcome,
        ttft_s: NDArray[np.float64] | None = None,
    ) -> None:
        """Write one batch; ``ttft_s`` are its times to first token, where they are known."""
        columns: dict[str, Sequence[Any]] = {
            "id": [f.id for f in batch.requests],
            "admitted": outcome.admitted.tolist(),
            "prompt_tokens": batch.prompt_tokens.tolist(),
            "cached_tokens": outcome.cached_tokens.tolist(),
            "evicted_blocks": outcome.evicted_blocks.tolist(),
            "instance": [f.instance for f in batch.requests],
        }
        if outcome.routed is not None:
            columns["instance"] = outcome.routed.names
        if outcome.resumed_cached_tokens is not None:
            columns["resumed_cached_tokens"] = outcome.resumed_cached_tokens.tolist()
        if outcome.tier_tokens is not None:
            names = ("l1_tokens", "l2_tokens", "l3_tokens")
            columns |= dict(zip(names, outcome.tier_tokens.tolist(), strict=False))
        if self._costing is not None:
            columns |= _priced(self._costing, batch, outcome)
        if outcome.measured_ttft_s is not None:
            ttft_s = outcome.measured_ttft_s
        if ttft_s is not None:
            columns["ttft_s"] = [None if np.isnan(s) else s for s in ttft_s.tolist()]
        if self._own_keys is not None:
            columns["block_keys"] = self._keys_of(batch, self._own_keys)
        self._writer.write(columns)

    def _keys_of(self, batch: PromptBatch, chain: KeyChain) -> list[list[str]]:
        """Return the engine's own keys of each request's known blocks, in hexadecimal."""
        bounds = batch.offsets.tolist()
        return [
            [
                key.hex()
                for key in chain(
                    batch.units[bounds[i] : bounds[i + 1]].tolist(),
                    self._block_size,
                    facts.lora,
                    facts.salt,
                )
            ]
            for i, facts in enumerate(batch.requests)
        ]


def _priced(
    costing: Costing, batch: PromptBatch, outcome: CacheOutcome
) -> dict[str, Sequence[Any]]:
    """Return the columns of work."""
    hits = outcome.cached_tokens
    new = batch.prompt_tokens - hits
    flops = costing.work.prefill_flops_each(new, hits)
    without = costing.work.prefill_flops_each(batch.prompt_tokens, np.zeros_like(hits))
    return {"flops": flops.tolist(), "saved_flops": (without - flops).tolist()}


def _own_keys(
    engine: Engine, settings: CacheSettings, prompts: PromptStream, spec: str
) -> KeyChain:
    if engine.own_keys is None or settings.version is None:
        raise UsageError(f"--engine-keys: {engine.name} has no keys of its own; leave it out")
    if prompts.holds_blocks:
        raise UsageError("--engine-keys needs tokens, and the log holds block hashes only")
    return engine.own_keys(settings.version, spec)
