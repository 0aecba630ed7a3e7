"""SGLang's JSON request log: joining, levels, cuts."""

import pytest

from kvaudit.core.requests import Mark, Status
from kvaudit.logs.format import BadRecord
from kvaudit.logs.formats import sglang_log

ASKED = {
    "text": None,
    "input_ids": [1, 2, 3],
    "sampling_params": {"temperature": 0.5, "top_p": 0.9, "max_new_tokens": 64},
    "lora_path": "adapter",
    "extra_key": "tenant-a",
    "session_params": {"id": "conversation"},
}
RECEIVED = {"timestamp": "2026-11-01T09:00:00", "event": "request.received", "rid": "r1",
            "obj": ASKED}  # fmt: skip
FINISHED = {
    "timestamp": "2026-11-01T09:00:01",
    "event": "request.finished",
    "rid": "r1",
    "obj": ASKED,
    "out": {
        "text": "Lima",
        "output_ids": [9],
        "meta_info": {"prompt_tokens": 1300, "completion_tokens": 1, "cached_tokens": 1296,
                      "e2e_latency": 0.4, "finish_reason": {"type": "stop"}},
    },
}  # fmt: skip


def test_received_and_finished_are_one_request(parse):
    parsed = parse("sglang_log", RECEIVED, FINISHED)
    (request,) = parsed.requests
    assert request.id == "r1"
    assert request.arrived_s == 1793523600.0
    assert request.finished_s == 1793523600.4
    assert request.status is Status.OK
    assert list(request.token_ids) == [1, 2, 3]
    assert list(request.output_ids) == [9]
    assert request.response == "Lima"
    assert (request.prompt_tokens, request.output_tokens, request.cached_tokens) == (1300, 1, 1296)
    assert (request.temperature, request.top_p, request.max_tokens) == (0.5, 0.9, 64)
    assert (request.lora, request.salt, request.session) == ("adapter", "tenant-a", "conversation")
    assert not request.marks
    assert sum(parsed.skipped.values()) == 1


def test_a_finish_alone_tells_when_it_began(parse):
    (request,) = parse("sglang_log", FINISHED).requests
    assert request.arrived_s == pytest.approx(1793523600.6)


def test_what_never_finished_comes_at_the_end(parse):
    unfinished = RECEIVED | {"rid": "r2"}
    first, second = parse("sglang_log", unfinished, RECEIVED, FINISHED).requests
    assert (first.id, second.id) == ("r1", "r2")
    assert second.status is Status.UNKNOWN
    assert list(second.token_ids) == [1, 2, 3]


def test_few_are_held_and_none_is_told_twice(parse, monkeypatch):
    monkeypatch.setattr(sglang_log, "MOST_IN_FLIGHT", 2)
    waiting = [RECEIVED | {"rid": f"r{number}"} for number in range(4)]
    parsed = parse("sglang_log", *waiting, FINISHED | {"rid": "r0"}, FINISHED | {"rid": "r3"})
    assert [r.id for r in parsed.requests] == ["r0", "r1", "r3", "r2"]


def test_a_reused_rid_is_two_requests(parse):
    assert len(parse("sglang_log", RECEIVED, RECEIVED, FINISHED).requests) == 2


def test_an_abort_is_a_cancelled_request(parse):
    meta = {"finish_reason": {"type": "abort"}, "prompt_tokens": 5}
    (request,) = parse("sglang_log", FINISHED | {"out": {"meta_info": meta}}).requests
    assert request.status is Status.CANCELLED


CUT_TEXT = "a" * 1024 + "..." + "b" * 1024
CUT_IDS = [*range(1024), "...", *range(1024)]


@pytest.mark.parametrize(
    "asked",
    [{"text": CUT_TEXT}, {"input_ids": CUT_IDS}, {"text": CUT_TEXT, "input_ids": CUT_IDS}],
)
def test_a_prompt_cut_at_level_2_is_marked(parse, asked):
    (request,) = parse("sglang_log", FINISHED | {"obj": asked}).requests
    assert request.marks == {Mark.TRUNCATED_PROMPT}
    assert request.token_ids is None


def test_whole_text_beside_cut_ids_is_used(parse):
    (request,) = parse(
        "sglang_log", FINISHED | {"obj": {"text": "short", "input_ids": CUT_IDS}}
    ).requests
    assert request.prompt == "short"
    assert not request.marks


def test_a_text_of_that_length_that_was_not_cut_is_whole(parse):
    (request,) = parse("sglang_log", FINISHED | {"obj": {"text": "a" * 2051}}).requests
    assert not request.marks


def test_a_cut_answer_is_left_out(parse):
    out = FINISHED["out"] | {"text": CUT_TEXT, "output_ids": CUT_IDS}
    (request,) = parse("sglang_log", FINISHED | {"out": out}).requests
    assert request.response is None
    assert request.output_ids is None


def test_media_are_not_guessed(parse):
    (request,) = parse(
        "sglang_log", FINISHED | {"obj": ASKED | {"image_data": ["cat.png"]}}
    ).requests
    assert request.marks == {Mark.UNIDENTIFIED_MEDIA}


def test_levels_0_and_1_have_counts_only(parse):
    (request,) = parse("sglang_log", FINISHED | {"obj": {"rid": "r1"}}).requests
    assert not request.has_prompt
    assert request.cached_tokens == 1296


def test_announcements_are_counted_not_parsed(parse):
    openai = {"event": "request.received.openai", "obj": {"messages": []}}
    batch = RECEIVED | {"rid": ["r1", "r2"]}
    parsed = parse("sglang_log", openai, batch)
    assert parsed.requests == []
    assert sum(parsed.skipped.values()) == 2


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (FINISHED | {"rid": None}, "rid"),
        (FINISHED | {"obj": {"text": ["a", "b"]}}, "several prompts"),
        (FINISHED | {"obj": {"input_ids": [[1], [2]]}}, "several prompts"),
        (FINISHED | {"out": 3}, "out"),
    ],
)
def test_a_row_that_cannot_be_understood_says_why(parse, row, reason):
    with pytest.raises(BadRecord, match=reason):
        parse("sglang_log", row)
