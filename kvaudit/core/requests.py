"""The request: one record for every log format.

A missing field is None, and each analysis says which fields it needs. `Request` mirrors the
record of kvaudit's own format field by field, so that a converted log reads back equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

NO_PROMPT = "no prompt: neither text, tokens nor block hashes"

# JSON as parsed: a message, a tool definition, a response format.
Json = dict[str, Any]

SYSTEM_ROLES = ("system", "developer")
"""Roles of the instructions, by whoever names them."""

USER_ROLES = ("user", "human")
"""Roles of who asks, by whoever names them."""


class Status(StrEnum):
    """How a request ended."""

    OK = "ok"
    ERROR = "error"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class Mark(StrEnum):
    """Why a request's prompt is not what the model read; a marked request is not replayed."""

    TRUNCATED_PROMPT = "truncated-prompt"
    UNIDENTIFIED_MEDIA = "unidentified-media"
    HISTORY_NOT_LOGGED = "history-not-logged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to a model, as a log tells it.

    Times are seconds of any one epoch. ``messages`` and ``tools`` are the parsed JSON exactly
    as sent: key order and spelling are part of what a prefix cache sees. ``prompt`` is text
    that was sent without a chat template. ``block_ids`` may be any integers; ids are local to
    the session when ``block_scope`` is set, and then equal ids under another scope are other
    blocks. ``block_tokens`` is the number of tokens of each block but the last.
    ``cache_options`` are the fields of the request body, as sent, that a provider's cache obeys
    beside its text: a marker for the whole request, retention, the choice of a tool, thinking.
    """

    id: str
    arrived_s: float | None = None
    finished_s: float | None = None
    status: Status = Status.UNKNOWN
    model: str | None = None
    tenant: str | None = None
    user: str | None = None
    session: str | None = None
    parent: str | None = None
    salt: str | None = None
    lora: str | None = None
    messages: Sequence[Json] | None = None
    tools: Sequence[Json] | None = None
    prompt: str | None = None
    media_hashes: Sequence[str] = ()
    token_ids: Sequence[int] | None = None
    output_ids: Sequence[int] | None = None
    block_ids: Sequence[int] | None = None
    block_tokens: int | None = None
    block_scope: str | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    response: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    response_format: Json | str | None = None
    cached_tokens: int | None = None
    cache_write_5m_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    response_cache_hit: bool | None = None
    ttft_s: float | None = None
    prompt_cache_key: str | None = None
    cache_options: Json | None = None
    instance: str | None = None
    answer_group: str | None = None
    arrive_step: int | None = None
    priority: int | None = None
    marks: frozenset[Mark] = field(default=frozenset())
    columns: Json | None = field(default=None, metadata={"own": False})
    """What the log's record has under names that were asked for; no field of kvaudit's record."""

    @classmethod
    def record_fields(cls) -> tuple[str, ...]:
        """Return the names of kvaudit's own record: all fields but what was asked for by name."""
        return tuple(f.name for f in fields(cls) if f.metadata.get("own", True))

    @property
    def has_prompt(self) -> bool:
        """Whether the log says what was sent: text, tokens or block ids."""
        return (
            self.token_ids is not None
            or self.messages is not None
            or self.prompt is not None
            or self.block_ids is not None
        )

    @property
    def reached_model(self) -> bool:
        """Whether an engine worked on it: neither refused nor answered from a response cache."""
        return self.status is not Status.ERROR and not self.response_cache_hit

    @property
    def unfit(self) -> str | None:
        """Why no cache can be shown this request, or None where one can."""
        if self.response_cache_hit:
            return "answered from a response cache"
        if not self.reached_model:
            return "failed before the model"
        if self.marks:
            return ", ".join(sorted(self.marks))
        return None if self.has_prompt else NO_PROMPT
