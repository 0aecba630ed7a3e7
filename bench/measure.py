"""Runs a command and says what it took: wall and CPU seconds, and the most memory it held."""

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Cost(NamedTuple):
    """What one run of a command took, its own children included."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def run(command: Sequence[str | Path], *, output: Path | None = None) -> Cost:
    """Run a command to its end; its standard output goes to ``output``. Raises if it fails."""
    with open(output or os.devnull, "wb") as file:
        start = time.perf_counter()
        process = subprocess.Popen([str(part) for part in command], stdout=file)
        # wait4 and not wait: the kernel's own account of this child, not of all so far.
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"exit {process.returncode}: {' '.join(map(str, command))}")
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def median(costs: Sequence[Cost]) -> Cost:
    """Return the median of each figure by itself."""
    middle = len(costs) // 2
    return Cost(*(sorted(figures)[middle] for figures in zip(*costs, strict=True)))
