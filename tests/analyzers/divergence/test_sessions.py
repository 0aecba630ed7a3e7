"""Conversations told apart by what their requests have in common."""

from kvaudit.analyzers.divergence.sessions import Sessions
from kvaudit.core.requests import Request

RULES = {"role": "system", "content": "Answer in one sentence, and name the page."}
Q = [f"Question {n}: what does the form {n * 7} ask for?" for n in range(4)]
A = [f"Answer {n}: it asks for the number {n * 11} on the label." for n in range(4)]


def told(*conversations):
    """Return the sessions of requests whose messages alternate between user and assistant."""
    sessions = Sessions()
    roles = ("user", "assistant")
    requests = [
        Request(
            id=str(n),
            messages=[RULES, *({"role": roles[k % 2], "content": c} for k, c in enumerate(said))],
            response=response,
        )
        for n, (said, response) in enumerate(conversations)
    ]
    return [sessions.of(request) for request in requests]


def test_what_goes_on_is_one_conversation():
    one, other, again = told(
        ([Q[0]], A[0]), ([Q[1]], A[1]), ([Q[0], A[0], Q[2]], A[2])
    )  # fmt: skip
    assert one == again != other


def test_a_trimmed_or_rewritten_history_is_still_known():
    found = told(
        ([Q[0]], A[0]),
        ([Q[0], A[0], Q[1]], A[1]),
        ([Q[1], A[1], Q[2]], A[2]),
        (["(gone)", A[0], Q[1], A[1], "<screen>on</screen>" + Q[2], A[2], Q[3]], A[3]),
    )
    assert len(set(found)) == 1


def test_examples_that_all_requests_have_are_no_conversation():
    shots = ["What is the form?", "A letter with boxes."]
    assert len(set(told(*(([*shots, q], a) for q, a in zip(Q, A, strict=True))))) == 4


def test_the_session_of_the_log_is_believed():
    assert Sessions().of(Request(id="a", session="s", prompt="Hello")) == "s"
    assert Sessions().of(Request(id="a", prompt="Hello, what is this?")) is None
