"""Qwen-Bailian traces: prefix hashes of 16-token blocks, chat turns, times in seconds.

``parent_chat_id`` is the turn before (-1: none), so a session is the chain of turns back to
the first one in the file. Finding that costs memory: one entry a request.
"""

from __future__ import annotations

from kvaudit.core.requests import Request
from kvaudit.logs.format import BadRecord, EachRow, LogFormat, Row, Sureness
from kvaudit.logs.values import fields

BLOCK_TOKENS = 16


def recognise(row: Row) -> Sureness:
    """Tell it from Mooncake by the chat ids."""
    if {"hash_ids", "chat_id", "parent_chat_id"} <= row.keys():
        return Sureness.UNMISTAKABLE
    return Sureness.NO


class BailianParser(EachRow):
    """Keeps the first turn of every chat."""

    def __init__(self) -> None:
        """Start a file."""
        super().__init__(self._request)
        self._first_turn: dict[str, str] = {}

    def _request(self, row: Row) -> Request:
        ids = fields.block_ids(row.get("hash_ids"), "hash_ids")
        if ids is None:
            raise BadRecord("hash_ids is missing")
        chat = _chat(row, "chat_id")
        if chat is None:
            raise BadRecord("chat_id is missing")
        parent = _chat(row, "parent_chat_id")
        session = chat if parent is None else self._first_turn.get(parent, parent)
        self._first_turn[chat] = session
        return Request(
            id=chat,
            arrived_s=fields.number(row.get("timestamp"), "timestamp"),
            session=session,
            parent=parent,
            block_ids=ids,
            block_tokens=BLOCK_TOKENS,
            prompt_tokens=fields.integer(row.get("input_length"), "input_length"),
            output_tokens=fields.integer(row.get("output_length"), "output_length"),
        )


def _chat(row: Row, name: str) -> str | None:
    value = fields.text(row.get(name), name)
    return None if value == "-1" else value


FORMAT = LogFormat(
    name="bailian",
    title="Qwen-Bailian traces (hash_ids of 16-token blocks, chat turns, seconds)",
    recognise=recognise,
    parser=BailianParser,
)
