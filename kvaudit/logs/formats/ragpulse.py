"""RAGPulse: a prompt as ids of its parts by CONTENT (system prompt, passages, history, ...).

An id says what a part is and nothing of what stands before it, so equal ids at another place
are the same text, not the same KV; a replay of prefixes makes that difference itself. The
trace gives a request's tokens but not each part's. As its publishers count, every part weighs
the same: min(512, input_length / parts), rounded half up; a prompt's tokens are the sum, which
differs from ``input_length`` by the rounding (0.002 % over the whole trace).
"""

from __future__ import annotations

from kvaudit.core.requests import Request
from kvaudit.logs.format import BadRecord, EachRow, LogFormat, Row, Sureness
from kvaudit.logs.values import fields

CATEGORIES = ("sys_prompt", "passages_ids", "history", "web_search", "user_input")
MOST_TOKENS_A_PART = 512
_LARGEST_ID = 1 << 60  # so that an id and its category fit one signed 64-bit integer


def recognise(row: Row) -> Sureness:
    """Tell it by its ids: an object of lists."""
    ids = row.get("hash_ids")
    if isinstance(ids, dict) and ids.keys() <= set(CATEGORIES) and "input_length" in row:
        return Sureness.UNMISTAKABLE
    return Sureness.NO


def to_request(row: Row) -> Request:
    """Return the row's request."""
    ids = part_ids(row)
    input_tokens = fields.integer(row.get("input_length"), "input_length")
    if input_tokens is None:
        raise BadRecord("input_length is missing")
    part_tokens = 0
    if ids:
        halves = 2 * input_tokens + len(ids)
        part_tokens = max(1, min(MOST_TOKENS_A_PART, halves // (2 * len(ids))))
    return Request(
        id="",
        arrived_s=fields.number(row.get("timestamp"), "timestamp"),
        session=fields.text(row.get("session_id"), "session_id"),
        block_ids=ids or None,
        block_tokens=part_tokens or None,
        prompt_tokens=part_tokens * len(ids) if ids else input_tokens,
        output_tokens=fields.integer(row.get("output_length"), "output_length"),
    )


def part_ids(row: Row) -> list[int]:
    """Return the ids in the order of the prompt; equal numbers of two categories differ."""
    parts = fields.json_object(row.get("hash_ids"), "hash_ids")
    if parts is None:
        raise BadRecord("hash_ids is missing")
    numbered = []
    for category in parts:
        if category not in CATEGORIES:
            raise BadRecord("hash_ids has an unknown category", category)
        ids = fields.block_ids(parts[category], category) or ()
        if ids and max(map(abs, ids)) > _LARGEST_ID:
            raise BadRecord(f"{category} holds an id of over 60 bits")
        place = CATEGORIES.index(category)
        numbered += [number * len(CATEGORIES) + place for number in ids]
    return numbered


FORMAT = LogFormat(
    name="ragpulse",
    title="RAGPulse (content ids of system prompt, passages, history and question)",
    recognise=recognise,
    parser=lambda: EachRow(to_request),
)
