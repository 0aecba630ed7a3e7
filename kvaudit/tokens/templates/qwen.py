"""Qwen3: ChatML with tools in XML tags and the reasoning of past turns left out.

Follows the chat template of Qwen3, thinking enabled. Reasoning, given as ``reasoning_content``
or between think tags, is kept only in what the assistant did since the last question. Qwen2.5
differs in a default system message and keeps reasoning: give its own template as a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvaudit.core.requests import Json, Request
from kvaudit.tokens.pieces import Media, Piece, merge_text
from kvaudit.tokens.templates.chatml import END, FIRST, NEXT
from kvaudit.tokens.templates.content import (
    content_pieces,
    reasoning_of,
    role_of,
    to_json,
    tool_calls,
)
from kvaudit.tokens.templates.media import media_of

_TOOLS_INTRODUCTION = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_TOOLS_END = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments "
    'within <tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, '
    '"arguments": <args-json-object>}\n</tool_call>'
)


class Qwen:
    """Qwen3 with thinking enabled."""

    name = "qwen"
    control_tokens = frozenset((FIRST.text, END.text))
    end_of_turn = END
    adds_bos = False
    renders_whole = False
    clock_dependent = False

    def render(self, request: Request) -> list[Piece]:
        """Pieces of the prompt, ending in the head of the assistant's message."""
        media = media_of(request)
        messages = request.messages or ()
        last_question = _last_question(messages)
        pieces: list[Piece] = [FIRST]
        if request.tools:
            pieces += (*_tools(request, media), NEXT)
        for place, message in enumerate(messages):
            role = role_of(message)
            is_last = place == len(messages) - 1
            if role == "user" or (role == "system" and not (place == 0 and request.tools)):
                content = content_pieces(message.get("content"), media)
                pieces += (*merge_text([f"{role}\n", *content]), NEXT)
            elif role == "assistant":
                shows = place > last_question
                pieces += (*_assistant(message, media, shows=shows, is_last=is_last), NEXT)
            elif role == "tool":
                is_first = place == 0 or role_of(messages[place - 1]) != "tool"
                pieces += ["user"] if is_first else []
                content = content_pieces(message.get("content"), media)
                pieces += ("\n<tool_response>\n", *content, "\n</tool_response>")
                if is_last or role_of(messages[place + 1]) != "tool":
                    pieces.append(NEXT)
        pieces.append("assistant\n")
        return merge_text(pieces)


class _Answer(NamedTuple):
    content: list[Piece]
    reasoning: str


def _last_question(messages: Sequence[Json]) -> int:
    for place in range(len(messages) - 1, -1, -1):
        content = messages[place].get("content")
        is_result = (
            isinstance(content, str)
            and content.startswith("<tool_response>")
            and content.endswith("</tool_response>")
        )
        if role_of(messages[place]) == "user" and not is_result:
            return place
    return len(messages) - 1


def _tools(request: Request, media: Iterator[Media]) -> list[Piece]:
    messages = request.messages or ()
    system: list[Piece] = []
    if messages and role_of(messages[0]) == "system":
        system = [*content_pieces(messages[0].get("content"), media), "\n\n"]
    listed = "".join(f"\n{to_json(tool)}" for tool in request.tools or ())
    return merge_text(["system\n", *system, _TOOLS_INTRODUCTION + listed + _TOOLS_END])


def _assistant(message: Json, media: Iterator[Media], *, shows: bool, is_last: bool) -> list[Piece]:
    content, reasoning = _answer(message, media)
    body: list[Piece] = ["assistant\n", *content]
    if shows and (is_last or reasoning):
        if content and isinstance(content[0], str):
            body[1] = content[0].lstrip("\n")
        body.insert(1, "<think>\n" + reasoning.strip("\n") + "\n</think>\n\n")
    for place, call in enumerate(tool_calls(message)):
        arguments = call.get("arguments")
        text = (
            arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        )
        body.append("\n" if place or content else "")
        body.append(
            f'<tool_call>\n{{"name": "{call.get("name")}", "arguments": {text}}}\n</tool_call>'
        )
    return merge_text(body)


def _answer(message: Json, media: Iterator[Media]) -> _Answer:
    content = content_pieces(message.get("content"), media)
    reasoning = reasoning_of(message)
    if reasoning is not None:
        return _Answer(content, reasoning)
    text = content[0] if len(content) == 1 else None
    if not isinstance(text, str) or "</think>" not in text:
        return _Answer(content, "")
    thoughts = text.split("</think>")[0].rstrip("\n").split("<think>")[-1].lstrip("\n")
    return _Answer(merge_text([text.split("</think>")[-1].lstrip("\n")]), thoughts)


TEMPLATE = Qwen()
