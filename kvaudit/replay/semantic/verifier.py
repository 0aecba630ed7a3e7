"""The second stage: a verifier that looks at a pair which is near enough, and may refuse it.

A policy names a file of weights that `kvaudit calibrate --train-verifier` wrote, a MODULE:FUNCTION,
or a local folder with a cross-encoder.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Protocol

from kvaudit.core.errors import InputError
from kvaudit.core.foreign import is_function
from kvaudit.replay.semantic import verifiers


class Verifier(Protocol):
    """Scores pairs; the same pair gets the same score in every run."""

    def score(self, a: str, b: str, cosine: float) -> float:
        """Return how sure it is that one answer serves both, from 0 to 1."""


def find_verifier(name: str) -> Verifier:
    """Return the verifier of that name. Raises `InputError` or `UsageError` where there is none."""
    path = Path(name)
    if path.is_dir():
        made: Verifier = _module("cross_encoder").CrossEncoderVerifier(path)
    elif path.suffix == ".json":
        made = _module("logistic").LogisticVerifier.read(path)
    elif is_function(name):
        made = _module("foreign").ForeignVerifier(name)
    else:
        raise InputError(
            f'verifier = "{name}" is no file of weights (.json), no folder and no MODULE:FUNCTION'
        )
    return made


def _module(name: str):  # type: ignore[no-untyped-def]
    return import_module(f"{verifiers.__name__}.{name}")
