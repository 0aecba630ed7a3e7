"""Prompts as chained block hashes: what a trace tells of a prompt without its text.

A block's hash is made from the hash before it and its own tokens, so equal hashes mean equal
prefixes, and a prompt that shares n blocks with another shares n hashes. The first link holds
what no engine shares KV across: model, adapter, salt. Hashes have 63 bits, so that they fit
signed and unsigned readers; among a million blocks two collide once in ten million logs.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol

from kvaudit.core.batching import batched
from kvaudit.core.requests import Request

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LINK_BYTES = 8


class Encoder(Protocol):
    """Text to token ids; `kvaudit.tokens.encode.PromptEncoder` is one."""

    def encode(self, requests: Sequence[Request]) -> list[NDArray[np.int32]]:
        """Return each request's prompt ids."""

    def encode_outputs(self, requests: Sequence[Request]) -> list[NDArray[np.int32]]:
        """Return each response's ids."""


class BlockHasher:
    """Hashes prompts block by block, and names, under one secret key."""

    def __init__(self, *, block_tokens: int, key: bytes = b"") -> None:
        """Take the block size and the key (at most 64 bytes; empty for no secret)."""
        self.block_tokens = block_tokens
        self._key = key

    def of_tokens(self, ids: NDArray[np.int32], request: Request) -> array[int]:
        """Return one hash a block; a last block that is not full has one too."""
        size = 4 * self.block_tokens
        tokens = ids.astype("<i4").tobytes()
        link = self._link(_namespace(request).encode(errors="surrogatepass"))
        hashes = array("q")
        for at in range(0, len(tokens), size):
            # kvaudit: ignore[partial-block-as-full] such logs have a hash for the last block too
            link = self._link(link + tokens[at : at + size])
            hashes.append(_as_int(link))
        return hashes

    def of_blocks(self, request: Request) -> array[int]:
        """Return the hashes of a log's own block ids, which name their prefix already."""
        scope = (request.block_scope or "").encode(errors="surrogatepass") + b"\x00"
        return array(
            "q",
            (
                _as_int(self._link(scope + block.to_bytes(8, "little", signed=True)))
                for block in request.block_ids or ()
            ),
        )

    def name(self, text: str | None) -> str | None:
        """Return a stand-in for an id or a name: equal for equal ones, and no way back."""
        if text is None:
            return None
        return blake2b(
            text.encode(errors="surrogatepass"), digest_size=8, key=self._key, person=b"name"
        ).hexdigest()

    def _link(self, content: bytes) -> bytes:
        return blake2b(content, digest_size=_LINK_BYTES, key=self._key).digest()


def with_blocks(
    requests: Iterable[Request],
    hasher: BlockHasher,
    encoder: Callable[[], Encoder],
    *,
    rehash: bool,
) -> Iterator[Request]:
    """Yield the requests with their prompts as block hashes, in the order given.

    ``encoder`` is called at the first text. A log that has block ids keeps them, and their
    block size, unless they are local to a session or ``rehash`` is set. A request without a
    prompt, or whose prompt is marked as incomplete, gets no hashes.
    """
    for batch in batched(requests):
        yield from _hashed(batch, hasher, encoder, rehash)


def _hashed(
    batch: Sequence[Request], hasher: BlockHasher, encoder: Callable[[], Encoder], rehash: bool
) -> Iterator[Request]:
    texts = [request for request in batch if _is_text(request)]
    ids = iter(_encoded(texts, encoder))
    answers = [r for r in batch if r.output_tokens is None and r.response and not r.output_ids]
    lengths = iter([len(output) for output in encoder().encode_outputs(answers)] if answers else ())
    counted = {id(request) for request in answers}
    for request in batch:
        output_tokens = next(lengths) if id(request) in counted else _output_tokens(request)
        if _is_text(request):
            tokens = next(ids)
            yield replace(
                request,
                block_ids=hasher.of_tokens(tokens, request),
                block_tokens=hasher.block_tokens,
                block_scope=None,
                prompt_tokens=len(tokens),
                output_tokens=output_tokens,
            )
        elif request.block_ids is not None and (rehash or request.block_scope is not None):
            own = hasher.of_blocks(request)
            yield replace(request, block_ids=own, block_scope=None, output_tokens=output_tokens)
        else:
            yield replace(request, output_tokens=output_tokens)


def _is_text(request: Request) -> bool:
    known = request.token_ids is not None or request.messages is not None or request.prompt
    return bool(known) and not request.marks


def _encoded(
    requests: Sequence[Request], encoder: Callable[[], Encoder]
) -> list[NDArray[np.int32]]:
    import numpy as np

    if all(request.token_ids is not None for request in requests):
        return [np.asarray(request.token_ids, np.int32) for request in requests]
    return encoder().encode(requests)


def _output_tokens(request: Request) -> int | None:
    if request.output_tokens is None and request.output_ids is not None:
        return len(request.output_ids)
    return request.output_tokens


def _namespace(request: Request) -> str:
    return "\x00".join(part or "" for part in (request.model, request.lora, request.salt))


def _as_int(link: bytes) -> int:
    return int.from_bytes(link, "little") >> 1
