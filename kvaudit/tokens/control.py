"""Control tokens spelled in text.

A server tokenizes the rendered prompt as one string, and Hugging Face's tokenizers match every
control token in it, those that a user typed included (vLLM up to 0.33 with its default
``--tokenizer-mode``; mistral-common does not). Text is therefore split at the control tokens
of the vocabulary and of the chat template before it is tokenized.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kvaudit.tokens.pieces import Piece, Special
from kvaudit.tokens.tokenizer import ControlToken, Tokenizer

# Control tokens that the vocabulary lacks count as one token each, of an id that no
# vocabulary reaches and no media has (see `kvaudit.tokens.encode`).
FIRST_UNKNOWN_ID = 2**29


class ControlTokens:
    """The control tokens that are matched in prompts of one tokenizer and template."""

    def __init__(self, tokenizer: Tokenizer, of_template: Iterable[str]) -> None:
        """Join the vocabulary's control tokens and those ``of_template``."""
        self._tokens = dict(tokenizer.control_tokens)
        self.unknown: list[str] = []
        for text in sorted(of_template):
            self._add(text, tokenizer)
        self._strips = any(t.strips_left or t.strips_right for t in self._tokens.values())
        # Longest first: where one spelling begins another, the longer one is matched.
        spellings = sorted(self._tokens, key=lambda text: (-len(text), text))
        pattern = "|".join(map(re.escape, spellings)) or "(?!)"
        self.occurs_in = re.compile(pattern).search
        self._find_all = re.compile(pattern).findall
        self._split = re.compile(f"({pattern})").split

    def _add(self, text: str, tokenizer: Tokenizer) -> None:
        if text in self._tokens:
            return
        id_ = tokenizer.special_id(text)
        if id_ is None:
            id_ = FIRST_UNKNOWN_ID + len(self.unknown)
            self.unknown.append(text)
        self._tokens[text] = ControlToken(id_)

    def id(self, token: Special) -> int:
        """Id of one control token of the vocabulary or the template."""
        return self._tokens[token.text].id

    def split(self, text: str) -> list[Piece]:
        """Cut out the control tokens spelled in ``text``."""
        parts = enumerate(self._split(text))
        return self.strip([Special(part) if place % 2 else part for place, part in parts if part])

    def strip(self, pieces: list[Piece]) -> list[Piece]:
        """Take away the white space that belongs to a control token beside it."""
        if not self._strips:
            return pieces
        stripped: list[Piece] = []
        for place, piece in enumerate(pieces):
            if isinstance(piece, str):
                if place and self._at_end(pieces[place - 1], -1).strips_right:
                    piece = piece.lstrip()
                if place + 1 < len(pieces) and self._at_end(pieces[place + 1], 0).strips_left:
                    piece = piece.rstrip()
            if piece != "":
                stripped.append(piece)
        return stripped

    def _at_end(self, piece: Piece, end: int) -> ControlToken:
        if not isinstance(piece, Special):
            return _NONE
        return self._tokens[self._find_all(piece.text)[end]]


_NONE = ControlToken(-1)
