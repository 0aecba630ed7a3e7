"""Places for real KV blocks: the device's pool, the host's memory, and files.

A place holds blocks under digests of all text up to their end. It is told what to hold and what to
drop, and never decides that itself: the simulated cache does.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

import torch

from kvaudit.core.device import CopyTotals
from kvaudit.replay.device.kv import KvShape
from kvaudit.replay.device.stopwatch import Stopwatch

FIRST_BLOCKS = 256
"""Of a pool without a bound; it doubles when it is full."""


class KvPlace(Protocol):
    """One tier's real blocks."""

    name: str

    def holds(self, digest: bytes) -> bool:
        """Whether the block is here."""
        ...

    def read(self, digests: Sequence[bytes]) -> torch.Tensor:
        """Return the blocks on the device; shape (blocks, layers, 2, heads, block, head_dim).

        Fewer come where one is damaged: those before it.
        """
        ...

    def write(self, digests: Sequence[bytes], blocks: torch.Tensor) -> None:
        """Hold these blocks, which are on the device and not here yet."""
        ...

    def keep(self, digests: Collection[bytes]) -> None:
        """Hold no other blocks than these any longer."""
        ...

    def totals(self) -> CopyTotals:
        """Return what was copied so far."""
        ...


class Copies:
    """Adds up the bytes and seconds of copies out of a place and into it."""

    def __init__(self, device: torch.device) -> None:
        """Start at zero."""
        self._device = device
        self.read_bytes = self.written_bytes = 0
        self.read_s = self.written_s = 0.0

    def watch(self) -> Stopwatch:
        """Start timing a copy."""
        return Stopwatch(self._device)

    def add_read(self, blocks: torch.Tensor, seconds: float) -> None:
        """Count one reading."""
        self.read_bytes += blocks.nbytes
        self.read_s += seconds

    def add_written(self, blocks: torch.Tensor, seconds: float) -> None:
        """Count one writing."""
        self.written_bytes += blocks.nbytes
        self.written_s += seconds

    def totals(self, name: str) -> CopyTotals:
        """Return the sums."""
        return CopyTotals(
            tier=name,
            read_bytes=self.read_bytes,
            read_s=self.read_s,
            written_bytes=self.written_bytes,
            written_s=self.written_s,
        )


class Pool:
    """Blocks in slots of one large tensor: on the device, or in the host's memory.

    The host's is pinned where the device is CUDA, and copied on a stream of its own, so that
    copies do not queue behind computing.
    """

    def __init__(
        self,
        name: str,
        kv: KvShape,
        *,
        block: int,
        capacity_blocks: int | None,
        device: torch.device,
        on_host: bool = False,
    ) -> None:
        """Take room for ``capacity_blocks``; without a bound it grows.

        Raises `torch.OutOfMemoryError` where there is no room.
        """
        self.name = name
        self.capacity_blocks = capacity_blocks
        self._shape, self._dtype = kv.block(block), kv.dtype
        self._device = device
        self._pinned = on_host and device.type == "cuda"
        self._home = torch.device("cpu") if on_host else device
        make_stream: Any = torch.cuda.Stream
        self._stream = make_stream(device) if self._pinned else None
        self._slots: dict[bytes, int] = {}
        self._blocks = self._room(FIRST_BLOCKS if capacity_blocks is None else capacity_blocks)
        self._free = list(range(len(self._blocks) - 1, -1, -1))
        self._copies = Copies(device)

    @property
    def used_blocks(self) -> int:
        """Slots that are taken."""
        return len(self._blocks) - len(self._free)

    @property
    def block_bytes(self) -> int:
        """Bytes of a slot."""
        return self._blocks[0].nbytes

    def holds(self, digest: bytes) -> bool:
        """Whether the block is here."""
        return digest in self._slots

    def read(self, digests: Sequence[bytes]) -> torch.Tensor:
        """Return the blocks on the device."""
        watch = self._copies.watch()
        slots = torch.tensor([self._slots[d] for d in digests], dtype=torch.long, device=self._home)
        found = self._moved(self._blocks[slots], self._device)
        self._copies.add_read(found, watch.stop())
        return found

    def write(self, digests: Sequence[bytes], blocks: torch.Tensor) -> None:
        """Hold these blocks."""
        watch = self._copies.watch()
        while len(self._free) < len(digests):
            self._grow()
        slots = [self._free.pop() for _ in digests]
        self._slots.update(zip(digests, slots, strict=True))
        at = torch.tensor(slots, dtype=torch.long, device=self._home)
        self._blocks[at] = self._moved(blocks, self._home)
        self._copies.add_written(blocks, watch.stop())

    def keep(self, digests: Collection[bytes]) -> None:
        """Give the slots of all others back."""
        gone = [digest for digest in self._slots if digest not in digests]
        self._free += [self._slots.pop(digest) for digest in gone]

    def totals(self) -> CopyTotals:
        """Return what was copied so far."""
        return self._copies.totals(self.name)

    def _room(self, blocks: int) -> torch.Tensor:
        return torch.empty(
            (blocks, *self._shape), dtype=self._dtype, device=self._home, pin_memory=self._pinned
        )

    def _grow(self) -> None:
        if self.capacity_blocks is not None:
            raise RuntimeError(
                f"the simulated cache holds more than the {self.capacity_blocks} blocks of the pool"
            )
        old = self._blocks
        self._blocks = self._room(2 * len(old))
        self._blocks[: len(old)] = old
        self._free += range(2 * len(old) - 1, len(old) - 1, -1)

    def _moved(self, blocks: torch.Tensor, target: torch.device) -> torch.Tensor:
        """Return the blocks on ``target``; over the link, on a stream of its own."""
        if self._stream is None or blocks.device == target:
            return blocks.to(target)
        current = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(current)
        source = blocks.pin_memory() if target == self._device else blocks
        with torch.cuda.stream(self._stream):
            moved = source.to(target, non_blocking=True)
        if target == self._device:
            current.wait_stream(self._stream)
            moved.record_stream(current)
        else:
            self._stream.synchronize()
        return moved
