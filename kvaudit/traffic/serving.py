"""The service that answered the made requests: what its log says about cached tokens and time.

Modelled on what providers document, not on any engine: two replicas, a session stays on one;
a cached prefix is forgotten after five minutes without use; hits are counted in steps of 128
tokens from 1,024 on. What is cached is looked up in texts, whole messages first, so counts
are as good as the token counter that is given.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from zlib import crc32

from kvaudit.core.requests import Json

REPLICAS = 2
LIFETIME_S = 300.0
MINIMUM_TOKENS = 1024
STEP_TOKENS = 128
MESSAGE_TOKENS = 4
"""What a chat template adds around a message."""
PREFILL_TOKENS_PER_S = 12_000
DECODE_TOKENS_PER_S = 80
OVERHEAD_S = 0.08


class Usage(NamedTuple):
    """What the service says about one request."""

    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    ttft_s: float
    decode_s: float
    instance: str


def estimated_tokens(text: str) -> int:
    """Estimate a text's tokens: four and a half Latin letters each, or one and a half others."""
    wide = len(text) - len(text.encode("ascii", "ignore"))
    return 1 + round((len(text) - wide) / 4.5 + wide / 1.5)


@dataclass(slots=True)
class _Node:
    """A message after everything that stood before it."""

    tokens: int
    used_s: float
    children: dict[str, _Node] = field(default_factory=dict)


class Service:
    """Answers requests in order of their arrival, and remembers prefixes."""

    def __init__(self, count_tokens: Callable[[str], int] = estimated_tokens) -> None:
        """Count tokens with ``count_tokens``."""
        self._count = count_tokens
        self._roots = [_Node(0, 0.0) for _ in range(REPLICAS)]
        self._pruned_s = 0.0

    def answer(
        self,
        messages: Sequence[Json],
        tools: Sequence[Json],
        text: str,
        *,
        session: str,
        now_s: float,
    ) -> Usage:
        """Serve one request; ``text`` is what the model says."""
        replica = crc32(session.encode()) % REPLICAS
        pieces = [json.dumps(tools)] if tools else []
        pieces += [_text(message) for message in messages]
        prompt_tokens, shared_tokens = self._walk(self._roots[replica], pieces, now_s)
        cached_tokens = shared_tokens // STEP_TOKENS * STEP_TOKENS
        if cached_tokens < MINIMUM_TOKENS:
            cached_tokens = 0
        output_tokens = self._count(text)
        self._prune(now_s)
        return Usage(
            prompt_tokens=prompt_tokens,
            cached_tokens=cached_tokens,
            output_tokens=output_tokens,
            ttft_s=round(OVERHEAD_S + (prompt_tokens - cached_tokens) / PREFILL_TOKENS_PER_S, 4),
            decode_s=round(output_tokens / DECODE_TOKENS_PER_S, 4),
            instance=f"replica-{replica}",
        )

    def _walk(self, node: _Node, pieces: Sequence[str], now_s: float) -> tuple[int, int]:
        """Return the prompt's tokens and those of its remembered prefix; remember the rest."""
        prompt_tokens = shared_tokens = 0
        sharing = True
        for piece in pieces:
            child = node.children.get(piece)
            if child is None:
                child = _Node(self._count(piece) + MESSAGE_TOKENS, now_s)
                if sharing and node.children:
                    newest = next(reversed(node.children))
                    shared_tokens += child.tokens * _common(newest, piece) // max(1, len(piece))
                sharing = False
                node.children[piece] = child
            elif sharing:
                shared_tokens += child.tokens
            prompt_tokens += child.tokens
            child.used_s = now_s
            node = child
        return prompt_tokens, min(shared_tokens, prompt_tokens - 1)

    def _prune(self, now_s: float) -> None:
        if now_s - self._pruned_s > LIFETIME_S / 10:
            self._pruned_s = now_s
            for root in self._roots:
                _forget(root, now_s - LIFETIME_S)


def _forget(node: _Node, before_s: float) -> None:
    """Drop what was not used since; a child is never used later than its parent."""
    stale = [piece for piece, child in node.children.items() if child.used_s < before_s]
    for piece in stale:
        del node.children[piece]
    for child in node.children.values():
        _forget(child, before_s)


def _text(message: Json) -> str:
    """Return a message as one text."""
    calls = message.get("tool_calls")
    return f"{message['content']}{json.dumps(calls)}" if calls else str(message["content"])


def _common(a: str, b: str) -> int:
    """Return how many characters two texts share from their start, by halving."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
