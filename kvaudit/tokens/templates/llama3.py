"""Llama 3.1 and 3.3 Instruct, with the date their template falls back to, 26 Jul 2024.

Follows the chat template of Llama-3.1-8B-Instruct (Llama-3.3-70B-Instruct has the same): a
system message always, tools in the first user message, content without surrounding white
space. Where that template refuses several tool calls in one message, they follow each other
here. Llama 3.0 has no date and no default system message: give its own template as a file.
"""

from __future__ import annotations

import json

from kvaudit.core.requests import Json, Request
from kvaudit.tokens.pieces import Piece, Special, TemplateRefused, merge_text
from kvaudit.tokens.templates.content import content_pieces, content_text, role_of, tool_calls, trim
from kvaudit.tokens.templates.media import media_of

_EOT = Special("<|eot_id|>")
_DATES = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"
_TOOLS_INTRODUCTION = (
    "Given the following functions, please respond with a JSON for a function call "
    "with its proper arguments that best answers the given prompt.\n\n"
    'Respond in the format {"name": function name, "parameters": dictionary of argument name '
    "and its value}.Do not use variables.\n\n"
)


class Llama3:
    """Llama 3.1 and 3.3 Instruct."""

    name = "llama3"
    control_tokens = frozenset(
        ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", _EOT.text)
    )
    end_of_turn = _EOT
    adds_bos = False
    renders_whole = False
    clock_dependent = False

    def render(self, request: Request) -> list[Piece]:
        """Pieces of the prompt, ending in the head of the assistant's message."""
        media = media_of(request)
        messages = list(request.messages or ())
        system: list[Piece] = []
        if messages and role_of(messages[0]) == "system":
            system = trim(content_pieces(messages.pop(0).get("content"), media))
        ipython = "Environment: ipython\n" if request.tools else ""
        head = Special("<|begin_of_text|><|start_header_id|>system<|end_header_id|>")
        pieces = [head, *merge_text(["\n\n" + ipython + _DATES, *system])]
        if request.tools:
            if not messages:
                raise TemplateRefused("tools without a message to put them in")
            first = trim(content_pieces(messages.pop(0).get("content"), media))
            pieces += (_turn("user"), *merge_text([_tools(request), *first]))
        for message in messages:
            if calls := tool_calls(message):
                pieces += (_turn("assistant"), "\n\n" + "".join(map(_call, calls)))
            elif (role := role_of(message)) in ("tool", "ipython"):
                text = json.dumps(content_text(message.get("content"), media), ensure_ascii=False)
                pieces += (_turn("ipython"), "\n\n" + text)
            else:
                body = trim(content_pieces(message.get("content"), media))
                pieces += (_turn(role), *merge_text(["\n\n", *body]))
        return [*pieces, _turn("assistant"), "\n\n"]


def _turn(role: str) -> Special:
    return Special(f"<|eot_id|><|start_header_id|>{role}<|end_header_id|>")


def _tools(request: Request) -> str:
    shown = [json.dumps(tool, ensure_ascii=False, indent=4) for tool in request.tools or ()]
    return "\n\n" + _TOOLS_INTRODUCTION + "".join(f"{tool}\n\n" for tool in shown)


def _call(call: Json) -> str:
    arguments = json.dumps(call.get("arguments"), ensure_ascii=False)
    return f'{{"name": "{call.get("name")}", "parameters": {arguments}}}'


TEMPLATE = Llama3()
