"""One request of a log as plain values, with the ways back to its place in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kvaudit.core.sources import Source

Path = tuple[str | int, ...]
"""Keys and indexes from the line's value down to a part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the provider counted; None where the log does not say."""

    prompt: float | None = None
    read: float | None = None
    written: float | None = None
    written_5m: float | None = None
    written_1h: float | None = None


@dataclass(slots=True, kw_only=True)
class Text:
    """One string of a request, with the way to it."""

    text: str
    path: Path


@dataclass(slots=True, kw_only=True)
class Message:
    """One message, without markers: what is said, called and thought in it."""

    role: str
    path: Path
    texts: list[Text] = field(default_factory=list)
    calls: list[Text] = field(default_factory=list)
    """Arguments of calls, as the model wrote them; of a parsed object its JSON, keys as sent."""
    others: list[Text] = field(default_factory=list)
    """Names of calls, links, media."""
    thoughts: list[Text] = field(default_factory=list)
    one_string: bool = True
    marked: bool = False
    results: bool = False
    """It holds nothing but results of calls."""
    said: str = ""
    """Everything in it but thoughts, as one text."""

    @property
    def parts(self) -> list[Text]:
        """The strings that ``said`` is made of."""
        return [*self.texts, *self.calls, *self.others]


@dataclass(slots=True, kw_only=True)
class Record:
    """One request of a log."""

    source: Source
    start: int
    """Where its line begins."""
    end: int
    number: int
    """Of the line, from 1."""
    body: Mapping[str, Any]
    path: Path
    """From the line's value to the body."""
    session: str | None
    time: float | None
    usage: Usage
    tools: list[tuple[Path, Any]] = field(default_factory=list)
    system: list[Text] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    turns: int = 1
    """How many requests of the session came before and with it."""

    @property
    def has_request(self) -> bool:
        """Whether there is more than usage in it."""
        return bool(self.tools or self.system or self.messages)

    @property
    def model(self) -> str | None:
        """The model asked for."""
        found = self.body.get("model") or self.body.get("modelId")
        return found if isinstance(found, str) else None
