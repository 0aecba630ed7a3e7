"""The turns of a prompt that is one text, where the text spells them: ``User:``, ``[INST]``.

A prompt that was rendered by the application has its conversation in it as one string. What
happens to a conversation (a message rewritten, the oldest ones gone) is told from its messages, so
they are cut out here, in the words by which a template begins a turn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from kvaudit.core.requests import Json, Request

_USER = (
    r"user|human|customer|nutzer|benutzer|kunde|utilisateur|usuario|用户|客户|顾客|ユーザー|사용자"
)
_ASSISTANT = (
    r"assistant|ai|bot|assistent(?:in)?|ki|assistante|asistente|助手|助理|客服|アシスタント"
)
_SYSTEM = r"system"
_MARK = re.compile(
    r"^(?:<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>|<\||\[|\#+ ?|\*\*)?"
    rf"(?:(?P<user>{_USER})|(?P<assistant>{_ASSISTANT})|(?P<system>{_SYSTEM}))"
    r"(?:<\|end_header_id\|>|\|>|\]|>|:?\*\*:?|[:：]|(?=\n)|\Z)[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_END = re.compile(r"(?:<\|im_end\|>|<\|eot_id\|>|<end_of_turn>|</s>)\s*\Z")
_KEPT = 64
"""Prompts whose turns are remembered; neighbours are compared with the same ones."""


class Turn(NamedTuple):
    """One message of a prompt that is one text."""

    role: str
    start: int
    """Where its mark begins; the turn ends where the next one begins."""
    begin: int
    """Where its content begins, and where it ends without white space."""
    end: int

    def content(self, prompt: str) -> str:
        """Return what is said in it."""
        return prompt[self.begin : self.end]


@lru_cache(_KEPT)
def turns_of(prompt: str) -> Sequence[Turn]:
    """Return the turns in order, instructions in front as the system's; none without a dialogue."""
    marks = [(m.start(), m.end(), str(m.lastgroup)) for m in _MARK.finditer(prompt)]
    # "User: Ada" in the instructions begins no turn: an answer, or the prompt's end, follows one.
    marks = [
        mark
        for mark, after in zip(marks, [*marks[1:], (0, 0, "")], strict=False)
        if not mark[2] == after[2] == "user"
    ]
    if not any(role == "user" for _, _, role in marks) or not any(
        role == "assistant" for _, _, role in marks
    ):
        return ()
    if marks[0][0] > 0:
        marks.insert(0, (0, 0, "system"))
    bounds = [*(start for start, _, _ in marks[1:]), len(prompt)]
    turns = [
        _turn(role, start, begin, bound, prompt)
        for (start, begin, role), bound in zip(marks, bounds, strict=True)
    ]
    return tuple(turns)


def _turn(role: str, start: int, begin: int, bound: int, prompt: str) -> Turn:
    text = _END.sub("", prompt[begin:bound])
    head = len(text) - len(text.lstrip())
    stripped = text.strip()
    return Turn(role, start, begin + head, begin + head + len(stripped))


def with_messages(request: Request) -> Request:
    """Return a request with the turns of its prompt as messages, where it spells them."""
    if request.messages is not None or request.prompt is None:
        return request
    turns = turns_of(request.prompt)
    if not turns:
        return request
    if turns[-1].role == "assistant" and turns[-1].begin >= turns[-1].end:
        turns = turns[:-1]  # where the answer is to begin
    said: list[Json] = [{"role": t.role, "content": t.content(request.prompt)} for t in turns]
    return replace(request, messages=said)


def with_turns(request: Request, messages: Sequence[Json]) -> Request:
    """Return a request whose prompt spells other messages, in its own marks.

    The request itself where it has no mark for one of them.
    """
    prompt = request.prompt
    assert prompt is not None
    turns = turns_of(prompt)
    bounds = [*(turn.start for turn in turns[1:]), len(prompt)]
    marks = {
        turn.role: (prompt[turn.start : turn.begin], prompt[turn.end : bound])
        for turn, bound in reversed(list(zip(turns, bounds, strict=True)))
    }
    if any(message["role"] not in marks for message in messages):
        return request
    said = "".join(str(m["content"]).join(marks[m["role"]]) for m in messages)
    answers = turns[-1].role == "assistant" and turns[-1].begin >= turns[-1].end
    return replace(request, prompt=said + (prompt[turns[-1].start :] if answers else ""))
