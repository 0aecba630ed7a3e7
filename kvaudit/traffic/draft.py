"""A request in the parts an application builds it from, before they are joined to messages.

A fault changes one part and leaves the rest alone, so what it costs is known: everything that
stands after that part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from kvaudit.core.requests import Json


class Example(NamedTuple):
    """One worked example of a few-shot prompt."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One request's parts, in the order in which they are rendered."""

    tools: tuple[Json, ...] = ()
    head: str = ""
    """What a faulty application puts before its instructions; a sound one, nothing."""
    system: str
    """The instructions."""
    examples: tuple[Example, ...] = ()
    examples_as_turns: bool = False
    """Whether the examples are user and assistant messages rather than part of the system text."""
    tail: str = ""
    """The last line of the system message."""
    history: tuple[Json, ...] = ()
    passages: tuple[str, ...] = ()
    """What retrieval found for the newest question, before it in the same message."""
    question: str = ""
    newest: tuple[Json, ...] = ()
    """Messages after the history that are no question: tool results."""

    def messages(self) -> list[Json]:
        """Join the parts to chat messages."""
        return [
            {"role": "system", "content": self._system_text()},
            *self._example_turns(),
            *self.history,
            *([user(self.user_text())] if self.question else []),
            *self.newest,
        ]

    def headed(self, text: str) -> Draft:
        """Return the draft with a text before its instructions, in front of what stands there."""
        return replace(self, head="\n\n".join(filter(None, [text, self.head])))

    def user_text(self) -> str:
        """Return the newest user message."""
        return "\n\n".join([*self.passages, self.question])

    def _system_text(self) -> str:
        parts = [self.head, self.system]
        if not self.examples_as_turns:
            parts += [f"Question: {e.question}\nAnswer: {e.answer}" for e in self.examples]
        parts.append(self.tail)
        return "\n\n".join(filter(None, parts))

    def _example_turns(self) -> Iterator[Json]:
        if self.examples_as_turns:
            for example in self.examples:
                yield user(example.question)
                yield assistant(example.answer)


def user(text: str) -> Json:
    """Return a user message."""
    return {"role": "user", "content": text}


def assistant(text: str) -> Json:
    """Return an assistant message."""
    return {"role": "assistant", "content": text}
