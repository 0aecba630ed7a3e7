"""ChatML: each message between ``<|im_start|>`` and ``<|im_end|>``. The default.

Tools have no fixed place in ChatML. Here they stand at the end of the system message, one
JSON object a line in the order sent, and tool calls stand likewise after their message's text.
"""

from __future__ import annotations

from kvaudit.core.requests import Json, Request
from kvaudit.tokens.pieces import Piece, Special, merge_text
from kvaudit.tokens.templates.content import content_pieces, role_of, to_json
from kvaudit.tokens.templates.media import media_of

FIRST = Special("<|im_start|>")
NEXT = Special("<|im_end|>\n<|im_start|>")
END = Special("<|im_end|>")


class ChatML:
    """ChatML with tools in the system message."""

    name = "chatml"
    control_tokens = frozenset((FIRST.text, END.text))
    end_of_turn = END
    adds_bos = False
    renders_whole = False
    clock_dependent = False

    def render(self, request: Request) -> list[Piece]:
        """Pieces of the prompt, ending in the head of the assistant's message."""
        media = media_of(request)
        pieces: list[Piece] = [FIRST]
        messages = request.messages or ()
        tools = "# Tools\n\n" + _lines(request.tools) if request.tools else ""
        if tools and not (messages and role_of(messages[0]) == "system"):
            pieces += (f"system\n{tools}", NEXT)
            tools = ""
        for message in messages:
            content = message.get("content")
            calls = message.get("tool_calls")
            role = message.get("role") or role_of(message)
            if type(content) is str and not calls and not tools:
                pieces += (f"{role}\n{content}", NEXT)
                continue
            body = [f"{role}\n", *content_pieces(content, media)]
            if calls:
                body += ("\n" if content else "", _lines(calls))
            if tools:
                body += ("\n\n" if content else "", tools)
                tools = ""
            pieces += (*merge_text(body), NEXT)
        pieces.append("assistant\n")
        return pieces


def _lines(values: object) -> str:
    rows: list[Json] = list(values) if isinstance(values, list | tuple) else []
    return "\n".join(map(to_json, rows))


TEMPLATE = ChatML()
