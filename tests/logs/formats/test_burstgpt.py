"""BurstGPT rows of the first traces and of the third."""

from kvaudit.core.requests import Status

OLD = {"Timestamp": "5", "Model": "ChatGPT", "Request tokens": "472", "Response tokens": "18",
       "Total tokens": "490", "Log Type": "Conversation log"}  # fmt: skip


def test_a_row_of_the_first_traces(parse):
    (request,) = parse("burstgpt", OLD).requests
    assert request.arrived_s == 5.0
    assert request.finished_s is None
    assert request.model == "ChatGPT"
    assert request.session is None
    assert (request.prompt_tokens, request.output_tokens) == (472, 18)
    assert request.status is Status.OK


def test_the_third_trace_adds_session_and_duration(parse):
    (request,) = parse("burstgpt", OLD | {"Session ID": "17", "Elapsed time": "1.5"}).requests
    assert request.session == "17"
    assert request.finished_s == 6.5


def test_no_response_tokens_is_a_failure(parse):
    (request,) = parse("burstgpt", OLD | {"Response tokens": "0"}).requests
    assert request.status is Status.ERROR
