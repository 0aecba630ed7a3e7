"""A rendered prompt as one string, to be read in tests."""

from itertools import pairwise

from kvaudit.core.requests import Request
from kvaudit.tokens.pieces import Media


def rendered(template, messages, **fields):
    """Text of all pieces; media are shown as ``[hash]``."""
    pieces = template.render(Request(id="r", messages=messages, **fields))
    kinds = [type(piece) for piece in pieces]
    assert (str, str) not in pairwise(kinds), "two texts stand side by side"
    return "".join(
        piece
        if isinstance(piece, str)
        else f"[{piece[0]}]"
        if isinstance(piece, Media)
        else piece.text
        for piece in pieces
    )


def message(role, content, **fields):
    """One message."""
    return {"role": role, "content": content, **fields}


def call(name, arguments):
    """One tool call as OpenAI's API logs it: arguments are JSON in a string."""
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


WEATHER = {"type": "function", "function": {"name": "weather", "description": "Wetter für 城市"}}
