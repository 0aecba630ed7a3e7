"""Plain text: ``role: content`` a line, as completion prompts and base models are fed.

Messages without a role are put one behind the other with nothing between. There are no
control tokens, so the vocabulary's first token stands in front as with a raw prompt.
"""

from __future__ import annotations

from kvaudit.core.requests import Request
from kvaudit.tokens.pieces import Piece, merge_text
from kvaudit.tokens.templates.content import content_pieces, to_json
from kvaudit.tokens.templates.media import media_of


class Plain:
    """Text without control tokens; tools are JSON lines in front."""

    name = "plain"
    control_tokens: frozenset[str] = frozenset()
    end_of_turn = None
    adds_bos = True
    renders_whole = True
    clock_dependent = False

    def render(self, request: Request) -> list[Piece]:
        """One text, ending in ``assistant:`` where the messages have roles."""
        media = media_of(request)
        pieces: list[Piece] = [f"{to_json(tool)}\n" for tool in request.tools or ()]
        messages = request.messages or ()
        for message in messages:
            role = message.get("role")
            calls = message.get("tool_calls") or ()
            pieces.append("" if role is None else f"{role}: ")
            pieces += content_pieces(message.get("content"), media)
            pieces += [f"\n{to_json(call)}" for call in calls]
            pieces.append("" if role is None else "\n")
        if any(message.get("role") is not None for message in messages):
            pieces.append("assistant:")
        return merge_text(pieces)


TEMPLATE = Plain()
