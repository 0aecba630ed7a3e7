"""An accelerator as it was measured: written by a run on a device, read by later modelled ones.

A small TOML file with the fields of ``accelerators.toml`` and what the roofline otherwise assumes.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from kvaudit.core.errors import InputError
from kvaudit.cost.accelerators import Accelerator
from kvaudit.cost.roofline import Assumptions

SUFFIX = ".toml"
_NUMBERS = ("tflops_16_bit", "memory_gib", "memory_gb_s", "host_gb_s")
_ASSUMED = ("mfu", "bandwidth_efficiency", "constant_s")


class Measured(NamedTuple):
    """What a file says."""

    accelerator: Accelerator
    assumptions: Assumptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What was measured of a device, per second."""

    title: str
    flops_per_s: float
    """Slope of seconds over FLOPs, upside down."""
    constant_s: float
    prefills: int
    memory_bytes: int
    memory_bytes_per_s: float
    host_bytes_per_s: float | None
    """Out of the host's memory; None where no tier there was read."""
    known: Accelerator | None
    """The same device by its datasheet, where it is in the table."""


def measured_text(fit: Fit, versions: str) -> str:
    """Return the file; where no datasheet is known, the peaks are what was measured."""
    known = fit.known
    peak = fit.flops_per_s if known is None else known.flops_16_bit
    bandwidth = fit.memory_bytes_per_s if known is None else known.memory_bandwidth
    host = fit.host_bytes_per_s or fit.memory_bytes_per_s
    link = host if known is None else known.host_bandwidth
    lines = [
        "# Measured by kvaudit replay --calibrate-accelerator; take it with --accelerator FILE.",
        f"# {fit.prefills} prefills, {versions}",
        f"title = {_quoted(fit.title)}",
        f"tflops_16_bit = {peak / 1e12:.6g}",
        f"memory_gib = {fit.memory_bytes / 2**30:.6g}",
        f"memory_gb_s = {bandwidth / 1e9:.6g}",
        f"host_gb_s = {link / 1e9:.6g}",
        "",
        "[assumptions]",
        f"mfu = {min(1.0, fit.flops_per_s / peak):.6g}",
        f"bandwidth_efficiency = {min(1.0, host / link):.6g}",
        f"constant_s = {fit.constant_s:.6g}",
    ]
    return "\n".join(lines) + "\n"


def read_measured(path: Path) -> Measured:
    """Return what a file says. Raises `InputError` naming what is wrong with it."""
    try:
        fields = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise InputError(f"--accelerator {path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"--accelerator {path}: is not TOML: {error}") from None
    numbers = {name: _positive(path, fields, name) for name in _NUMBERS}
    assumed = fields.get("assumptions")
    if not isinstance(assumed, dict):
        raise InputError(f"--accelerator {path}: has no [assumptions]; measure it again")
    told = {name: _positive(path, assumed, name) for name in _ASSUMED}
    title = str(fields.get("title", path.stem))
    accelerator = Accelerator(
        name=title,
        title=title,
        flops_16_bit=numbers["tflops_16_bit"] * 1e12,
        flops_8_bit=None,
        memory_bytes=int(numbers["memory_gib"] * 2**30),
        memory_bandwidth=numbers["memory_gb_s"] * 1e9,
        host_bandwidth=numbers["host_gb_s"] * 1e9,
        source=f"measured, {path}",
    )
    return Measured(accelerator, Assumptions(**told))


def _positive(path: Path, fields: dict[str, Any], name: str) -> float:
    value = fields.get(name)
    least = 0 if name == "constant_s" else 1e-12
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < 1e18:
        raise InputError(f"--accelerator {path}: {name} must be a number above 0; measure it again")
    return float(value)


def _quoted(text: str) -> str:
    plain = text.replace("\\", "/").replace('"', "'")
    return f'"{"".join(c for c in plain if c.isprintable())}"'
