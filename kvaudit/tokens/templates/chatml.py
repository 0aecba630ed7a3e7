"""ChatML: each message between ``<|im_start|>`` and ``<|im_end|>``. The default.

Tools have no fixed place in ChatML. Here they stand at the end of the system message, one
JSON object a line in the order sent, and tool calls stand likewise after their message's text.
"""

from __future__ import annotations

from kvaudit.core.requests import Json, Request
from kvaudit.tokens.pieces import Piece, Special, merge_text
from kvaudit.tokens.templates.content import content_pieces, media_of, role_of, to_json

_START = Special("<|im_start|>")
_END = Special("<|im_end|>")


class ChatML:
    """ChatML with tools in the system message."""

    name = "chatml"
    control_tokens = frozenset((_START.text, _END.text))
    end_of_turn = _END
    adds_bos = False
    renders_whole = False
    clock_dependent = False

    def render(self, request: Request) -> list[Piece]:
        """Pieces of the prompt, ending in the head of the assistant's message."""
        media = media_of(request)
        pieces: list[Piece] = []
        messages = request.messages or ()
        tools = "\n\n# Tools\n\n" + _lines(request.tools) if request.tools else ""
        if tools and not (messages and role_of(messages[0]) == "system"):
            pieces += (_START, "system\n" + tools.lstrip("\n"), _END, "\n")
            tools = ""
        for message in messages:
            content = message.get("content")
            calls = message.get("tool_calls")
            if type(content) is str and not calls and not tools:
                pieces += (_START, f"{role_of(message)}\n{content}", _END, "\n")
                continue
            text = ("\n" if content else "") + _lines(calls) if calls else ""
            body = [role_of(message) + "\n", *content_pieces(content, media), text, tools]
            pieces += (_START, *merge_text(body), _END, "\n")
            tools = ""
        pieces += (_START, "assistant\n")
        return pieces


def _lines(values: object) -> str:
    rows: list[Json] = list(values) if isinstance(values, list | tuple) else []
    return "\n".join(map(to_json, rows))


TEMPLATE = ChatML()
