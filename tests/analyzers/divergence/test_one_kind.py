"""One kind of what happens to a history taken back, and the others left as they are."""

import pytest

from kvaudit.analyzers.divergence.repairs.one_kind import OneKind
from kvaudit.core.why import Cause

BLOCK = "<env>\nclock 9:41\n</env>\n\n"
LONG = (
    "The lid is in hall seven, behind the second door, and the key to it hangs beside the stairs."
)
CUT = f"{LONG[:40]} [shortened]"


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


TURNS = [
    [user(f"{BLOCK}Where is the lid?")],
    [user("Where is the lid?"), assistant(f"<think>Hm.</think>\n{LONG}"), user("And the key?")],
    [user("Where is the lid?"), assistant(LONG), user("And the key?"), assistant("There."),
     user("Thanks, and the spare one?")],
    [user("Where is the lid?"), assistant(CUT), user("And the key?"), assistant("There."),
     user("Thanks, and the spare one?"), assistant("None."), user("What is it made of?")],
    [assistant("None."), user("What is it made of?"), assistant("Of brass."), user("Good.")],
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "turn", "first"),
    [
        (Cause.ENVIRONMENT_NOT_REPLAYED, 3, [f"{BLOCK}Where is the lid?", CUT]),
        (Cause.REASONING_STRIPPED, 2, ["Where is the lid?", f"<think>Hm.</think>\n{LONG}"]),
        (Cause.REASONING_STRIPPED, 3, ["Where is the lid?", f"<think>Hm.</think>\n{CUT}"]),
        (Cause.HISTORY_REWRITTEN, 3, ["Where is the lid?", LONG]),
        (Cause.HISTORY_TRIMMED, 4, ["Where is the lid?", LONG]),
        (Cause.HISTORY_REWRITTEN, 4, ["None.", "What is it made of?"]),
    ],
)
def test_a_kind_is_taken_back_alone(kind, turn, first):
    repair = OneKind(kind)
    mended = [repair.mended(messages) for messages in TURNS]
    assert [message["content"] for message in mended[turn][:2]] == first
    assert mended[0] == TURNS[0]
    assert mended[turn][-1] == TURNS[turn][-1]


def test_a_message_that_only_calls_tools_has_no_text_to_put_back():
    called = {"role": "assistant", "tool_calls": [{"function": {"name": "find", "arguments": "1"}}]}
    thought = {"role": "assistant", "content": f"<think>Hm.</think>\n{LONG}"}
    repair = OneKind(Cause.REASONING_STRIPPED)
    repair.mended([thought])
    repair.mended([assistant(LONG)])
    again = {**called, "tool_calls": [{**called["tool_calls"][0], "note": LONG}]}
    assert repair.mended([again]) == [again]


def test_a_message_that_was_sent_as_it_is_is_no_part_of_an_earlier_one():
    turns = [user("Where is the lid?"), assistant(LONG), user("Say it shortly.")]
    turns += [assistant("hall seven"), user("Thanks.")]
    repair = OneKind(Cause.HISTORY_TRIMMED)
    assert repair.mended(turns) == turns
    assert repair.mended(turns[3:]) == turns


def test_a_message_of_which_only_the_beginning_is_left_is_the_same():
    whole = " ".join(f"Shelf {n} holds part {7 * n} of the door." for n in range(40))
    turns = [user("Where is the lid?"), assistant(whole), user("And the key?")]
    cut = [turns[0], assistant(f"{whole[:40]} [shortened]"), *turns[2:]]
    repair = OneKind(Cause.HISTORY_REWRITTEN)
    repair.mended(turns)
    assert repair.mended(cut) == turns


def test_a_block_is_put_back_into_a_message_of_parts():
    def parts(*texts):
        return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}

    repair = OneKind(Cause.ENVIRONMENT_NOT_REPLAYED)
    repair.mended([parts(BLOCK, "Where is the lid?")])
    again = [parts("Where is the lid?"), assistant(LONG), user("And the key?")]
    assert repair.mended(again) == [parts(BLOCK, "Where is the lid?"), *again[1:]]
