"""The settings of ``[tool.kvaudit]``: their names, types and defaults.

Both the check of a configuration file and the JSON schema that editors use come from these
classes. Where a value is found is the business of `kvaudit.core.config`.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from kvaudit.core.quantities import MAX_BLOCK_TOKENS


def _kebab(name: str) -> str:
    return name.replace("_", "-")


def _fields(value: object) -> object:
    """Let one text name several fields, as on the command line."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return tuple(value) if isinstance(value, list) else value


class Table(BaseModel):
    """A table of the configuration: unknown keys are errors, nothing is converted."""

    model_config = ConfigDict(
        alias_generator=_kebab, extra="forbid", frozen=True, strict=True, allow_inf_nan=False
    )


class EngineSettings(Table):
    """Which engine is modelled."""

    kind: str | None = Field(default=None, description="An engine, as --engine takes it.")
    version: str | None = Field(default=None, description="Version of the engine, such as 0.33.0.")
    block_size: int | None = Field(
        default=None, ge=1, le=MAX_BLOCK_TOKENS, description="Tokens of one block."
    )


class ReplaySettings(Table):
    """Defaults of `kvaudit replay` alone."""

    input_format: str = Field(default="auto", description="Log format; auto looks at the file.")
    map: dict[str, str] = Field(
        default_factory=dict, description="Field of the request = column of a generic log."
    )
    schedule: str | None = Field(default=None, description="sequential, steps or timed.")
    warmup: float = Field(
        default=0,
        ge=0,
        description="Left out of all sums: below 1 a share of the requests, else a count.",
    )
    limit: int | None = Field(default=None, ge=1, description="Read no more than so many requests.")


Words = Annotated[tuple[str, ...], BeforeValidator(_fields)]
"""A list of texts; on the command line and in the environment also one text with commas."""


class LintSettings(Table):
    """What `kvaudit lint` is to know about the traffic, and when it fails."""

    fail_on: Literal["error", "warning", "info", "never"] = Field(
        default="warning", description="The lowest severity that fails the run."
    )
    baseline: str | None = Field(
        default=None, description="File of findings that are known and not reported."
    )
    require_reasons: bool = Field(
        default=False, description="A suppression must say why; one that does not is a finding."
    )
    provider: str | None = Field(default=None, description="Whose API the prompts go to.")
    model: str | None = Field(default=None, description="Model the prompts go to.")
    multi_turn: bool | None = Field(
        default=None, description="Whether prompts grow turn by turn; by default as it looks."
    )
    isolate: Literal["none", "tenant"] = Field(
        default="none", description="tenant: no prefix is to be shared between tenants."
    )
    retention_days: float = Field(
        default=0, ge=0, description="How long KV lives, where it outlives a day."
    )
    block_tokens: int | None = Field(
        default=None, ge=1, description="Tokens of a block of the engine; 16 if not said."
    )


class GateSettings(Table):
    """What `kvaudit gate` holds runs against."""

    fail_under: dict[str, float | str] = Field(
        default_factory=dict, description="Figure = limit that it must not fall below."
    )
    fail_over: dict[str, float | str] = Field(
        default_factory=dict, description="Figure = limit that it must not exceed."
    )
    baseline: str | None = Field(
        default=None, description="File of an earlier run, as JSON, to be no worse than."
    )
    max_drop: float = Field(
        default=0, ge=0, le=1, description="How much worse than the baseline a rate may be."
    )


class RuleSettings(Table):
    """Which rules are used, and how grave they are."""

    select: Words = Field(default=(), description="Use these rules only: names or codes.")
    ignore: Words = Field(default=(), description="Leave these rules out: names or codes.")
    severity: dict[str, Literal["error", "warning", "info"]] = Field(
        default_factory=dict, description="Rule = severity in place of its own."
    )
    folders: Words = Field(default=(), description="Folders with more rule files.")
    per_file: dict[str, Words] = Field(
        default_factory=dict, description="Pattern of files = rules not used there."
    )


class Settings(Table):
    """Everything that ``[tool.kvaudit]`` may hold."""

    required_version: str | None = Field(
        default=None, description="Versions of kvaudit that may be used, such as >=0.1,<0.2."
    )
    tokenizer: str = Field(default="o200k_base", description="Vocabulary, hf:FOLDER or bytes.")
    chat_template: str = Field(
        default="chatml", description="Built-in template, Jinja file or folder."
    )
    engine: EngineSettings = EngineSettings()
    capacity: str = Field(default="inf", description="600blocks, 9600tokens, 40GiB or inf.")
    model: str | None = Field(
        default=None, description="Catalogue name, or the path of a config.json."
    )
    accelerator: str | None = Field(
        default=None, description="What the model runs on, such as h100."
    )
    namespace: Words = Field(
        default=(), description="Fields of the request that keep caches apart, such as tenant."
    )
    max_broken_share: float = Field(
        default=0.01, ge=0, le=1, description="More broken records than this share end the run."
    )
    show_text: bool = Field(
        default=False, description="Show prompt text; secrets are masked even so."
    )
    include: Words = Field(
        default=(), description="Only these files are linted: patterns as in .gitignore."
    )
    exclude: Words = Field(
        default=(), description="These files are not linted: patterns as in .gitignore."
    )
    force_exclude: bool = Field(
        default=False, description="Leave excluded files out even where a call names them."
    )
    variables: dict[str, str] = Field(
        default_factory=dict,
        description="Name in a prompt = what it holds, such as identity, session or constant.",
    )
    rules: RuleSettings = RuleSettings()
    lint: LintSettings = LintSettings()
    replay: ReplaySettings = ReplaySettings()
    gate: GateSettings = GateSettings()
