"""Mooncake traces: a prompt as prefix hashes of fixed-size blocks, times in milliseconds.

Read besides the published fields: the ``request_id``, ``session_id`` and ``delay`` of Dynamo
and AIPerf, the ``block_size`` and ``block_tokens`` of kvcache-simulator, and rows that carry
``text_input`` or ``messages`` instead of hashes. A turn that has only a delay arrives that
long after its session's previous turn was sent: the earliest it can have been, since these
traces do not say how long an answer took.
"""

from __future__ import annotations

from hashlib import blake2b

from kvaudit.core.requests import Request
from kvaudit.logs.format import BadRecord, EachRow, LogFormat, Row, Sureness
from kvaudit.logs.values import fields

BLOCK_TOKENS = 512
"""Block size of the traces published with the Mooncake papers, which do not state it."""


def recognise(row: Row) -> Sureness:
    """Tell a hash row by its list of ids; the other kinds by ``output_length``."""
    if "chat_id" in row and "parent_chat_id" in row:
        return Sureness.NO
    if isinstance(row.get("hash_ids"), list) and "input_length" in row and "play_id" not in row:
        return Sureness.CHARACTERISTIC
    carries_text = "text_input" in row or isinstance(row.get("messages"), list)
    if carries_text and "output_length" in row and "hash_ids" not in row:
        return Sureness.CHARACTERISTIC
    return Sureness.NO


class MooncakeParser(EachRow):
    """Keeps, for each session, its latest request and when that was sent."""

    def __init__(self) -> None:
        """Start a file."""
        super().__init__(self._request)
        self._latest: dict[str, tuple[str, float | None]] = {}

    def _request(self, row: Row) -> Request:
        ids = fields.block_ids(_numbers(row.get("hash_ids")), "hash_ids")
        prompt = fields.text(row.get("text_input"), "text_input")
        messages = fields.json_objects(row.get("messages"), "messages")
        if ids is None and prompt is None and messages is None:
            raise BadRecord("none of hash_ids, text_input and messages")
        request_id = fields.text(row.get("request_id"), "request_id") or ""
        session = fields.text(row.get("session_id"), "session_id")
        parent, previous_s = self._latest.get(session or "", (None, None))
        arrived_s = _arrival(row, previous_s)
        if session is not None:
            self._latest[session] = (request_id, arrived_s)
        return Request(
            id=request_id,
            arrived_s=arrived_s,
            session=session,
            parent=parent or None,
            prompt=prompt,
            messages=messages,
            block_ids=ids,
            block_tokens=None if ids is None else block_tokens(row, len(ids)),
            prompt_tokens=fields.integer(row.get("input_length"), "input_length"),
            output_tokens=fields.integer(row.get("output_length"), "output_length"),
        )


def _numbers(ids: object) -> object:
    """Return ids that are text as numbers; kvcache-simulator takes both."""
    if not isinstance(ids, list) or not ids or not all(isinstance(item, str) for item in ids):
        return ids
    digests = (blake2b(item.encode("utf-8", "surrogatepass"), digest_size=8) for item in ids)
    return [int.from_bytes(digest.digest(), "big", signed=True) for digest in digests]


def _arrival(row: Row, previous_s: float | None) -> float | None:
    timestamp_ms = fields.number(row.get("timestamp"), "timestamp")
    if timestamp_ms is not None:
        return timestamp_ms / 1000
    delay_ms = fields.number(row.get("delay"), "delay")
    if delay_ms is None or previous_s is None:
        return None
    return previous_s + delay_ms / 1000


def block_tokens(row: Row, blocks: int) -> int:
    """Return the tokens of each block but the last."""
    each = row.get("block_tokens")
    if each is None:
        return _positive(fields.integer(row.get("block_size"), "block_size"))
    if not isinstance(each, list):
        return _positive(fields.integer(row.get("block_tokens"), "block_tokens"))
    if len(each) != blocks or not all(type(tokens) is int for tokens in each):
        raise BadRecord("block_tokens is not one whole number for each of hash_ids")
    if not each:
        return BLOCK_TOKENS
    if len(set(each[:-1])) > 1 or each[-1] > each[0]:
        raise BadRecord("block_tokens differ within the request, before its last block")
    return _positive(each[0])


def _positive(tokens: int | None) -> int:
    if tokens is None:
        return BLOCK_TOKENS
    if tokens < 1:
        raise BadRecord("the block size is below 1")
    return tokens


FORMAT = LogFormat(
    name="mooncake",
    title="Mooncake traces (hash_ids of 512-token blocks, milliseconds)",
    recognise=recognise,
    parser=MooncakeParser,
    scanned_block_tokens=BLOCK_TOKENS,
)
