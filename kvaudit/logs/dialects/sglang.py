"""What SGLang writes about a request, in its log and in its metrics export alike.

At log level 2 it shortens every text over 2,048 characters to its two ends with "..." between,
and every list over 2,048 items likewise (request_logger.py, 0.5.23): such a prompt is marked,
for what follows the cut is not what the model read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvaudit.core.requests import Mark, Request, Status
from kvaudit.logs.format import BadRecord, Row
from kvaudit.logs.values import fields
from kvaudit.logs.values.times import after

HALF_OF_A_CUT = 1024
GAP = "..."


def request_of(
    asked: Row, meta: Row, *, request_id: str, arrived_s: float | None, answer: Row | None = None
) -> Request:
    """Return the request: ``asked`` is its parameters, ``meta`` the engine's meta_info."""
    sampling = fields.json_object(asked.get("sampling_params"), "sampling_params") or {}
    session = fields.json_object(asked.get("session_params"), "session_params") or {}
    elapsed_s = fields.number(meta.get("e2e_latency"), "e2e_latency")
    return Request(
        id=request_id,
        arrived_s=arrived_s,
        finished_s=after(arrived_s, elapsed_s),
        status=_status(meta),
        session=fields.text(session.get("id"), "session_params.id"),
        salt=fields.text(asked.get("extra_key"), "extra_key"),
        lora=fields.text(asked.get("lora_path"), "lora_path"),
        prompt_tokens=fields.integer(meta.get("prompt_tokens"), "prompt_tokens"),
        output_tokens=fields.integer(meta.get("completion_tokens"), "completion_tokens"),
        cached_tokens=fields.integer(meta.get("cached_tokens"), "cached_tokens"),
        temperature=fields.number(sampling.get("temperature"), "temperature"),
        top_p=fields.number(sampling.get("top_p"), "top_p"),
        max_tokens=fields.integer(sampling.get("max_new_tokens"), "max_new_tokens"),
        **_prompt(asked),
        **_answer(answer or {}),
    )


def _status(meta: Row) -> Status:
    reason = meta.get("finish_reason")
    if not isinstance(reason, dict):
        return Status.OK if meta.get("completion_tokens") else Status.UNKNOWN
    return Status.CANCELLED if reason.get("type") == "abort" else Status.OK


def _prompt(asked: Row) -> Mapping[str, Any]:
    ids, text = asked.get("input_ids"), asked.get("text")
    if isinstance(text, list) or (isinstance(ids, list) and ids and isinstance(ids[0], list)):
        raise BadRecord("several prompts in one record")
    marks = set()
    if any(asked.get(kind) for kind in ("image_data", "video_data", "audio_data")):
        marks.add(Mark.UNIDENTIFIED_MEDIA)
    if isinstance(ids, list) and GAP not in ids:
        return {"token_ids": fields.token_ids(ids, "input_ids"), "marks": frozenset(marks)}
    prompt = fields.text(text, "text")
    if (prompt is None and isinstance(ids, list)) or (prompt is not None and is_cut(prompt)):
        marks.add(Mark.TRUNCATED_PROMPT)
    return {"prompt": prompt, "marks": frozenset(marks)}


def _answer(answer: Row) -> Mapping[str, Any]:
    ids = answer.get("output_ids")
    if not isinstance(ids, list) or GAP in ids:
        ids = None
    response = fields.text(answer.get("text"), "out.text")
    if response is not None and is_cut(response):
        response = None
    return {"output_ids": fields.token_ids(ids, "output_ids"), "response": response}


def is_cut(text: str) -> bool:
    """Return whether SGLang's logger shortened this text."""
    middle = slice(HALF_OF_A_CUT, HALF_OF_A_CUT + len(GAP))
    return len(text) == 2 * HALF_OF_A_CUT + len(GAP) and text[middle] == GAP
