"""SGLang's metrics export."""

import json

import pytest

from kvaudit.core.requests import Status
from kvaudit.logs.format import BadRecord

ROW = {
    "request_parameters": json.dumps({"rid": "r1", "input_ids": [1, 2, 3]}),
    "id": "r1",
    "prompt_tokens": 1300,
    "completion_tokens": 2,
    "cached_tokens": 1296,
    "e2e_latency": 0.25,
    "request_received_ts": 1793523600.5,
    "finish_reason": {"type": "length"},
}


def test_parameters_are_opened(parse):
    (request,) = parse("sglang_export", ROW).requests
    assert request.id == "r1"
    assert list(request.token_ids) == [1, 2, 3]
    assert (request.arrived_s, request.finished_s) == (1793523600.5, 1793523600.75)
    assert request.cached_tokens == 1296
    assert request.status is Status.OK


def test_parameters_must_be_json(parse):
    with pytest.raises(BadRecord, match="request_parameters"):
        parse("sglang_export", ROW | {"request_parameters": "{"})
    with pytest.raises(BadRecord, match="request_parameters"):
        parse("sglang_export", ROW | {"request_parameters": None})
