"""Where the prefix that requests share ends, in logs that say their tokens.

Only such logs say it to the token; from text it could only be guessed.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.template.request_log.request import Record
from kvaudit.analyzers.template.structure.json_scan import scan_json
from kvaudit.core.document import Document, Position, Segment
from kvaudit.core.sources import Source

MAX_TOKENS = 2_048
"""Of each request that are compared: where a prefix is longer, the end of it matters little."""
_NAMES = ("prompt_token_ids", "token_ids")
_SAME_START = 4
_LEAST_REQUESTS = 3
_GROUPS = 200
_REQUESTS = 64


class TokenPrefixes:
    """Requests by how their tokens begin."""

    def __init__(self) -> None:
        """Hold none yet."""
        self._groups: dict[tuple[int, ...], list[tuple[Record, str, list[int]]]] = {}

    @property
    def found(self) -> bool:
        """Whether any request said its tokens."""
        return bool(self._groups)

    def add(self, record: Record) -> None:
        """Take the tokens of a request, if it says them."""
        for name in _NAMES:
            tokens = record.body.get(name)
            if isinstance(tokens, list) and all(type(t) is int for t in tokens[:MAX_TOKENS]):
                start = tuple(tokens[:_SAME_START])
                if start in self._groups or len(self._groups) < _GROUPS:
                    seen = self._groups.setdefault(start, [])
                    if len(seen) < _REQUESTS:
                        seen.append((record, name, tokens[: MAX_TOKENS + 1]))
                return

    def documents(self, source: Source) -> Iterator[Document]:
        """Yield each prefix behind which every request goes on in its own way."""
        for seen in self._groups.values():
            rows = [tokens for _, _, tokens in seen]
            shared = _shared(rows)
            after = {row[shared] for row in rows if len(row) > shared}
            whole = any(len(row) == shared for row in rows)
            if len(after) < _LEAST_REQUESTS or whole or not 0 < shared < MAX_TOKENS:
                continue  # one goes on from another, or a single one is different
            record, name, _ = seen[0]
            node = scan_json(source.text, record.start, record.end)
            span = node.at((*record.path, name)).span
            segment = Segment(
                source=source,
                span=span,
                position=Position.SYSTEM,
                expression=name,
                tokens=shared,
            )
            yield Document(
                source=source, kind="request-log", name=f"line {record.number}", segments=[segment]
            )


def _shared(rows: list[list[int]]) -> int:
    """Return with how many tokens all rows begin."""
    shared = min(map(len, rows))
    for row in rows[1:]:
        same = next((i for i in range(shared) if row[i] != rows[0][i]), shared)
        shared = min(shared, same)
    return shared
