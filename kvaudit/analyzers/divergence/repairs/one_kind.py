"""Of what happened to a history, the changes of one kind taken back, and the others left.

A block that is not sent again, reasoning that is stripped, text that is cut, and messages that are
dropped are faults of their own. Where a log has several of them, a fix of one leaves the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kvaudit.analyzers.template.request_log.texts import alike, shared_head
from kvaudit.core.requests import Json
from kvaudit.core.why import Cause

RESEMBLES = 0.4
"""Share of a message that is the same in another one, from which on that is it, written anew."""
_LEAST_CHARS = 8
"""A shorter text stands in another one by chance."""


@dataclass(slots=True)
class _Sent:
    """A message of a conversation, over its requests."""

    first: Json
    """As it was sent first."""
    part: Json | None = None
    """The longest form that it had later on as a part of the first: without a block, say."""
    forms: list[Json] = field(default_factory=list)

    @property
    def whole(self) -> Json:
        """As it stands in a history that nobody cuts."""
        return self.first if self.part is None else self.part


class OneKind:
    """The messages of one conversation, and what happened to each of them."""

    def __init__(self, kind: Cause) -> None:
        """Take back the changes of a kind."""
        self._kind = kind
        self._sent: list[_Sent] = []

    def mended(self, messages: Sequence[Json]) -> list[Json]:
        """Return the messages of the next request, without its instructions."""
        mended: list[Json] = []
        at = 0
        for message in messages:
            found = self._found(message, at)
            if found is None:
                self._sent.insert(at, _Sent(message))
                mended.append(message)
                found = at
            else:
                if self._kind is Cause.HISTORY_TRIMMED:
                    mended += [each.whole for each in self._sent[at:found]]
                mended.append(self._taken_back(self._sent[found], message))
            if message not in self._sent[found].forms:
                self._sent[found].forms.append(message)
            at = found + 1
        return mended

    def _found(self, message: Json, at: int) -> int | None:
        """Return which of the messages sent from a place on it is, perhaps in another form."""
        known = range(at, len(self._sent))
        same = next((n for n in known if message in self._sent[n].forms), None)
        if same is not None:
            return same
        own = [n for n in known if self._sent[n].first.get("role") == message.get("role")]
        text = text_of(message)
        part = next((n for n in own if _is_part(text, text_of(self._sent[n].first))), None)
        if part is not None:
            return part
        likeness = [_likeness(text, text_of(self._sent[n].whole)) for n in own]
        best = max(likeness, default=0.0)
        return own[likeness.index(best)] if best >= RESEMBLES else None

    def _taken_back(self, sent: _Sent, message: Json) -> Json:
        now, first = text_of(message), text_of(sent.first)
        reasoning = message.get("role") == "assistant"
        own = Cause.REASONING_STRIPPED if reasoning else Cause.ENVIRONMENT_NOT_REPLAYED
        cut = reasoning and now != first and first.startswith(now)
        if not cut and (now == first or _is_part(now, first)):
            if now != first and (sent.part is None or len(now) > len(text_of(sent.part))):
                sent.part = message
            return sent.first if self._kind is own else message
        if self._kind is Cause.HISTORY_REWRITTEN:
            return sent.whole
        if self._kind is own and sent.part is not None and isinstance(message.get("content"), str):
            return {**message, "content": first.replace(text_of(sent.part), now)}
        return message


def _likeness(now: str, whole: str) -> float:
    """Return how much of a text is the same; of one that was cut, its own ends count."""
    head = shared_head(now, whole)
    tail = shared_head(now[head:][::-1], whole[head:][::-1])
    return max(alike(now, whole), (head + tail) / max(len(now), _LEAST_CHARS))


def _is_part(now: str, first: str) -> bool:
    return len(now.strip()) >= _LEAST_CHARS and now.strip() in first


def text_of(message: Json) -> str:
    """Return what a message says, and what it calls."""
    content: Any = message.get("content")
    parts = content if isinstance(content, list) else [content]
    said = [p.get("text", "") if isinstance(p, dict) else p for p in parts]
    calls = message.get("tool_calls")
    return "\n".join([*(str(s) for s in said if s), *([str(calls)] if calls else [])])
