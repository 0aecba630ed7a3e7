"""Token logs: one request a record, as the token ids of its prompt.

``arrive`` is the scheduler step at which a request is queued; ``output_len`` stands for
generated tokens whose ids are unknown. LLMServingSim writes ``input_tok_ids``,
``output_tok_ids`` and ``arrival_time_ns``.
"""

from __future__ import annotations

from kvaudit.core.requests import Request
from kvaudit.logs.format import EachRow, LogFormat, Row, Sureness
from kvaudit.logs.formats.record import is_record, to_request
from kvaudit.logs.values import fields

_SPELLINGS = {
    "arrive": "arrive_step",
    "output_len": "output_tokens",
    "input_tok_ids": "token_ids",
    "output_tok_ids": "output_ids",
    "input_toks": "prompt_tokens",
    "output_toks": "output_tokens",
    "request_id": "id",
}


def _recognise(row: Row) -> Sureness:
    own = "token_ids" in row or "input_tok_ids" in row
    return Sureness.OWN if own and not is_record(row) else Sureness.NO


def _request(row: Row) -> Request:
    renamed = {_SPELLINGS.get(key, key): value for key, value in row.items()}
    nanoseconds = fields.number(row.get("arrival_time_ns"), "arrival_time_ns")
    if nanoseconds is not None:
        renamed["arrived_s"] = nanoseconds / 1e9
    return to_request(renamed)


FORMAT = LogFormat(
    name="token-ids",
    title="token ids of prompts and outputs, one request a record",
    recognise=_recognise,
    parser=lambda: EachRow(_request),
)
