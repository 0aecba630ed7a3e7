"""A log turned into another: kvaudit's record or a trace, with or without its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from pathlib import Path

from kvaudit.core.requests import NO_PROMPT, Request
from kvaudit.logs.writing.anonymize import anonymized
from kvaudit.logs.writing.block_hashes import BlockHasher, Encoder, with_blocks
from kvaudit.logs.writing.records import write_records
from kvaudit.logs.writing.traces import BLOCK_TOKENS, write_trace

_RECORD_BLOCK_TOKENS = 16


class Target(StrEnum):
    """What is written."""

    RECORD = "record"
    MOONCAKE = "mooncake"
    BAILIAN = "bailian"


@dataclass(slots=True, kw_only=True)
class Conversion:
    """What a log becomes, and afterwards what became of it."""

    to: Target
    block_tokens: int | None = None
    """Tokens of a hashed block; None for the target's own size."""
    key: bytes | None = None
    """Secret of the hashes; with one, nothing but hashes, lengths, counts and times is kept."""
    written: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    """Requests that a trace cannot hold, by reason."""

    def run(self, requests: Iterable[Request], out: Path, encoder: Callable[[], Encoder]) -> None:
        """Write the requests to ``out``; where there are none, no file is made."""
        kept = self._counted(self._changed(requests, encoder))
        first = next(kept, None)
        if first is None:
            return
        kept = chain((first,), kept)
        if self.to is Target.RECORD:
            write_records(kept, out)
        else:
            write_trace(kept, out, kind=self.to)

    def _changed(
        self, requests: Iterable[Request], encoder: Callable[[], Encoder]
    ) -> Iterable[Request]:
        if self.to is Target.RECORD and self.key is None:
            return requests
        size = self.block_tokens or BLOCK_TOKENS.get(self.to, _RECORD_BLOCK_TOKENS)
        hasher = BlockHasher(block_tokens=size, key=self.key or b"")
        hashed = with_blocks(requests, hasher, encoder, rehash=self.key is not None)
        if self.key is None:
            return hashed
        return (anonymized(request, hasher) for request in hashed)

    def _counted(self, requests: Iterable[Request]) -> Iterator[Request]:
        for request in requests:
            reason = None if self.to is Target.RECORD else _no_trace(request)
            if reason is None:
                self.written += 1
                yield request
            else:
                self.left_out[reason] += 1


def _no_trace(request: Request) -> str | None:
    """Return why a trace of what a cache saw cannot hold a request, or None."""
    return request.unfit or (None if request.block_ids else NO_PROMPT)
