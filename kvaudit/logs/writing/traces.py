"""Traces of block hashes as others read them: Mooncake and Qwen-Bailian.

Rows are sorted by arrival and their times count from the first one, as replayers of these
traces expect. Until then they wait in a temporary file; memory grows by 16 bytes a request,
for Bailian also by the table of its chats.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import orjson

from kvaudit.core.errors import InputError
from kvaudit.core.requests import Request
from kvaudit.logs.format import Row
from kvaudit.logs.formats import bailian, mooncake
from kvaudit.logs.writing.records import write_lines

BLOCK_TOKENS = {"mooncake": mooncake.BLOCK_TOKENS, "bailian": bailian.BLOCK_TOKENS}
"""Tokens of a block, by name of the trace."""


def write_trace(requests: Iterable[Request], path: Path, *, kind: str) -> None:
    """Write requests that have block hashes as a trace of ``kind``.

    A request without a time is put where the one before it is.
    """
    rows = _bailian_rows if kind == "bailian" else _mooncake_rows
    write_lines(rows(_sorted(requests)), path)


class _Waiting(NamedTuple):
    """What a trace tells of one request; ``after_s`` is counted from the first arrival."""

    id: str
    session: str | None
    parent: str | None
    lengths: Row
    block_tokens: int | None
    after_s: float = 0.0


def _sorted(requests: Iterable[Request]) -> Iterator[_Waiting]:
    """Yield the requests by arrival; equal arrivals keep their order."""
    arrivals, places = array("d"), array("q")
    with tempfile.TemporaryFile() as file:
        for request in requests:
            last = arrivals[-1] if arrivals else 0.0
            arrivals.append(last if request.arrived_s is None else request.arrived_s)
            places.append(file.tell())
            file.write(orjson.dumps(tuple(_waiting(request)), option=orjson.OPT_APPEND_NEWLINE))
        first = min(arrivals, default=0.0)
        for number in sorted(range(len(arrivals)), key=arrivals.__getitem__):
            file.seek(places[number])
            yield _Waiting(*orjson.loads(file.readline()))._replace(
                after_s=arrivals[number] - first
            )


def _waiting(request: Request) -> _Waiting:
    assert request.block_ids is not None
    lengths = {
        "input_length": request.prompt_tokens or 0,
        "output_length": request.output_tokens or 0,
        "hash_ids": list(request.block_ids),
    }
    return _Waiting(request.id, request.session, request.parent, lengths, request.block_tokens)


def _mooncake_rows(requests: Iterable[_Waiting]) -> Iterator[Row]:
    for request in requests:
        row = {"timestamp": round(request.after_s * 1000), **request.lengths}
        row["request_id"] = request.id
        if request.session is not None:
            row["session_id"] = request.session
        if request.block_tokens not in (None, mooncake.BLOCK_TOKENS):
            row["block_size"] = request.block_tokens
        yield row


def _bailian_rows(requests: Iterable[_Waiting]) -> Iterator[Row]:
    chats: dict[str, int] = {}
    latest: dict[str, int] = {}
    turns: list[int] = []
    for chat, request in enumerate(requests):
        if request.block_tokens not in (None, bailian.BLOCK_TOKENS):
            raise InputError(
                f"this log has blocks of {request.block_tokens} tokens, and a Bailian trace "
                f"has {bailian.BLOCK_TOKENS}; write --to mooncake, which states the size"
            )
        # A log that does not name the request before has sessions at best.
        parent = chats.get(request.parent or "", latest.get(request.session or "", -1))
        turns.append(1 if parent < 0 else turns[parent] + 1)
        chats[request.id] = chat
        if request.session is not None:
            latest[request.session] = chat
        yield {
            "chat_id": chat,
            "parent_chat_id": parent,
            "timestamp": round(request.after_s, 6),
            **request.lengths,
            "type": "text",
            "turn": turns[chat],
        }
