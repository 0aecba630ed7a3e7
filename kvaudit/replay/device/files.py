"""The third tier: a folder with one safetensors file a block, which outlives the process.

A file carries a checksum of its numbers and of which block it is; each model has a folder of its
own. A file that is cut off, changed or under another's name is never used; it is removed and
counted. Which block is the oldest is told by the files' own times.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import weakref
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError

from kvaudit.core.device import CopyTotals
from kvaudit.core.errors import InputError
from kvaudit.replay.device.kv import KvShape
from kvaudit.replay.device.tiers import Copies

_SUFFIX = ".safetensors"
_NEW = ".new"
"""Of a file that is being written."""
_TICK_NS = 1_000_000
"""Between the ages of two blocks; coarser than what file systems keep."""


class FileTier:
    """Blocks of one model in a folder; what stands there at the start is held."""

    def __init__(
        self,
        name: str,
        folder: Path,
        kv: KvShape,
        *,
        block: int,
        identity: str,
        device: torch.device,
        temporary: bool = False,
    ) -> None:
        """Open or make the folder of this model. Raises `InputError` where that fails.

        A ``temporary`` folder is removed when this object is.
        """
        if temporary:
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.name = name
        # Blocks of another model, type or size never mix with these.
        part = hashlib.sha256(f"{identity} {block}".encode()).hexdigest()[:16]
        self._folder = folder / part
        self._shape, self._dtype = kv.block(block), kv.dtype
        self._device = device
        self._copies = Copies(device)
        self.damaged_blocks = 0
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            found = [(p.stat().st_mtime_ns, p.stem) for p in self._folder.glob(f"*{_SUFFIX}")]
            for unfinished in self._folder.glob(f"*{_NEW}"):
                unfinished.unlink()
        except OSError as error:
            raise InputError(f"{folder}: {error.strerror or error}; name another folder") from error
        self.found_at_start = [bytes.fromhex(stem) for _, stem in sorted(found) if _is_digest(stem)]
        """Blocks of an earlier run, the oldest first."""
        self._held = set(self.found_at_start)

    def holds(self, digest: bytes) -> bool:
        """Whether there is a file of the block."""
        return digest in self._held

    def read(self, digests: Sequence[bytes]) -> torch.Tensor:
        """Return the blocks on the device; those before the first that is damaged."""
        watch = self._copies.watch()
        found = []
        for digest in digests:
            block = self._load(digest)
            if block is None:
                self.damaged_blocks += 1
                self._drop(digest)
                break
            found.append(block)
        if not found:
            return torch.empty((0, *self._shape), dtype=self._dtype, device=self._device)
        blocks = torch.stack(found).to(self._device)
        self._copies.add_read(blocks, watch.stop())
        return blocks

    def write(self, digests: Sequence[bytes], blocks: torch.Tensor) -> None:
        """Write a file a block; a process that dies leaves whole files only."""
        watch = self._copies.watch()
        for digest, block in zip(digests, blocks.cpu(), strict=True):
            block = block.contiguous()
            data = safetensors.torch.save({"kv": block}, {"sha256": _checksum(digest, block)})
            path = self._path(digest)
            new = path.with_suffix(_NEW)
            try:
                new.write_bytes(data)
                os.replace(new, path)
            except OSError as error:
                with suppress(OSError):
                    new.unlink(missing_ok=True)
                raise InputError(
                    f"{path.parent}: {error.strerror or error}; make room, or a smaller --l3"
                ) from error
            self._held.add(digest)
        self._copies.add_written(blocks, watch.stop())

    def keep(self, digests: Collection[bytes]) -> None:
        """Remove the files of all others."""
        for digest in [digest for digest in self._held if digest not in digests]:
            self._drop(digest)

    def _drop(self, digest: bytes) -> None:
        self._held.discard(digest)
        path = self._path(digest)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f"{path}: cannot be removed: {error.strerror or error}; name another --kv-dir"
            ) from error

    def set_ages(self, digests: Sequence[bytes]) -> None:
        """Let the files' times tell the next run which is the oldest: the first of these."""
        newest_ns = time.time_ns()
        for number, digest in enumerate(reversed(digests)):
            at_ns = newest_ns - number * _TICK_NS
            with suppress(OSError):  # another run may have taken the file away
                os.utime(self._path(digest), ns=(at_ns, at_ns))

    def totals(self) -> CopyTotals:
        """Return what was copied so far."""
        return self._copies.totals(self.name)

    def _path(self, digest: bytes) -> Path:
        return self._folder / f"{digest.hex()}{_SUFFIX}"

    def _load(self, digest: bytes) -> torch.Tensor | None:
        """Return the block in the host's memory, or None where its file is damaged."""
        try:
            data = self._path(digest).read_bytes()
            block = safetensors.torch.load(data)["kv"]
            told = _told_checksum(data)
        except (OSError, SafetensorError, KeyError, ValueError, TypeError):
            return None
        fits = tuple(block.shape) == self._shape and block.dtype == self._dtype
        return block if fits and told == _checksum(digest, block) else None


def _checksum(digest: bytes, block: torch.Tensor) -> str:
    """Return a checksum of the numbers and of the text they are of."""
    numbers = block.contiguous().view(torch.uint8).numpy()
    return hashlib.sha256(digest + numbers.tobytes()).hexdigest()


def _told_checksum(data: bytes) -> str | None:
    """Return what the header says: eight bytes of length, then JSON (safetensors' format)."""
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    told: str | None = header.get("__metadata__", {}).get("sha256")
    return told


def _is_digest(stem: str) -> bool:
    return len(stem) == 64 and all(c in "0123456789abcdef" for c in stem)
