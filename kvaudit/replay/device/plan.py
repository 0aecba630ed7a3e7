"""What is to be done on a device; torch is not needed to say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKS = 32
"""Requests that are also computed without reuse, unless told otherwise."""
CHUNK_TOKENS = 8192
"""The most tokens the model computes at once: vLLM's own step of a served model."""
TIME_LIMIT_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionPlan:
    """A model to run, and how far."""

    model: str
    config: Mapping[str, Any]
    """Its shape, as config.json says it; for random weights."""
    dtype: str | None = None
    """``fp32`` or ``bf16``; None is what the device is used with."""
    checks: int = CHECKS
    chunk_tokens: int = CHUNK_TOKENS
    time_limit_s: float = TIME_LIMIT_S
    kv_folder: Path | None = None
    """Where the third tier keeps its files; None is a folder that goes with the process."""
    fits: bool = False
    """Whether the measured times are to become an accelerator for later modelled runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePlan:
    """Which device, and what runs on it."""

    device: str
    """``cpu`` or ``cuda``."""
    execution: ExecutionPlan | None = None
    """None hashes and matches only."""
