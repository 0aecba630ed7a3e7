"""Why two requests part in their instructions, told from a pair of texts."""

import pytest

from kvaudit.analyzers.divergence.instructions import in_instructions
from kvaudit.analyzers.divergence.parting import Parting
from kvaudit.analyzers.divergence.verdict import Pair
from kvaudit.analyzers.template.request_log.texts import shared_head
from kvaudit.core.requests import Request
from kvaudit.core.why import Cause

RULES = "Name the team that is to work on it, and what each of its members does first."


def told(later, earlier, *, same_session=False):
    offset = shared_head(later, earlier)
    where = Parting("system", "system", None, None, later, earlier, offset, offset)
    requests = (Request(id=name, prompt=text) for name, text in (("b", later), ("a", earlier)))
    return in_instructions(Pair(*requests, where, same_session=same_session))


@pytest.mark.parametrize(
    "label",
    ["Here is the request:", "We work on this user request:", "Die Anfrage:", "用户的问题:"],
)
def test_what_stands_behind_a_label_of_requests_is_the_users(label):
    asked = ("Which bars of the town have a comic?", "Which of his books can be heard in French?")
    found = told(*(f"You plan.\n\n{label}\n\n{text}\n\n{RULES}" for text in asked))
    assert (found.cause, found.sure) == (Cause.USER_TEXT_FIRST, True)


def test_a_sentence_about_requests_is_no_label():
    texts = ("Which bars of the town have a comic?", "Which of his books can be heard in French?")
    found = told(*(f"Answer each request.\n\n{text}\n\n{RULES}" for text in texts))
    assert found.cause is Cause.UNCLASSIFIED


@pytest.mark.parametrize(
    ("texts", "cause"),
    [
        (("You review the speed of programs.", "You look for holes."), Cause.UNCLASSIFIED),
        ((f"{RULES}\nThe door is open.", f"{RULES}\nIt is shut now."), Cause.LIVE_STATE),
    ],
)
def test_two_agents_of_a_session_have_prompts_of_their_own(texts, cause):
    assert told(*texts, same_session=True).cause is cause
