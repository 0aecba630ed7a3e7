"""Prompts as integers: what every cache model reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Section(IntEnum):
    """Which part of a request a block stands in."""

    TOOLS = 0
    SYSTEM = 1
    MESSAGES = 2


class Mark(NamedTuple):
    """A breakpoint that a request sets."""

    block: int
    """Number of the block that it ends."""
    name: str
    """The marker's own name: ``cache_control``, ``cachePoint``, ``prompt_cache_breakpoint``."""
    ttl: str
    """As written; empty where none is."""


class Outline(NamedTuple):
    """Where the content blocks of a prompt end; arrays have one entry a block."""

    ends: NDArray[np.int64]
    """Tokens of the prompt up to the end of the block."""
    sections: NDArray[np.uint8]
    """A `Section` each."""
    positions: NDArray[np.int64]
    """Number as a look-back counts: a run of tool results is one."""
    message_ends: NDArray[np.bool_]
    """Whether a message ends here that the model did not write."""
    marks: Sequence[Mark]


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
    priority: int | None = None
    """As an engine's scheduler and its eviction are told; more is more urgent to SGLang."""
    model: str | None = None
    prompt_cache_key: str | None = None
    cache_options: dict[str, Any] | None = None
    """What a provider's cache obeys beside the text, as sent."""
    has_media: bool = False
    ttft_s: float | None = None
    reported_write_5m_tokens: int | None = None
    reported_write_1h_tokens: int | None = None
    reported_output_tokens: int | None = None
    outline: Outline | None = None
    """Where its blocks end; None unless asked for, and where the log has no messages."""
    counted: bool = False
    """Whether its tokens were counted from text, which the log may count otherwise."""
    group: str | None = None
    """Value of the field by which figures are told apart, where one was named."""
    finished_s: float | None = None
    tenant: str | None = None
    user: str | None = None
    head_units: int | None = None
    """Units of the prompt up to the end of its tools and first system messages; None unless asked
    for, and where the log has no messages."""
    number: int = 0
    """Place among the records that were read, from 0."""
    max_tokens: int | None = None
    """The most that could be generated, as asked for."""


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
