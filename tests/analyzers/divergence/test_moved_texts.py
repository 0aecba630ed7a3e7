"""A text that a fix moves, in the messages of a request."""

from kvaudit.analyzers.divergence.destinations import Destination
from kvaudit.analyzers.divergence.moved_texts import with_moved
from kvaudit.core.requests import Request

CLOCK = "It is 9:41.\n\n"
REQUEST = Request(
    id="r",
    messages=[
        {"role": "system", "content": f"{CLOCK}You help."},
        {"role": "user", "content": "Where?"},
    ],
)


def contents(texts, to):
    moved = with_moved(REQUEST, texts, to)
    return None if moved is None else [message["content"] for message in moved.messages]


def test_a_text_leaves_its_message_for_another_one():
    assert contents([CLOCK], Destination.END) == ["You help.", "Where?"]
    assert contents([CLOCK], Destination.NEWEST) == ["You help.", f"{CLOCK}Where?"]
    assert contents([CLOCK], Destination.FIRST) == [f"You help.\n{CLOCK}", "Where?"]
    assert contents([CLOCK], Destination.NOWHERE) == ["You help.", "Where?"]


def test_a_text_that_no_message_holds_as_it_is_cannot_be_moved_there():
    assert contents(["system\nIt is"], Destination.END) is None
    assert contents([CLOCK], Destination.BEHIND) is None


def test_blank_text_stands_in_no_message_that_is_known():
    assert contents(["\n\n"], Destination.END) is None
    assert contents(["\t"], Destination.END) is None


def test_a_message_of_several_parts_is_not_written_over():
    parts = [{"type": "text", "text": "Where?"}]
    system, user = REQUEST.messages
    newest = Request(id="r", messages=[system, {**user, "content": parts}])
    assert with_moved(newest, [CLOCK], Destination.NEWEST) is None
    first = Request(id="r", messages=[{**system, "content": parts}, {**user, "content": CLOCK}])
    assert with_moved(first, [CLOCK], Destination.FIRST) is None


def test_blank_lines_in_front_of_a_text_that_ends_its_message_go_with_it():
    messages = [{"role": "system", "content": f"You help.\n\n{CLOCK.strip()}"}]
    request = Request(id="r", messages=[*messages, REQUEST.messages[1]])
    moved = with_moved(request, [CLOCK], Destination.END)
    assert moved.messages[0]["content"] == "You help."
