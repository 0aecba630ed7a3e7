"""What a chat template renders a request to: text, control tokens and media, in order.

Control tokens and media are hard boundaries. No token reaches across one, so the text between
two of them can be tokenized, and remembered, on its own with the ids of the whole prompt.
"""

from typing import NamedTuple


class Special(NamedTuple):
    """Fixed text that begins and ends with a control token: ``<|im_start|>``.

    What a template writes between two messages is one such piece, tokenized once.
    """

    text: str


class Media(NamedTuple):
    """One image, sound or file, by the hash of its content.

    It stands for one unit. An engine puts tens to thousands of placeholder tokens in its
    place, a number that depends on the model and the size of the picture, which logs lack.
    """

    content_hash: str
    kind: str = "media"


Piece = str | Special | Media


class TemplateRefused(Exception):
    """The chat template cannot render this request; the reason is a phrase.

    A server answers such a request with an error, so it never reaches a cache.
    """


def merge_text(pieces: list[Piece]) -> list[Piece]:
    """Join neighbouring texts: only control tokens and media may part what is tokenized."""
    merged: list[Piece] = []
    for piece in pieces:
        if not isinstance(piece, str):
            merged.append(piece)
        elif merged and isinstance(merged[-1], str):
            merged[-1] += piece
        elif piece:
            merged.append(piece)
    return merged
