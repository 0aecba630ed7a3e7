"""What a device has room for, and how fast its memory is."""

from __future__ import annotations

import re
from pathlib import Path

import torch

from kvaudit.core.errors import UsageError
from kvaudit.core.quantities import format_bytes
from kvaudit.replay.device.stopwatch import Stopwatch

_COPIED_BYTES = 256 * 2**20
"""For the memory's bandwidth: more than caches hold."""
_COPIES = 5

SHARE = 0.9
"""Of the free memory that weights may take; the rest is for KV and for computing."""
KV_SHARE = 0.8
"""Of what is free after the weights; the rest is for computing, a prompt's own KV included."""


def check_room(spec: str, weight_bytes: int, device: torch.device) -> None:
    """Raise `UsageError` where weights of so many bytes do not fit on the device."""
    free = _free_bytes(device)
    if free is not None and weight_bytes > SHARE * free:
        raise UsageError(
            f"--model {spec}: its weights take {format_bytes(weight_bytes)}, and {device.type} has "
            f"{format_bytes(free)} free; name a smaller one, such as tiny, or leave --device out"
        )


def room_blocks(block_bytes: int, device: torch.device) -> int | None:
    """Return the most blocks of KV that leave room to compute in; None on a CPU.

    There memory is taken when it is first written to, so a large pool costs nothing.
    """
    free = _free_bytes(device) if device.type == "cuda" else None
    return None if free is None else int(KV_SHARE * free) // block_bytes


def is_out_of_memory(error: Exception) -> bool:
    """Whether there was no room; a host's memory has no error of its own in torch."""
    told = str(error)
    return isinstance(error, torch.OutOfMemoryError) or any(
        sign in told for sign in ("allocate memory", "out of memory", "not enough memory")
    )


def memory_bytes(device: torch.device) -> int:
    """Return all memory of the device, or as much as is free where the system tells no more."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[1])
    return _free_bytes(device) or 0


def memory_bytes_per_s(device: torch.device) -> float:
    """Measure the bytes a second that the device's memory reads and writes, by the best copy."""
    source = torch.zeros(_COPIED_BYTES, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    seconds = []
    for _ in range(_COPIES):
        watch = Stopwatch(device)
        target.copy_(source)
        seconds.append(watch.stop())
    return 2 * _COPIED_BYTES / min(seconds)


def _free_bytes(device: torch.device) -> int | None:
    """Return the free memory; None where the system does not tell."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        told = Path("/proc/meminfo").read_text("ascii")
    except OSError:
        return None
    available = re.search(r"MemAvailable:\s*(\d+) kB", told)
    return None if available is None else int(available[1]) * 1024
