"""What `kvaudit why` found: which text keeps requests from sharing, and what that costs.

The field names are those of ``--format json``; the JSON schema is generated from these classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kvaudit.core.results import Sampling
from kvaudit.core.summaries import EngineSummary, LogSummary, Note


class Cause(StrEnum):
    """Why a prompt token was computed although it need not have been, or that it had to be."""

    SUB_DAY_CLOCK = "sub-day-clock"
    CALENDAR_DATE = "calendar-date"
    RANDOM_ID = "random-id"
    COUNTER = "counter"
    IDENTITY = "identity"
    SESSION_VALUE = "session-value"
    LIVE_STATE = "live-state"
    SHUFFLED_EXAMPLES = "shuffled-examples"
    TOOL_ORDER = "tool-order"
    TOOL_SET = "tool-set"
    JSON_KEY_ORDER = "json-key-order"
    WHITESPACE_DRIFT = "whitespace-drift"
    HISTORY_REWRITTEN = "history-rewritten"
    HISTORY_TRIMMED = "history-trimmed"
    ENVIRONMENT_NOT_REPLAYED = "environment-not-replayed"
    REASONING_STRIPPED = "reasoning-stripped"
    USER_TEXT_FIRST = "user-text-first"
    RETRIEVED_CONTEXT_FIRST = "retrieved-context-first"
    PARAMETER_CHANGE = "parameter-change"
    TRUNCATED_LOG = "truncated-log"
    EVICTED = "evicted"
    EXPIRED = "expired"
    OTHER_REPLICA = "other-replica"
    FIRST_SEEN = "first-seen"
    UNCLASSIFIED = "unclassified"


RULES: dict[Cause, tuple[str, str]] = {
    Cause.SUB_DAY_CLOCK: ("KV001", "sub-day-clock"),
    Cause.CALENDAR_DATE: ("KV002", "calendar-date-in-prefix"),
    Cause.RANDOM_ID: ("KV003", "random-id-in-prefix"),
    Cause.COUNTER: ("KV006", "per-call-counter"),
    Cause.IDENTITY: ("KV004", "identity-in-prefix"),
    Cause.SESSION_VALUE: ("KV005", "session-value-in-prefix"),
    Cause.LIVE_STATE: ("KV009", "live-state-in-prefix"),
    Cause.SHUFFLED_EXAMPLES: ("KV101", "shuffled-examples"),
    Cause.TOOL_ORDER: ("KV104", "tool-or-section-order"),
    Cause.TOOL_SET: ("KV105", "tool-list-changes-mid-session"),
    Cause.JSON_KEY_ORDER: ("KV103", "json-without-canonical-keys"),
    Cause.WHITESPACE_DRIFT: ("KV010", "whitespace-or-unicode-drift"),
    Cause.HISTORY_REWRITTEN: ("KV110", "earlier-messages-rewritten"),
    Cause.HISTORY_TRIMMED: ("KV114", "per-turn-compaction"),
    Cause.ENVIRONMENT_NOT_REPLAYED: ("KV110", "earlier-messages-rewritten"),
    Cause.REASONING_STRIPPED: ("KV116", "reasoning-stripped"),
    Cause.USER_TEXT_FIRST: ("KV201", "user-input-first"),
    Cause.RETRIEVED_CONTEXT_FIRST: ("KV202", "rag-before-static"),
    Cause.PARAMETER_CHANGE: ("KV308", "invalidating-parameter-varies"),
}
"""The lint rule that finds the same in a template: its code and its name."""
PAST_ARGUMENTS = ("KV108", "replayed-arguments-differ")


def rule_of(cause: Cause, position: str | None) -> tuple[str, str] | None:
    """Return code and name of the lint rule for a cause at a place; None where there is none."""
    if cause is Cause.JSON_KEY_ORDER and position == "history":
        return PAST_ARGUMENTS
    return RULES.get(cause)


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseTotal:
    """All that one cause cost. The ``tokens`` of all causes and the hits are the prompts."""

    cause: Cause
    code: str | None
    """Of the lint rule that finds the same in a template."""
    requests: int
    tokens: int
    """Computed prompt tokens whose cause this is."""
    lost_tokens: int
    """Those of them that had been seen before in the namespace and could have been shared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """Two requests that part. Texts are as `kvaudit.core.redact.shown` lets them be."""

    request: str
    relative: str
    """Id of the earlier request."""
    role: str | None
    message: int | None
    """Number of the message they part in, from 1; None outside of messages."""
    a: str
    """Text of the request from where they part on, with the line it stands in."""
    b: str
    """The same of the relative."""
    offset_chars: int | None
    """Characters of the rendered prompt that both have; None where the log holds no text."""
    offset_tokens: int
    """Tokens, or for a log of block hashes blocks, that both have."""
    resumes_tokens: int | None
    """Tokens of the request from there to where the two agree again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The log replayed with a fix applied, in the same cache."""

    fix: str
    hit_rate_before: float | None
    hit_rate_after: float | None
    """Of a value that was moved, the hit rate without it: that of a log in which it is not sent.
    Content that was moved, as passages and tasks are, counts at its new place."""
    saved_tokens: int
    """Computed tokens fewer than before, the moved value counted at its new place; negative where
    the fix does harm."""
    saved_flops: float | None
    usd: float | None
    helps: bool
    moved_tokens: int = 0
    """Tokens of the moved value, which ``hit_rate_after`` leaves out."""
    hit_rate_moved: float | None = None
    """The hit rate with the moved value counted at its new place; null where none was moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """The fault that parts most prompts once the group's own one is fixed."""

    cause: Cause
    code: str | None
    position: str
    what_if: WhatIf
    """The log replayed with both fixes; before is the log as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trim:
    """One request from whose history messages are gone, and what that costs and saves."""

    request: str
    removed_tokens: int
    """Tokens of the request before that this one and later ones no longer send."""
    again_tokens: int
    """Tokens behind the gap that both have, and that are computed or billed again."""
    break_even_turns: int | None
    """Later turns after which what is no longer read has paid for that; None for never, where
    reading from the cache costs nothing, or where no price is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trims:
    """All trims of a group."""

    trims: int
    removed_tokens: int
    again_tokens: int
    read_share: float | None
    """Price of a cached token in those of a computed one; None where no price is known."""
    break_even_turns: int | None
    """Of all of them together."""
    most: Sequence[Trim]
    """Those that computed most again, at most five."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A place in the user's files that writes the text."""

    path: str
    line: int
    evidence: str
    """``measured``: the text around it stands around the slot in the log, or its rule found it in a
    prompt that stands there. ``ambiguous``: several places fit alike. Of the place that a value
    comes from (``by`` is ``value``) what the linter knows: dataflow, binding or name."""
    column: int = 1
    end_line: int = 1
    end_column: int = 1
    """The place behind the last character, as in `kvaudit.core.lint_report`."""
    rule: str | None = None
    """The lint rule that finds the same."""
    expression: str | None = None
    """What stands there, where it is one expression."""
    published: str | None = None
    """The path from the repository's root, where services that show one look for it."""
    by: str = "text"
    """``text`` or ``rule``: what led there; ``value``: where the value of the place before comes
    from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedVariable:
    """How often a variable of the project's prompts changes in the log."""

    name: str
    level: str
    """A word that ``[tool.kvaudit.variables]`` takes."""
    said: str
    """What the linter takes it for now, by its name."""
    requests: int
    values: int
    path: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DivergenceGroup:
    """Requests that part at the same place of the same template."""

    id: str
    cause: Cause
    code: str | None
    requests: int
    share: float
    """Of the counted requests."""
    lost_tokens: int
    position: str
    """tools, system, fewshot, history or newest."""
    template: str
    """The line they part in; what differs, and all numbers, are slots."""
    slot: str
    """Values of the slot at which they part, the first few that were met."""
    example: Example
    locations: Sequence[Location] = ()
    what_if: WhatIf | None = None
    next: Next | None = None
    """Of the most costly fault, what stands behind it, and what both fixes bring."""
    lost_flops: float | None = None
    """Prefill FLOPs of the lost tokens; None where no model is named."""
    lost_usd: float | None = None
    """What they cost beyond what cached tokens do; None where no price is known."""
    trims: Trims | None = None
    """What each trim costs, where messages of the history are gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCheck:
    """Something in the log that cannot be, or that hides what was sent."""

    check: str
    count: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyReport:
    """The result of ``kvaudit why``."""

    schema: int = 1
    log: LogSummary
    engine: EngineSummary | None
    requests: int
    """Counted requests, all but the warm-up."""
    prompt_tokens: int
    hit_tokens: int
    hit_rate: float | None
    lost_tokens: int
    """Computed though seen before in the namespace, and shareable but for the causes."""
    engine_rule_tokens: int
    """Of the first-seen tokens those that stood in a shared prefix, but that the engine computes
    by its own rules: the block of the last token, a prompt below the minimum, one in flight."""
    causes: Sequence[CauseTotal] = ()
    groups: Sequence[DivergenceGroup] = ()
    log_checks: Sequence[LogCheck] = ()
    sampling: Sampling | None = None
    """Of the hit rate."""
    variables: Sequence[LearnedVariable] = ()
    """What --learn proposes for the settings."""
    definition: str | None = None
    notes: Sequence[Note] = field(default=())
