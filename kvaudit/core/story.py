"""One request's whole story, as `kvaudit why --explain` tells it.

The field names are those of ``--format json``; the JSON schema is generated from these classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kvaudit.core.summaries import EngineSummary, LogSummary, Note
from kvaudit.core.why import Cause, Example, WhatIf


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Prompt tokens of the request by what became of them."""

    what: str
    """``hit``, a cause, or ``first-seen``."""
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evictor:
    """A request that took room in the cache."""

    request: str
    evicted_blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evictions:
    """What made room between a request and the one whose prefix it had."""

    requests: int
    """Requests served in between."""
    evicted_blocks: int
    """Blocks that they evicted, of whatever prompt."""
    most: Sequence[Evictor]
    """Those that evicted most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryReport:
    """The result of ``kvaudit why --explain``."""

    schema: int = 1
    log: LogSummary
    engine: EngineSummary
    request: str
    place: int
    """Number of the request in the order of arrival, from 1."""
    prompt_tokens: int
    parts: Sequence[Part]
    """In the order in which they stand in the prompt; they sum to its tokens."""
    could_hit_tokens: int
    """Tokens that would have been hits but for the causes."""
    cause: Cause | None
    """Why it parts from its relative; None where two conversations part, or nothing was seen."""
    code: str | None
    relative: str | None
    """The earlier request that it has most in common with."""
    requests_since: int | None
    """Requests served between the two."""
    shared_tokens: int
    """Tokens from the beginning that both have."""
    template: str
    """The line in which they part, or what stands for it."""
    example: Example | None
    """Where they part, with both texts."""
    evictions: Evictions | None
    """None where nothing of it was evicted."""
    what_if: WhatIf | None
    """The whole log replayed with the fix."""
    notes: Sequence[Note] = ()
