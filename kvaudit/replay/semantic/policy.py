"""The policy file of a semantic cache: its keys, their defaults, and every mistake in it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from kvaudit.core.errors import InputError, UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.core.scales import SCALES, cosine_of
from kvaudit.replay.semantic.preset import PREFIX, find_preset

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


def load_policy(path: Path) -> SemanticPolicy:
    """Read a policy file, or take the preset that ``preset:NAME`` names.

    Raises `InputError` or `UsageError` that names the key.
    """
    if str(path).startswith(PREFIX):
        name = str(path).removeprefix(PREFIX)
        return SemanticPolicy.model_validate({**find_preset(name).semantic, "preset": name})
    try:
        document = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8, which TOML must be") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: is not valid TOML: {error}") from None
    if not isinstance(document.get("semantic"), dict):
        raise UsageError(f"{path}: a semantic policy is a table [semantic], and there is none")
    preset = document["semantic"].get("preset")
    if isinstance(preset, str):
        document["semantic"] = {**find_preset(preset).semantic, **document["semantic"]}
    try:
        policy = PolicyFile.model_validate(document).semantic
    except ValidationError as error:
        raise UsageError(f"{path}: {_sentence(error)}") from None
    _check(policy, path)
    return policy


def _sentence(error: ValidationError) -> str:
    """Say the first thing that is wrong, an unknown key before what it may have left out."""
    errors = error.errors(include_url=False)
    first = next((e for e in errors if e["type"] == "extra_forbidden"), errors[0])
    key, value = ".".join(str(part) for part in first["loc"]), first["input"]
    if first["type"] == "extra_forbidden":
        *tables, name = (str(part) for part in first["loc"])
        return f"{key} is not a key of a policy{did_you_mean(name, _known(tables))}"
    if first["type"] == "missing":
        return f"{key} is missing; a policy needs encoder and threshold"
    if first["type"] == "literal_error":
        known = SCALES if key.endswith("scale") else first["ctx"]["expected"].replace("'", "")
        words = known if key.endswith("scale") else known.split(" or ")  # type: ignore[union-attr]
        return f"{key} = {value!r} is not known{did_you_mean(str(value), words)}"
    wanted = _WANTED.get(first["type"], first["msg"].lower())
    if key == "semantic.ttl":
        wanted = "must be a number of seconds, or a table"
    return f"{key} = {value!r}: {wanted}"


_WANTED = {
    "tuple_type": 'must be a list of names, such as ["tenant"]',
    "model_type": "must be a table",
    "dict_type": "must be a table",
}


def _known(tables: list[str]) -> list[str]:
    model: Any = {
        (): PolicyFile,
        ("semantic",): SemanticPolicy,
        ("semantic", "ttl"): Ttl,
        ("semantic", "context"): Context,
        ("semantic", "per_entry"): PerEntry,
        ("semantic", "admission"): Admission,
        ("semantic", "sampling"): Sampling,
    }.get(tuple(tables), SemanticPolicy)
    return list(model.model_fields)


def _check(policy: SemanticPolicy, path: Path) -> None:
    """Raise `UsageError` for keys that are well formed and cannot be meant."""
    for field in policy.parts:
        if field not in KEY_FIELDS:
            raise UsageError(
                f"{path}: {field} is not a field that can part entries"
                f"{did_you_mean(field, KEY_FIELDS)}"
            )
    try:
        _ = policy.cosine, policy.cosines
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    lives = policy.ttls or policy.stale_after
    needs = policy.thresholds or policy.allow is not None or policy.deny or lives
    if needs and policy.scenario is None:
        raise UsageError(
            f"{path}: thresholds, allow, deny, ttls and stale_after speak of scenarios; say where "
            "a request has its "
            'own, such as scenario = "column:scenario"'
        )
    if policy.scenario not in (None, AUTO) and not policy.scenario.startswith(COLUMN):
        raise UsageError(
            f'{path}: scenario = "{policy.scenario}" must name a column of the log, such as '
            '"column:scenario", or be "auto"'
        )
    if policy.scenario == AUTO:
        _check_scenarios(policy, path)
    both = set(policy.allow or ()) & set(policy.deny)
    if both:
        raise UsageError(f"{path}: {', '.join(sorted(both))} is both allowed and denied")
    if policy.per_entry is not None:
        _check_per_entry(policy, path)
    if policy.encoder == COLUMN:
        raise UsageError(f"{path}: column: must be followed by the name of a column of the log")


def _check_per_entry(policy: SemanticPolicy, path: Path) -> None:
    """Refuse rules that entries with a threshold of their own are modelled without."""
    others = {
        "ttl": policy.ttl,
        "ttls": policy.ttls or None,
        "capacity": policy.capacity,
        "admission.sightings": None if policy.admission.sightings == 1 else True,
        "exact_tier": policy.exact_tier or None,
        "entity_check": policy.entity_check or None,
        "verifier": policy.verifier,
        'insert = "always"': None if policy.insert == "on-miss" else policy.insert,
    }
    for name, value in others.items():
        if value is not None:
            raise UsageError(f"{path}: per_entry is modelled without {name}; leave one of them out")


def _check_scenarios(policy: SemanticPolicy, path: Path) -> None:
    """Refuse scenarios that the classifier never says."""
    tables = (policy.thresholds, policy.ttls, policy.stale_after, policy.allow or (), policy.deny)
    for name in (name for table in tables for name in table):
        if name not in SCENARIOS:
            raise UsageError(
                f'{path}: with scenario = "auto" there is no scenario {name}'
                f"{did_you_mean(name, SCENARIOS)}"
            )
