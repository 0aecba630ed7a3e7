"""How a request becomes the pieces of a prompt, in which two requests are compared."""

from __future__ import annotations

from kvaudit.analyzers.divergence.parting import Render
from kvaudit.core.requests import Request
from kvaudit.tokens.encode import PromptEncoder
from kvaudit.tokens.pieces import Media, Special, TemplateRefused


def render_with(encoder: PromptEncoder) -> Render:
    """Return how requests become the pieces of a prompt, as the encoder renders them."""

    def render(request: Request) -> list[str]:
        if request.messages is None:
            return [request.prompt or ""]
        try:
            return [_text(piece) for piece in encoder.template.render(request)]
        except TemplateRefused:
            return []

    return render


def _text(piece: str | Special | Media) -> str:
    if isinstance(piece, str):
        return piece
    return piece.text if isinstance(piece, Special) else piece.content_hash
