"""The part about work on a device: blocks hashed there, and requests run there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.device import DeviceSummary, Execution, MatchCheck
from kvaudit.core.savings import Savings, TtftSavings
from kvaudit.replay.blocks import known_blocks
from kvaudit.replay.outcomes import CacheModel
from kvaudit.replay.parts.part import Ledgers, Part, Served
from kvaudit.replay.result import ReplayResult
from kvaudit.replay.setup import Setup

if TYPE_CHECKING:
    import torch

    from kvaudit.replay.device.cache import DeviceCache


def device_part(setup: Setup, cache: CacheModel) -> DevicePart | None:
    """Return the part; None where nothing is done on a device."""
    return None if setup.plan.device is None else DevicePart(setup, cache)


class DevicePart(Part):
    """Hashes every batch on the device, and sums up what was run there."""

    def __init__(self, setup: Setup, cache: CacheModel) -> None:
        """Take the cache of the pass, which may run what it simulates."""
        import torch

        from kvaudit.replay.device.cache import DeviceCache

        assert setup.plan.device is not None
        self._setup = setup
        self._device = torch.device(setup.plan.device.device)
        self._run = cache if isinstance(cache, DeviceCache) else None
        self._keys: list[torch.Tensor] = []
        self._owners: list[torch.Tensor] = []
        self._known_blocks: list[NDArray[np.int64]] = []
        self._requests = 0

    def feed(self, served: Served) -> None:
        """Hash the next batch, and note how many of its blocks the host found to be known."""
        import torch

        from kvaudit.replay.device.hashing import block_keys

        batch, blocks = served.batch, served.keys
        arrays = (batch.units, batch.offsets, batch.namespaces)
        # Copied: torch takes no array that must not be written to, as those of Arrow are.
        units, offsets, namespaces = (torch.tensor(a, device=self._device) for a in arrays)
        found = block_keys(units, offsets, namespaces, blocks.block_units)
        self._keys.append(found.keys)
        self._owners.append(found.requests + self._requests)
        self._known_blocks.append(known_blocks(blocks))
        self._requests += len(batch.requests)

    def add_to(self, result: ReplayResult, ledgers: Ledgers) -> ReplayResult:
        """Return the result with what was done on the device."""
        from kvaudit.replay.device.choice import device_facts

        run, match = self._run, self._match()
        if run is None:
            facts = device_facts(self._device)
            return replace(result, device=DeviceSummary(facts=facts, match=match, execution=None))
        model = run.executor.prefill.model
        facts = device_facts(self._device, dtype=model.dtype_name, attention=model.attention)
        execution = self._execution(run, ledgers)
        return replace(
            result,
            device=DeviceSummary(facts=facts, match=match, execution=execution),
            savings=_with_measured(result.savings, execution, facts.name),
        )

    def _match(self) -> MatchCheck:
        """Match all blocks on the device, and compare with the host."""
        import torch

        from kvaudit.replay.device.hashing import BlockKeys, leading_matches

        keys = BlockKeys(torch.cat(self._keys), torch.cat(self._owners))
        matched = leading_matches(keys, self._requests).cpu().numpy()
        return MatchCheck(
            blocks=len(keys.keys),
            matched_blocks=int(matched.sum()),
            requests=self._requests,
            differing_requests=int((matched != np.concatenate(self._known_blocks)).sum()),
        )

    def _execution(self, run: DeviceCache, ledgers: Ledgers) -> Execution:
        from kvaudit.replay.device.summary import summarize_run

        assert self._setup.device is not None
        costing = self._setup.plan.costing
        return summarize_run(
            run,
            self._setup.device,
            prompt_tokens=ledgers.prompt_tokens,
            hit_tokens=ledgers.served.hit_tokens.values(),
            costing=costing,
            first=ledgers.counted.start or 0,
        )


def _with_measured(savings: Savings | None, execution: Execution, name: str) -> Savings | None:
    """Return the savings with times that were measured, where some were."""
    ttft = execution.ttft_s
    if savings is None or ttft is None:
        return savings
    measured = TtftSavings(
        off=ttft.off,
        on=ttft.on,
        basis="measured",
        definition=f"seconds from the first copy of KV to the last logits, on {name}, of "
        f"{ttft.requests:,} requests that were run with and without reuse, one at a time",
        measured=savings.ttft_s.measured if savings.ttft_s is not None else None,
        fit=None,
    )
    return replace(savings, ttft_s=measured)
