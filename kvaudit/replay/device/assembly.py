"""Puts a model, its real tiers and the simulated cache together."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from kvaudit.core.errors import UsageError
from kvaudit.replay.device.cache import DeviceCache
from kvaudit.replay.device.executor import Executor
from kvaudit.replay.device.files import FileTier
from kvaudit.replay.device.plan import DevicePlan, ExecutionPlan
from kvaudit.replay.device.prefill import Prefill
from kvaudit.replay.device.room import is_out_of_memory, room_blocks
from kvaudit.replay.device.runnable import Runnable, load_runnable
from kvaudit.replay.device.tiers import KvPlace, Pool
from kvaudit.replay.engine import CacheSettings
from kvaudit.replay.outcomes import CacheModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """A loaded model and its pool, before a cache is simulated for it."""

    model: Runnable
    plan: ExecutionPlan
    pool: Pool
    shrunk_from_blocks: int | None
    """What was asked for, where the device had no room for it."""
    block: int

    @property
    def capacity_blocks(self) -> int | None:
        """Blocks of the pool; None where it grows."""
        return self.pool.capacity_blocks

    def cache(
        self,
        simulated: CacheModel,
        *,
        names: Sequence[str],
        lower_blocks: Sequence[int | None],
        whole_prompt: bool,
    ) -> DeviceCache:
        """Return the cache that runs; ``lower_blocks`` are the sizes of the tiers below."""
        places: list[KvPlace] = [self.pool]
        for number, (name, blocks) in enumerate(zip(names[1:], lower_blocks, strict=False)):
            places.append(self._lower(number, name, blocks))
        return DeviceCache(
            simulated,
            Executor(Prefill(self.model, self.plan.chunk_tokens), places, self.block),
            block=self.block,
            whole_prompt=whole_prompt,
            checks=self.plan.checks,
            time_limit_s=self.plan.time_limit_s,
        )

    def _lower(self, number: int, name: str, blocks: int | None) -> KvPlace:
        model = self.model
        if number == 0:
            try:
                return Pool(
                    name,
                    model.kv,
                    block=self.block,
                    capacity_blocks=blocks,
                    device=model.device,
                    on_host=True,
                )
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                raise UsageError(
                    f"--l2: the host has no room for {blocks or 0:,} blocks of KV; name a smaller "
                    "size"
                ) from error
        folder = self.plan.kv_folder or Path(tempfile.mkdtemp(prefix="kvaudit-kv-"))
        return FileTier(
            name,
            folder,
            model.kv,
            block=self.block,
            identity=model.identity,
            device=model.device,
            temporary=self.plan.kv_folder is None,
        )


def assemble(device_plan: DevicePlan, settings: CacheSettings) -> Assembly:
    """Load the model and make room for its KV, as much as is asked for or as there is.

    Raises `UsageError` where not even the model, or a block, fits.
    """
    plan, device = device_plan.execution, torch.device(device_plan.device)
    assert plan is not None
    try:
        model = load_runnable(plan.model, plan.config, device=device, dtype=plan.dtype)
    except torch.OutOfMemoryError as error:
        raise UsageError(
            f"--model {plan.model} does not fit on the device: {str(error).split('. ')[0]}; name a "
            "smaller one, or --dtype bf16"
        ) from error
    asked = blocks = settings.capacity_blocks
    block = settings.block_size
    most = room_blocks(model.kv.token_bytes * block, device)
    if blocks is not None and most is not None:
        blocks = min(blocks, max(1, most))
    while True:
        try:
            pool = Pool("hbm", model.kv, block=block, capacity_blocks=blocks, device=device)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            if blocks is None or blocks < 2:
                raise UsageError(
                    f"--model {plan.model}: the device has no room for its KV; name a smaller one"
                ) from error
            blocks //= 2
            continue
        shrunk = None if blocks == asked else asked
        return Assembly(model=model, plan=plan, pool=pool, shrunk_from_blocks=shrunk, block=block)
