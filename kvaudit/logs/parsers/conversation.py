"""A conversation that grows: what transcripts of coding agents are made of.

Each turn's prompt is the one before and something more, so media are looked for only in what
is new; a transcript of thousands of turns would otherwise be read thousands of times.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kvaudit.core.requests import Json
from kvaudit.logs.api.media import find_media
from kvaudit.logs.format import Fields


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages so far; never changed, so that a prompt stays what it was."""

    messages: tuple[Json, ...] = ()
    media: tuple[Fields, ...] = ()
    """What `find_media` found, for each message that has any."""

    def then(self, more: Iterable[Json]) -> Conversation:
        """Return the conversation with these messages after it."""
        more = tuple(more)
        found = tuple(media for message in more if (media := find_media((message,))))
        return Conversation(self.messages + more, self.media + found)

    def fields(self) -> Fields:
        """Return the messages and media as fields of a `Request`."""
        if not self.messages:
            return {}
        marks = frozenset[object]().union(*(found.get("marks", ()) for found in self.media))
        return {
            "messages": self.messages,
            "media_hashes": tuple(h for found in self.media for h in found["media_hashes"]),
            "marks": marks,
        }
