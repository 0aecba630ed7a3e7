"""Texts that ``--share-prefix`` makes public, tokenized as the log's own prompts are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kvaudit.core.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kvaudit.commands.inputs import LazyEncoder
    from kvaudit.core.requests import Request


def public_reader(
    texts: Sequence[str], encoder: LazyEncoder
) -> Callable[[], Sequence[NDArray[np.int32]]]:
    """Return what gives the tokens of public beginnings, once the log's encoder is loaded.

    A text may be the beginning of a raw prompt or of a system message, with either kind of line
    ends; or it is a JSON object with ``tools`` and ``messages``, as sent, for prompts that begin
    with tool definitions.
    """

    def tokenized() -> Sequence[NDArray[np.int32]]:
        from kvaudit.tokens.encode import PromptEncoder

        if encoder.loaded is None:
            raise UsageError(
                "--share-prefix FILE needs a log of texts, and this one holds tokens or block "
                "hashes; say how many tokens are public instead"
            )
        # An encoder of its own, since the log's counts what it has seen.
        own = PromptEncoder(encoder.loaded.tokenizer, encoder.loaded.template)
        return own.encode([beginning for text in texts for beginning in _beginnings(text)])

    return tokenized


def _beginnings(text: str) -> Iterator[Request]:
    from kvaudit.core.requests import Request
    from kvaudit.tokens.heads import head_of

    record = _record(text)
    if record is not None:
        yield head_of(*record)
        return
    for spelled in dict.fromkeys((text, text.replace("\r\n", "\n"))):
        yield Request(id="", prompt=spelled)
        yield Request(id="", messages=[{"role": "system", "content": spelled}])


def _record(text: str) -> tuple[list[dict[str, object]], list[dict[str, object]] | None] | None:
    """Return the messages and tools of a JSON object that has either; None for any other text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    messages, tools = value.get("messages"), value.get("tools")
    if not all(_are_objects(part) for part in (messages, tools)) or not (messages or tools):
        return None
    return messages or [], tools


def _are_objects(part: object) -> bool:
    return part is None or (isinstance(part, list) and all(isinstance(p, dict) for p in part))
