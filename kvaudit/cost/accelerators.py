"""Accelerators by name: what a datasheet says they can do at most."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One accelerator; all rates are dense peaks, per second, in one direction."""

    name: str
    title: str
    flops_16_bit: float
    flops_8_bit: float | None
    """None where it has no faster units for 8 bits that language models use."""
    memory_bytes: int
    memory_bandwidth: float
    """Bytes a second."""
    host_bandwidth: float
    """Bytes a second from the host's memory, over PCIe or the like."""
    source: str
    """Where the figures are from, and when they were read."""

    def peak_flops(self, *, in_8_bits: bool) -> float:
        """Return the peak of matrix products, in FLOPs a second."""
        if in_8_bits and self.flops_8_bit is not None:
            return self.flops_8_bit
        return self.flops_16_bit


@cache
def accelerators() -> dict[str, Accelerator]:
    """Return the table by name; an accelerator may have several."""
    text = resources.files("kvaudit.cost").joinpath("accelerators.toml").read_text("utf-8")
    found: dict[str, Accelerator] = {}
    for entry in tomllib.loads(text)["accelerator"]:
        accelerator = Accelerator(
            name=entry["names"][0],
            title=entry["title"],
            flops_16_bit=entry["tflops_16_bit"] * 1e12,
            flops_8_bit=entry["tflops_8_bit"] * 1e12 if "tflops_8_bit" in entry else None,
            memory_bytes=int(entry["memory_gib"] * 2**30),
            memory_bandwidth=entry["memory_gb_s"] * 1e9,
            host_bandwidth=entry["host_gb_s"] * 1e9,
            source=f"{entry['source']}, read {entry['date']}",
        )
        found |= dict.fromkeys(entry["names"], accelerator)
    return found


def find_accelerator(name: str) -> Accelerator:
    """Return the accelerator of that name, or raise `UsageError` with the nearest ones."""
    known = accelerators()
    plain = (
        name.lower().replace("nvidia", "").replace("amd", "").replace("_", "-").replace(" ", "-")
    )
    found = known.get(plain.strip("-"))
    if found is None:
        near = did_you_mean(plain, known)
        names = ", ".join(sorted({a.name for a in known.values()}))
        raise UsageError(f"--accelerator {name} is not in the table{near or f'; known: {names}'}")
    return found


def accelerator_named(told: str) -> Accelerator | None:
    """Return the accelerator that a driver's name for it holds, by the longest name; else None."""
    plain = told.lower().replace(" ", "-").replace("_", "-")
    fitting = [name for name in accelerators() if name in plain]
    return accelerators()[max(fitting, key=len)] if fitting else None
