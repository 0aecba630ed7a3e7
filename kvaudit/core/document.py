"""The document: what the linter sees, whatever language the prompt is written in.

A reader turns a file into documents. A document is one prompt: segments of text in the order
in which they are rendered, each with where it stands in the user's file and how often it
changes. What is no text but decides about caching all the same (a history that is cut every
turn, a marker in a loop, a switch that is off) is an observation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from kvaudit.core.doubt import Doubt
from kvaudit.core.sources import Source, Span


class Volatility(IntEnum):
    """How often a text changes; a prompt is shared only up to where this rises and falls."""

    CONSTANT = 0
    DEPLOY = 1
    DAY = 2
    IDENTITY = 3
    SESSION = 4
    TURN = 5
    REQUEST = 6


class Evidence(StrEnum):
    """How it is known what a value is."""

    DATAFLOW = "dataflow"
    """Followed from where the value arises."""
    BINDING = "binding"
    """Found where the template's variable is filled."""
    NAME = "name"
    """Only the name says so; reported as information."""


class Position(IntEnum):
    """Where in the rendered request a segment stands."""

    TOOLS = 0
    SYSTEM = 1
    FEWSHOT = 2
    HISTORY = 3
    NEWEST = 4
    TAIL = 5


class Origin(StrEnum):
    """What kind of thing a value is; a rule names the origins it speaks of."""

    CONSTANT = "constant"
    DEPLOY = "deploy"
    DATE = "date"
    CLOCK = "clock"
    RANDOM = "random"
    IDENTITY = "identity"
    SESSION = "session"
    COUNTER = "counter"
    HEADER = "header"
    HOST = "host"
    LIVE_STATE = "live-state"
    TRANSPORT = "transport"
    SIGNED_URL = "signed-url"
    OBJECT_REPR = "object-repr"
    USER_INPUT = "user-input"
    RETRIEVED = "retrieved"
    HISTORY = "history"
    UNKNOWN = "unknown"


VOLATILITY_OF: dict[Origin, Volatility] = {
    Origin.CONSTANT: Volatility.CONSTANT,
    Origin.DEPLOY: Volatility.DEPLOY,
    Origin.HOST: Volatility.DEPLOY,
    Origin.DATE: Volatility.DAY,
    Origin.IDENTITY: Volatility.IDENTITY,
    Origin.UNKNOWN: Volatility.IDENTITY,
    Origin.SESSION: Volatility.SESSION,
    Origin.HISTORY: Volatility.TURN,
    Origin.COUNTER: Volatility.TURN,
    Origin.LIVE_STATE: Volatility.TURN,
    Origin.RETRIEVED: Volatility.REQUEST,
    Origin.USER_INPUT: Volatility.REQUEST,
    Origin.CLOCK: Volatility.REQUEST,
    Origin.RANDOM: Volatility.REQUEST,
    Origin.HEADER: Volatility.REQUEST,
    Origin.TRANSPORT: Volatility.REQUEST,
    Origin.SIGNED_URL: Volatility.REQUEST,
    Origin.OBJECT_REPR: Volatility.REQUEST,
}
"""How often each kind of thing changes where nothing nearer is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One place on a value's way from where it arises to the prompt."""

    source: Source
    span: Span
    label: str
    """What happens there, as a phrase: ``reads the clock``, ``joined to the system text``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A run of literal text, or one expression, at its place in the rendered prompt."""

    source: Source
    """The file the span belongs to; it need not be the document's own."""
    span: Span
    position: Position
    text: str | None = None
    """The literal as rendered; None for an expression."""
    expression: str | None = None
    """The expression as written; None for a literal."""
    origin: Origin = Origin.CONSTANT
    volatility: Volatility = Volatility.CONSTANT
    evidence: Evidence = Evidence.DATAFLOW
    tokens: int | None = None
    """Size where it is known or can be guessed; None for an expression of unknown size."""
    block: int = 0
    """Number of the message or content block it stands in, from 0."""
    trail: Sequence[Step] = ()
    asked: bool = False
    """What was found with the words of this request, and differs with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Something about how a request is built that is no text of its own."""

    kind: str
    """A word of the vocabulary that readers and rules share, in kebab case."""
    source: Source
    span: Span
    detail: str
    """What was seen, as a clause with the user's own words in it."""
    evidence: Evidence = Evidence.DATAFLOW
    position: Position = Position.SYSTEM
    lost_tokens: int | None = None
    trail: Sequence[Step] = ()
    graver: bool = False
    """It is a case of its kind that counts one level more than the rule says."""
    unseen: Sequence[Doubt] = ()
    """Links of its proof that the reader looked for and did not see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """A mark where a provider may cut its cached prefix."""

    source: Source
    span: Span
    block: int
    ttl: str | None = None
    """As written, such as ``1h``; None where the provider's default holds."""
    in_loop: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One prompt, as a reader understood it."""

    source: Source
    kind: str
    """The reader's name, such as ``jinja``."""
    name: str
    """What the user calls it: a function, a constant, a key; else the file."""
    segments: Sequence[Segment] = ()
    observations: Sequence[Observation] = ()
    markers: Sequence[Marker] = ()
    provider: str | None = None
    model: str | None = None
    multi_turn: bool = True
    low_stakes: bool = field(default=False)
    """Tests, fixtures, benchmarks, documentation, code under ``__main__``: information only."""
    of_test: bool = False
    """A test, or what tests are given: what it sets up is what it tries."""
    request: tuple[Source, Span] | None = None
    """The call of an SDK that sends it as it is, where one is seen."""
    sent: bool = True
    """Seen to go to a model; False where only names say that it is a prompt."""
    filled: Mapping[tuple[str, int], Volatility] = field(default_factory=dict)
    """Holes of templates in other files that it fills, by path and offset, and how often what is
    put into them changes."""
    builder: str | None = None
    """The function that gives it to whoever names it; None where others may ask for it, too."""
    shown: frozenset[Doubt] = frozenset()
    """Links of proofs that its file shows, if not for what is told of here."""
