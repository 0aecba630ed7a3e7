"""Measures what a device does, by its own clock where it has one."""

from __future__ import annotations

import time
from typing import Any

import torch


class Stopwatch:
    """Seconds between its making and `stop`; on CUDA between two events of a stream.

    The stream's earlier work is waited for first, so nothing else is counted.
    """

    def __init__(self, device: torch.device) -> None:
        """Start."""
        self._cuda = device.type == "cuda"
        if self._cuda:
            torch.cuda.synchronize(device)
            event: Any = torch.cuda.Event
            self._first, self._last = event(enable_timing=True), event(enable_timing=True)
            self._first.record()
        self._began = time.perf_counter()

    def stop(self) -> float:
        """Return the seconds until all that was asked of the device is done."""
        if not self._cuda:
            return time.perf_counter() - self._began
        self._last.record()
        self._last.synchronize()
        return float(self._first.elapsed_time(self._last)) / 1000
