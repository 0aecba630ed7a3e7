"""Encoding and search on a device of torch, in full single precision.

What is near is chosen there and computed again in double precision on the CPU, so a device decides
as the CPU does on the same vectors; vectors that it encodes itself differ in their last bits, and
similarities of them by less than 1e-4.
"""

from __future__ import annotations

import numpy as np

from kvaudit.core.extras import load
from kvaudit.replay.semantic.encoder import Encoder, Vectors
from kvaudit.replay.semantic.search import NumpyProducts, Products, TorchProducts
from kvaudit.replay.semantic.transformer import TransformerEncoder


def move(encoder: Encoder, device: str) -> None:
    """Let an encoder run there; one that is no transformer stays on the CPU."""
    if isinstance(encoder, TransformerEncoder):
        encoder.move(device)


def products(vectors: Vectors, floor: float, *, device: str) -> Products:
    """Return the products made there; sparse vectors stay on the CPU."""
    if not isinstance(vectors, np.ndarray):
        return NumpyProducts(vectors, floor)
    return TorchProducts(vectors, load("torch", extra="gpu"), device)
