"""Requests to token ids: template, memo, one parallel call for what is new.

Most of a log is text that was seen before: the system prompt, the turns so far. Each text
between two control tokens is tokenized once and remembered, and all new texts of a call go to
the tokenizer together. The ids are those of tokenizing the whole prompt as one string, since
no token crosses a control token, and long texts are cut only where a self-test holds
(`kvaudit.tokens.cuts`).

Raw prompts get the vocabulary's first token in front, as vLLM's completions endpoint puts it,
even where the text already begins with it. A chat template writes its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import Outline
from kvaudit.core.requests import Request
from kvaudit.core.summaries import Note
from kvaudit.tokens.assembly import Assembly, Part
from kvaudit.tokens.control import ControlTokens
from kvaudit.tokens.cuts import CUT_FROM_CHARS, cut, cuts_are_exact
from kvaudit.tokens.memo import Memo
from kvaudit.tokens.pieces import Media, Piece, Special, TemplateRefused
from kvaudit.tokens.templates.blocks import END, Blocks
from kvaudit.tokens.templates.template import ChatTemplate
from kvaudit.tokens.tokenizer import Tokenizer

FIRST_MEDIA_ID = 2**30
"""Units of media have ids from here on; no vocabulary comes near."""
MEMO_BYTES = 256 * 2**20
# A message seldom grows while a raw prompt usually does, and finding one whole is cheaper.
_CUT_MESSAGES_FROM_CHARS = 16 * CUT_FROM_CHARS


class Encoded(NamedTuple):
    """Token ids request after request; ``offsets[i]:offsets[i+1]`` cuts out request i."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]


class Turns(NamedTuple):
    """As `Encoded`, each request's prompt and then its response, with the prompt's length."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    prompt_tokens: NDArray[np.int64]


class PromptEncoder:
    """Encodes requests with one tokenizer and template, and remembers what it saw.

    ``memo_bytes`` bounds the texts and ids remembered between calls. Within a call, the new
    texts and the result are held as well, so a caller bounds memory by the size of its calls.
    """

    def __init__(
        self, tokenizer: Tokenizer, template: ChatTemplate, *, memo_bytes: int = MEMO_BYTES
    ) -> None:
        """Encode with ``tokenizer``, and messages as ``template`` renders them."""
        self.tokenizer = tokenizer
        self.template = template
        self.refused: Counter[str] = Counter()
        """Requests that the template cannot render, by reason; their prompts are empty."""
        self._memo = Memo(memo_bytes)
        self._control = ControlTokens(tokenizer, template.control_tokens)
        self._media_ids: dict[str, int] = {}
        self._cuts: bool | None = None
        self._bos = b"" if tokenizer.bos_id is None else _raw(tokenizer.bos_id)

    def start_over(self) -> None:
        """Forget which requests were refused, since the log is read again; keep the memo."""
        self.refused.clear()

    def encode(self, requests: Sequence[Request]) -> list[NDArray[np.int32]]:
        """Prompt ids of each request; ids that the log gives are passed through."""
        return _cut_out(self.encode_flat(requests))

    def encode_outputs(self, requests: Sequence[Request]) -> list[NDArray[np.int32]]:
        """Ids of each response as the next turn's prompt would hold it.

        An estimate: the model may have written the same text in other tokens. Ids that the
        log gives are passed through; without a response the array is empty.
        """
        assembly = Assembly()
        for request in requests:
            self._add_output(request, assembly)
            assembly.end_run()
        return _cut_out(Encoded(*self._finish(assembly)))

    def encode_flat(self, requests: Sequence[Request]) -> Encoded:
        """Prompt ids of all requests in one array."""
        assembly = Assembly()
        for request in requests:
            self._add_prompt(request, assembly)
            assembly.end_run()
        return Encoded(*self._finish(assembly))

    def encode_turns(self, requests: Sequence[Request]) -> Turns:
        """Prompt and response ids of all requests in one array."""
        assembly = Assembly()
        for request in requests:
            self._add_prompt(request, assembly)
            assembly.end_run()
            self._add_output(request, assembly)
            assembly.end_run()
        ids, bounds = self._finish(assembly)
        return Turns(ids, bounds[::2], bounds[1::2] - bounds[:-1:2])

    def outline(self, request: Request, prompt_ids: NDArray[np.int32]) -> Outline | None:
        """Where the blocks of a prompt end; None where the template keeps none apart."""
        if request.messages is None or not isinstance(self.template, Blocks):
            return None
        blocks, marks = self.template.shape(request)
        ends = np.flatnonzero(prompt_ids == self._control.id(END)) + 1
        if len(ends) != len(blocks):  # refused, given as ids, or a text that spells the token
            return None
        return Outline(
            ends=ends,
            sections=np.array([b.section for b in blocks], np.uint8),
            positions=np.cumsum([not b.joined for b in blocks], dtype=np.int64),
            message_ends=np.array([b.ends_message and b.role != "assistant" for b in blocks]),
            marks=marks,
        )

    def end_of_turn_id(self) -> int | None:
        """The token that ends every message; None where the template has none of its own."""
        special = self.template.end_of_turn
        return None if special is None else self._control.id(special)

    def notes(self) -> list[Note]:
        """What the reader of a result must know about how its texts became tokens."""
        notes = []
        if self.tokenizer.exactness != "exact":
            notes.append(Note(topic="tokenizer", text=f"{self.tokenizer.name} is an estimate"))
        if self._control.unknown:
            missing = ", ".join(self._control.unknown)
            text = f"{self.tokenizer.name} lacks {missing}; each is counted as one token"
            notes.append(Note(topic="control-tokens", text=text))
        if self.template.clock_dependent:
            text = f"chat template {self.template.name} writes the date; it is held fixed here"
            notes.append(Note(topic="template-clock", text=text))
        for reason, count in sorted(self.refused.items()):
            text = f"the chat template refuses these requests: {reason}"
            notes.append(Note(topic="template-refused", text=text, count=count))
        return notes

    def _add_prompt(self, request: Request, assembly: Assembly) -> None:
        if request.token_ids is not None:
            assembly.parts.append(np.asarray(request.token_ids, np.int32).tobytes())
        elif request.messages is not None:
            if self.template.adds_bos:
                assembly.parts.append(self._bos)
            whole = self.template.renders_whole
            cut_from = CUT_FROM_CHARS if whole else _CUT_MESSAGES_FROM_CHARS
            self._add_pieces(self._render(request), assembly, cut_from)
        elif request.prompt is not None:
            assembly.parts.append(self._bos)
            self._add_pieces([request.prompt], assembly, CUT_FROM_CHARS)

    def _add_output(self, request: Request, assembly: Assembly) -> None:
        if request.output_ids is not None:
            assembly.parts.append(np.asarray(request.output_ids, np.int32).tobytes())
        elif request.response is not None:
            pieces: list[Piece] = [request.response]
            if request.messages is not None and self.template.end_of_turn is not None:
                pieces.append(self.template.end_of_turn)
            self._add_pieces(self._control.strip(pieces), assembly, _CUT_MESSAGES_FROM_CHARS)

    def _render(self, request: Request) -> list[Piece]:
        try:
            pieces = self.template.render(request)
        except TemplateRefused as refusal:
            self.refused[str(refusal)] += 1
            return []
        except RecursionError:  # a few kilobytes of brackets in a tool call are enough
            self.refused["JSON nested too deeply"] += 1
            return []
        if self.template.renders_whole:
            pieces = [
                part
                for piece in pieces
                for part in (self._control.split(piece) if isinstance(piece, str) else (piece,))
            ]
        return self._control.strip(pieces)

    def _add_pieces(self, pieces: Sequence[Piece], assembly: Assembly, cut_from: int) -> None:
        # Where most time goes: the look-ups run in C, and little is done a piece beside them.
        if max(map(len, pieces), default=0) >= cut_from and self._may_cut():
            pieces = [part for piece in pieces for part in _cut_long(piece, cut_from)]
        unseen, awaited = self._unseen, assembly.awaited
        assembly.parts += [
            unseen(piece, awaited) if ids is None else ids
            for piece, ids in zip(pieces, map(self._memo.get_young, pieces), strict=True)
        ]

    def _unseen(self, piece: Piece, awaited: dict[str | Special, int]) -> Part:
        if isinstance(piece, Media):
            # Numbered as they come: two media never share an id, which a hash cannot promise.
            id_ = FIRST_MEDIA_ID + len(self._media_ids)
            return _raw(self._media_ids.setdefault(piece.content_hash, id_))
        number = awaited.get(piece)
        if number is not None:
            return number
        ids = self._memo.get(piece)
        return awaited.setdefault(piece, len(awaited)) if ids is None else ids

    def _may_cut(self) -> bool:
        if self._cuts is None:
            self._cuts = cuts_are_exact(self.tokenizer)
        return self._cuts

    def _finish(self, assembly: Assembly) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        texts = list(assembly.awaited)
        ids = self._tokenize(texts)
        for text, ids_of_one in zip(texts, ids, strict=True):
            self._memo.put(text, ids_of_one)
        return assembly.flat(ids)

    def _tokenize(self, texts: Sequence[str | Special]) -> list[bytes]:
        split = {place: self._split(text) for place, text in enumerate(texts) if self._spells(text)}
        parts = [text for i, text in enumerate(texts) if isinstance(text, str) and i not in split]
        plain = len(parts)
        parts += [part for pieces in split.values() for part in pieces if isinstance(part, str)]
        encoded = [ids.tobytes() for ids in self._encode_batch(parts)]
        of_parts = iter(encoded[plain:])
        of_split = {
            place: b"".join(
                _raw(self._control.id(part)) if isinstance(part, Special) else next(of_parts)
                for part in pieces
            )
            for place, pieces in split.items()
        }
        of_plain = iter(encoded)
        return [of_split[i] if i in of_split else next(of_plain) for i in range(len(texts))]

    def _spells(self, text: str | Special) -> bool:
        return isinstance(text, Special) or self._control.occurs_in(text) is not None

    def _split(self, text: str | Special) -> list[Piece]:
        return self._control.split(text.text if isinstance(text, Special) else text)

    def _encode_batch(self, texts: list[str]) -> list[NDArray[np.int32]]:
        try:
            return self.tokenizer.encode_batch(texts)
        except UnicodeEncodeError:
            return self.tokenizer.encode_batch([_without_lone_surrogates(t) for t in texts])


def _cut_long(piece: Piece, cut_from: int) -> Sequence[Piece]:
    return cut(piece) if isinstance(piece, str) and len(piece) >= cut_from else (piece,)


def _without_lone_surrogates(text: str) -> str:
    # JSON can spell half of a surrogate pair, which is no text; tiktoken replaces it likewise.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _raw(id_: int) -> bytes:
    return np.int32(id_).tobytes()


def _cut_out(encoded: Encoded) -> list[NDArray[np.int32]]:
    bounds = encoded.offsets.tolist()
    return [encoded.ids[a:b] for a, b in pairwise(bounds)]
