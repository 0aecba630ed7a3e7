"""Prompts as integers: what every cache model reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class RequestFacts(NamedTuple):
    """What is still needed of a request once its text became units.

    A prompt's text is let go as early as possible, so that memory does not grow with the log.
    """

    id: str
    arrived_s: float | None
    arrive_step: int | None
    session: str | None
    instance: str | None
    salt: str | None
    lora: str | None
    reported_cached_tokens: int | None
    """Hit tokens by the log's own counters."""
    reported_prompt_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptBatch:
    """Consecutive requests of a log as units of text, in the order they are to be replayed.

    A unit is a token, or one block of a log that carries block hashes only. ``units`` holds,
    request after request, the prompt's units and then those generated units whose identity
    is known; ``offsets[i]:offsets[i+1]`` cuts out request i. Arrays have one entry a request
    unless stated; nothing in a batch is changed after it was made.
    """

    requests: Sequence[RequestFacts]
    units: NDArray[np.int32]
    """All units, shape (offsets[-1],)."""
    offsets: NDArray[np.int64]
    """Shape (requests + 1,)."""
    prompt_units: NDArray[np.int64]
    """How many units of each request are its prompt; the rest are generated."""
    unit_tokens: NDArray[np.int64]
    """Tokens of each unit but the prompt's last: 1 for tokens."""
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    """All generated tokens, those of unknown identity included."""
    namespaces: NDArray[np.int32]
    """Dense number of the namespace; requests share only within one."""
    namespace_names: Sequence[str]
    """Names of all namespaces seen so far, by number."""
