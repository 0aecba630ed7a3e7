"""What the reports of all commands that read a log have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One thing the reader of the report must know, as a sentence."""

    topic: str
    """What it is about, in kebab case: ``truncated-prompts``, ``order``, ``bounds``."""
    text: str
    count: int | None = None
    """How many requests it concerns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthSummary:
    """Distribution of a count over the requests that have it."""

    requests: int
    total: int
    mean: float
    p50: int
    p99: int
    max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSummary:
    """What was read, and what was left out."""

    files: Sequence[str]
    format: str
    records: int
    """Records found in the files, broken ones included."""
    skipped: int
    """Records that were not replayed, for any reason in ``skipped_reasons``."""
    skipped_reasons: Mapping[str, int]
    broken: Sequence[str]
    """The first broken records as ``file:line: reason``."""
    requests: int
    """Requests replayed, or counted where nothing could be replayed."""
    span_s: float | None
    tokenizer: str | None
    """Vocabulary and how exact it is, or None where no text was tokenized."""
    chat_template: str | None
    prompt_lengths: LengthSummary | None
    output_lengths: LengthSummary | None
    digest: str | None = None
    """SHA-256 of the files' bytes, one after the other: two runs with one digest are of one log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSummary:
    """The engine that was modelled."""

    name: str
    version: str | None
    block_size: int
    capacity_blocks: int | None
    """None is unbounded."""
    capacity_bytes: int | None
    model: str | None
    kv_bytes_per_token: int | None
    policy: str
    schedule: str
    exactness: str
    """What the figures are: exact for what, bounded by what."""
    rules: str | None = None
    """Of a provider's cache: when its rules were read; it has no version and no blocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """A rate between which two values the truth lies, and what each end assumes."""

    low: float
    high: float
    definition: str
