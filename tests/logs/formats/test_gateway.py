"""Gateway rows: the body is found, opened, and joined with what the row says."""

import base64
import json

import pytest

from kvaudit.core.requests import Status
from kvaudit.logs.format import BadRecord, Sureness
from kvaudit.logs.formats.gateway import FORMAT
from kvaudit.logs.read import LogReader

BODY = {"model": "gpt-x", "messages": [{"role": "user", "content": "Capital of Chad?"}]}
TEXT = json.dumps(BODY)
NGINX = {
    "time_iso8601": "2026-11-01T09:00:00+00:00",
    "request_uri": "/v1/chat/completions",
    "status": 200,
    "request_time": 1.5,
    "request_body": TEXT,
}


def parse(row):
    (request,) = FORMAT.parser().parse(row)
    return request


@pytest.mark.parametrize(
    "row",
    [
        NGINX,
        {"request_json": TEXT, "ts": "1793523600"},
        {"body": TEXT},
        {"payload": BODY},
        {"proxy_server_request": json.dumps({"url": "/v1", "body": BODY})},
        {"request": json.dumps({"prompt": "Capital of Chad?"})},
        {"captureData": {"endpointInput": {"data": TEXT, "encoding": "JSON"}}},
    ],
)
def test_the_body_is_found(row):
    if "proxy_server_request" not in row:
        assert FORMAT.recognise(row) is not Sureness.NO
    request = parse(row)
    assert request.messages == BODY["messages"] or request.prompt == "Capital of Chad?"


@pytest.mark.parametrize(
    "row", [{"body": "hello"}, {"body": "{not json"}, {"request": BODY}, {"payload": {"a": 1}}, {}]
)
def test_other_rows_are_not_recognised(row):
    assert FORMAT.recognise(row) is Sureness.NO


def test_nginx_writes_the_row_when_the_call_ends():
    request = parse(NGINX)
    assert (request.arrived_s, request.finished_s) == (1793523598.5, 1793523600.0)
    assert request.status is Status.OK
    assert request.model == "gpt-x"


def test_request_time_may_be_a_point_in_time():
    assert parse({"body": TEXT, "request_time": "2026-11-01 09:00:00"}).arrived_s == 1793523600.0


def test_row_columns_and_the_answer():
    answer = {"choices": [{"message": {"content": "N'Djamena"}}], "usage": {"prompt_tokens": 9}}
    row = {
        "request_body": TEXT,
        "response_body": json.dumps(answer),
        "session_id": "s",
        "tenant_id": 4,
        "user": "u",
        "status": "429",
        "request_id": "r",
    }
    request = parse(row)
    assert (request.id, request.session, request.tenant, request.user) == ("r", "s", "4", "u")
    assert (request.response, request.prompt_tokens) == ("N'Djamena", 9)
    assert request.status is Status.ERROR


def test_streamed_answers_are_joined():
    chunks = [{"choices": [{"delta": {"content": text}}]} for text in ("N'Dja", "mena")]
    stream = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    assert parse({"body": TEXT, "response": stream}).response == "N'Djamena"
    assert parse({"body": TEXT, "response": "-"}).response is None


def test_sagemaker_base64():
    data = base64.b64encode(json.dumps({"inputs": "Hello"}).encode()).decode()
    row = {
        "captureData": {"endpointInput": {"data": data, "encoding": "BASE64"}},
        "eventMetadata": {"eventId": "e", "inferenceTime": "2026-11-01T09:00:00Z"},
    }
    assert FORMAT.recognise(row) is Sureness.UNMISTAKABLE
    request = parse(row)
    assert (request.id, request.prompt, request.arrived_s) == ("e", "Hello", 1793523600.0)


def test_calls_without_a_prompt_are_skipped_and_counted(tmp_path):
    rows = [
        NGINX,
        NGINX | {"request_uri": "/v1/embeddings", "request_body": '{"input": ["a"]}'},
        NGINX | {"request_uri": "/health", "request_body": "-"},
    ]
    path = tmp_path / "access.log"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    reader = LogReader([path])
    assert len(list(reader)) == 1
    assert reader.format_name == "gateway"
    assert reader.skipped == {
        "call that generates no text": 1,
        "call without a request body": 1,
    }


@pytest.mark.parametrize(
    "row",
    [
        {"body": '{"messages": ["cut'},
        {"body": "{}"},
        {"captureData": {}},
        {"captureData": {"endpointInput": {"data": "%%", "encoding": "BASE64"}}},
    ],
)
def test_bad_bodies(row):
    with pytest.raises(BadRecord):
        parse(row)
