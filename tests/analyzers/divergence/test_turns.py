"""Turns that a prompt spells, and what is none."""

import itertools

import pytest

from kvaudit.analyzers.divergence.turns import turns_of, with_messages, with_turns
from kvaudit.core.requests import Request


def said(prompt):
    request = with_messages(Request(id="a", prompt=prompt))
    return [(m["role"], m["content"]) for m in request.messages or ()]


DIALOGUE = [("system", "Be kind."), ("user", "What?"), ("assistant", "That."), ("user", "Why?")]


@pytest.mark.parametrize(
    "prompt",
    [
        "Be kind.\n\nUser: What?\n\nAssistant: That.\n\nUser: Why?\n\nAssistant:",
        "Be kind.\n### Human:\nWhat?\n### AI:\nThat.\n### Human:\nWhy?\n### AI:",
        "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nWhat?<|im_end|>\n"
        "<|im_start|>assistant\nThat.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n"
        "<|im_start|>assistant\n",
        "Be kind.\n用户：What?\n助手：That.\n用户：Why?\n助手：",
        "Be kind.\nKunde: What?\nAssistent: That.\nKunde: Why?\nAssistent:",
    ],
)
def test_a_dialogue_is_cut_into_its_messages(prompt):
    assert said(prompt) == DIALOGUE


def test_a_line_about_the_user_begins_no_turn():
    prompt = "User: Ada\nBe kind.\n\nUser: What?\n\nAssistant:"
    assert said(prompt) == [("system", "User: Ada\nBe kind."), ("user", "What?")]


def test_a_text_without_a_dialogue_has_no_messages():
    assert said("Answer the letter.\nUser: Ada\nThank you.") == []
    request = Request(id="a", messages=[{"role": "user", "content": "User: x\nAssistant: y"}])
    assert with_messages(request) is request


def test_turns_cover_the_prompt():
    prompt = "Be kind.\n\nUser: What?\n\nAssistant: That."
    turns = turns_of(prompt)
    bounds = [*(turn.start for turn in turns), len(prompt)]
    assert "".join(prompt[a:b] for a, b in itertools.pairwise(bounds)) == prompt


def test_other_messages_are_spelt_in_the_marks_of_the_prompt():
    prompt = "Be kind.\n\nUser: What?\n\nAssistant: That.\n\nUser: Why?\n\nAssistant:"
    request = Request(id="a", prompt=prompt)
    messages = with_messages(request).messages
    assert with_turns(request, messages).prompt == prompt
    longer = [*messages[:3], {"role": "assistant", "content": "So."}, messages[3]]
    assert "Assistant: That.\n\nAssistant: So.\n\nUser: Why?" in with_turns(request, longer).prompt
    assert with_turns(request, [{"role": "tool", "content": "12"}]) is request
