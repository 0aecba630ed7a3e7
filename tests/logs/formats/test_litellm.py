"""LiteLLM's two logs: response cache hits, cut prompts, columns that are text."""

import csv
import io
import json

import pytest

from kvaudit.core.requests import Mark, Status
from kvaudit.logs.formats import litellm_payload, litellm_spend_logs

USER = {"role": "user", "content": "Which lake is deepest?"}
USAGE = {"prompt_tokens": 2100, "prompt_tokens_details": {"cached_tokens": 1920}}
SPEND = {
    "request_id": "c9",
    "call_type": "acompletion",
    "api_key": "88dc",
    "spend": 0.002,
    "total_tokens": 2103,
    "prompt_tokens": 2100,
    "completion_tokens": 3,
    "startTime": "2026-11-02 08:00:00",
    "endTime": "2026-11-02 08:00:02",
    "completionStartTime": "2026-11-02 08:00:00.5",
    "model": "gpt-x",
    "user": "",
    "end_user": "u",
    "metadata": {"status": "success", "usage_object": USAGE},
    "cache_hit": "False",
    "messages": {},
    "response": {"choices": [{"message": {"content": "Baikal"}}]},
    "proxy_server_request": {"model": "gpt-x", "messages": [USER], "temperature": 0},
    "session_id": "s9",
}
PAYLOAD = {
    "id": "c9",
    "trace_id": "t9",
    "call_type": "acompletion",
    "status": "success",
    "prompt_tokens": 2100,
    "completion_tokens": 3,
    "startTime": 1793606400.0,
    "endTime": 1793606402.0,
    "completionStartTime": 1793606400.5,
    "model": "gpt-x",
    "end_user": "u",
    "metadata": {"user_api_key_team_id": "team", "usage_object": USAGE},
    "cache_hit": None,
    "saved_cache_cost": 0.0,
    "messages": [USER],
    "response": {"choices": [{"message": {"content": "Baikal"}}]},
    "model_parameters": {"temperature": 0, "tools": [{"type": "function"}]},
}
BOTH = [(litellm_spend_logs, SPEND), (litellm_payload, PAYLOAD)]


def parse(module, row):
    (request,) = module.FORMAT.parser().parse(row)
    return request


def as_csv(row):
    """The row as it comes back from a CSV: text, or nothing."""
    cells = {k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in row.items()}
    held = io.StringIO()
    writer = csv.DictWriter(held, cells)
    writer.writeheader()
    writer.writerow(cells)
    held.seek(0)
    (back,) = csv.DictReader(held)
    return {name: cell or None for name, cell in back.items()}


@pytest.mark.parametrize(("module", "row"), BOTH)
def test_both_say_the_same(module, row):
    request = parse(module, row)
    assert list(request.messages) == [USER]
    assert (request.id, request.user, request.model) == ("c9", "u", "gpt-x")
    assert (request.prompt_tokens, request.cached_tokens, request.output_tokens) == (2100, 1920, 3)
    assert (request.arrived_s, request.finished_s, request.ttft_s) == (1793606400, 1793606402, 0.5)
    assert (request.status, request.response, request.temperature) == (Status.OK, "Baikal", 0)
    assert not request.response_cache_hit


def test_whom_it_is_charged_to():
    assert parse(litellm_spend_logs, SPEND).tenant == "88dc"
    assert parse(litellm_spend_logs, SPEND | {"team_id": "team"}).tenant == "team"
    payload = parse(litellm_payload, PAYLOAD)
    assert (payload.tenant, payload.session) == ("team", "t9")
    assert list(payload.tools) == [{"type": "function"}]


def test_a_csv_of_the_table_reads_the_same():
    assert parse(litellm_spend_logs, as_csv(SPEND)) == parse(litellm_spend_logs, SPEND)


@pytest.mark.parametrize(
    ("change", "hit"),
    [
        ({"cache_hit": "True"}, True),
        ({"cache_hit": "False"}, False),
        ({"cache_hit": "None"}, None),
        ({"cache_hit": ""}, None),
        ({"cache_hit": "None", "request_id": "c9_cache_hit1793606400.1"}, True),
    ],
)
def test_answers_from_litellms_own_cache(change, hit):
    request = parse(litellm_spend_logs, SPEND | change)
    assert request.response_cache_hit is hit
    assert request.reached_model is not bool(hit)


def test_the_payload_says_it_with_a_bool():
    assert parse(litellm_payload, PAYLOAD | {"cache_hit": True}).response_cache_hit is True


CUT = "x" * 716 + "... (litellm_truncated skipped 900 chars) ..." + "y" * 1331


@pytest.mark.parametrize("text", [CUT, "x" * 1000 + "... (truncated 52 chars)", "x" * 2048])
def test_a_prompt_that_was_cut_is_marked(text):
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": text}]}]}
    row = SPEND | {"proxy_server_request": json.dumps(body)}
    assert parse(litellm_spend_logs, row).marks == {Mark.TRUNCATED_PROMPT}


@pytest.mark.parametrize(
    "text",
    ["x" * 2047, "x" * 3000, "say (litellm_truncated)", "x" * 1500 + "... (truncated 9 chars)"],
)
def test_a_prompt_that_was_not_cut_is_not(text):
    body = {"messages": [{"role": "user", "content": text}]}
    assert not parse(litellm_spend_logs, SPEND | {"proxy_server_request": body}).marks


def test_an_answer_that_was_cut_is_unknown_and_no_reason_to_doubt_the_prompt():
    answer = {"choices": [{"message": {"content": CUT}}]}
    request = parse(litellm_spend_logs, SPEND | {"response": answer})
    assert (request.response, request.marks) == (None, frozenset())


@pytest.mark.parametrize(("module", "row"), BOTH)
def test_placeholders_are_no_prompt(module, row):
    hidden = [{"role": "user", "content": "redacted-by-litellm"}]
    body = {"messages": hidden}
    request = parse(module, row | {"messages": hidden, "proxy_server_request": body})
    assert (request.messages, request.prompt_tokens) == (None, 2100)


def test_without_stored_prompts_there_are_counts():
    row = SPEND | {"proxy_server_request": "{}", "messages": "{}", "response": "{}"}
    request = parse(litellm_spend_logs, row)
    assert (request.messages, request.cached_tokens) == (None, 1920)


def test_prompts_of_before_2025_stand_in_messages():
    row = SPEND | {"proxy_server_request": None, "messages": json.dumps([USER])}
    assert list(parse(litellm_spend_logs, row).messages) == [USER]


@pytest.mark.parametrize(("module", "row"), BOTH)
def test_failures_and_calls_that_were_not_streamed(module, row):
    failed = parse(module, row | {"status": "failure"})
    assert failed.status is Status.ERROR
    assert parse(module, row | {"completionStartTime": row["endTime"]}).ttft_s is None


@pytest.mark.parametrize(("module", "row"), BOTH)
def test_other_calls_are_left_out(module, row):
    parser = module.FORMAT.parser()
    assert not list(parser.parse(row | {"call_type": "aembedding"}))
    assert parser.skipped == {"embedding, image or other call, not a language model's": 1}
