"""The policy of a semantic cache: its keys, what each means, and their defaults."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from kvaudit.core.scales import SCALES, cosine_of

AUTO = "auto"
SCENARIOS = ("code", "general", "legal", "medical", "numeric", "personal", "real-time")
"""What the classifier tells apart."""
COLUMN = "column:"
"""Begins what names a column of the log."""
KEY_FIELDS = (
    *("model", "tenant", "user", "session", "salt", "lora", "instance", "prompt_cache_key"),
    *("temperature", "top_p", "seed", "max_tokens", "response_format", "tools", "system_prompt"),
)
"""What may part entries: fields of the record, and the system messages."""


def _list(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _table(value: object) -> object:
    return {"seconds": value} if isinstance(value, (int, float)) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_list)]


class Table(BaseModel):
    """A table of the policy: unknown keys are errors, nothing is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Ttl(Table):
    """How long an entry lives."""

    seconds: float = Field(gt=0, description="Life of an entry, from the end of its answer.")
    sliding: bool = Field(default=False, description="Whether every hit renews it.")


class PerEntry(Table):
    """A threshold for each entry, learnt from what it served: see `per_entry`."""

    delta: float = Field(
        default=0.02, gt=0, lt=1, description="Share of all requests that may be served wrongly."
    )
    seed: int = Field(default=0, description="Of the draws between serving and learning.")


class Context(Table):
    """What of a request is embedded."""

    messages: int = Field(
        default=1,
        ge=1,
        description="Newest messages; 1 is the newest user turn alone. A prompt is taken whole.",
    )
    system_prompt: bool = Field(
        default=False, description="Whether the system messages are embedded before them."
    )


class Admission(Table):
    """Which requests use the cache at all, and which answers it keeps."""

    max_chars: int | None = Field(
        default=None, ge=1, description="Longer texts are neither looked up nor kept."
    )
    max_messages: int | None = Field(
        default=None, ge=1, description="Nor are conversations of more messages."
    )
    max_temperature: float | None = Field(
        default=None,
        ge=0,
        description="Nor requests that are sampled hotter; one that names none counts as 1.",
    )
    sightings: int = Field(
        default=1, ge=1, description="Which miss of a text is kept: 2 is the second."
    )


class Sampling(Table):
    """Which share of the hits is to be labelled in production, and what these are to prove."""

    rate: float = Field(gt=0, le=1, description="Share of the hits that are labelled.")
    limit: float = Field(default=0.02, gt=0, lt=1, description="Most hits that may be wrong.")
    alpha: float = Field(default=0.05, gt=0, lt=1, description="How often the proof may fail.")


class SemanticPolicy(Table):
    """Everything that a policy may say of a semantic cache."""

    preset: str | None = Field(
        default=None, description="A product whose defaults hold where nothing else is said."
    )
    encoder: str = Field(
        min_length=1,
        description="use, minilm, e5, hashing, a local folder, column:NAME, or auto.",
    )
    threshold: float = Field(description="How near is near enough, on the scale declared.")
    scale: Literal[tuple(SCALES)] = Field(  # type: ignore[valid-type]
        default="cosine_sim", description="What the threshold measures."
    )
    thresholds: dict[str, float] = Field(
        default_factory=dict, description="Scenario = a threshold of its own, on the same scale."
    )
    scenario: str | None = Field(
        default=None,
        description="Where a request's scenario stands: column:NAME, or auto for kvaudit's own "
        "classifier.",
    )
    allow: Names | None = Field(default=None, description="Only these scenarios are cached.")
    deny: Names = Field(default=(), description="These scenarios are never cached.")
    namespace: Names = Field(default=(), description="Fields that keep entries of others apart.")
    key: Names = Field(default=(), description="More fields that must be equal to hit.")
    insert: Literal["on-miss", "always"] = Field(
        default="on-miss", description="Which requests become entries."
    )
    exact_tier: bool = Field(
        default=False, description="Whether equal texts hit first, without embedding."
    )
    entity_check: bool = Field(
        default=False,
        description="Refuse an entry whose numbers, dates, negation and the like differ.",
    )
    verifier: str | None = Field(
        default=None,
        description="Second stage: weights from calibrate --train-verifier (a .json file), "
        "MODULE:FUNCTION, or a local folder with a cross-encoder.",
    )
    verifier_threshold: float = Field(
        default=0.5, ge=0, le=1, description="How sure the verifier must be."
    )
    per_entry: PerEntry | None = Field(
        default=None,
        description="A threshold learnt for each entry, as vCache does; threshold is then only "
        "how near an entry must be to be asked about.",
    )
    top_k: int = Field(
        default=4, ge=1, description="Neighbours that a guard may walk down to the first it takes."
    )
    ttl: Annotated[Ttl, BeforeValidator(_table)] | None = Field(
        default=None, description="Seconds, or a table of seconds and sliding."
    )
    ttls: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict, description="Scenario = seconds that its entries live, not ttl's."
    )
    stale_after: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict,
        description="Scenario = seconds from which on an answer is old: counted, still served.",
    )
    capacity: int | None = Field(default=None, ge=1, description="Most entries at once.")
    eviction: Literal["lru", "fifo", "lfu"] = Field(
        default="lru", description="What leaves first where the capacity is reached."
    )
    admission: Admission = Admission()
    sampling: Sampling | None = None
    context: Context = Context()

    @property
    def cosine(self) -> float:
        """The threshold as a cosine similarity."""
        return cosine_of(self.threshold, self.scale)

    @property
    def cosines(self) -> dict[str, float]:
        """The scenarios' own thresholds as cosine similarities."""
        return {name: cosine_of(t, self.scale) for name, t in sorted(self.thresholds.items())}

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the log that it reads."""
        named = (self.encoder, self.scenario or "")
        return tuple(name.removeprefix(COLUMN) for name in named if name.startswith(COLUMN))

    @property
    def parts(self) -> tuple[str, ...]:
        """Every field that must be equal to hit, each once."""
        return tuple(dict.fromkeys((*self.namespace, *self.key)))


class PolicyFile(Table):
    """A policy file."""

    semantic: SemanticPolicy
