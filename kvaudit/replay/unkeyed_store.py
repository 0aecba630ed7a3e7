"""The same LMCache under its own keys, which have neither adapter nor cache salt in them.

It follows what another one does that keeps those apart, and counts what requests would read that
a request of another adapter or salt computed (LMCache issue 2961, vLLM issue 44250). Until a second
adapter or salt is met the two are one, so nothing is followed before. A chunk is its last
computer's, as in `kvaudit.replay.block_marks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import Interner
from kvaudit.replay.models.chunk_requests import ChunkRequest
from kvaudit.replay.models.chunks import ChunkStore


def has_several(prompts: PromptBatch, lmcache_namespaces: Sequence[int]) -> bool:
    """Whether a batch has a namespace that only adapter or salt tell from an earlier one."""
    known = len(lmcache_namespaces)
    return any(lmcache_namespaces[n] != n for n in set(prompts.namespaces.tolist()) if n < known)


class UnkeyedStore:
    """Tells hits on KV of another namespace; remembers from batch to batch."""

    def __init__(self, store: ChunkStore, interner: Interner) -> None:
        """Take both as they are when a second adapter or salt is about to come."""
        self._store, self._interner = store, interner
        self._computers: dict[int, int] = {}
        """The namespace that computed a chunk last; none is of the only one there was."""

    def cross_tokens(
        self,
        prompts: PromptBatch,
        lmcache_namespaces: Sequence[int],
        own_tokens: Sequence[int],
        admitted: Sequence[bool],
    ) -> NDArray[np.int64]:
        """Return the tokens of each request that are read and were another namespace's.

        ``lmcache_namespaces`` says for each namespace which one it is to LMCache.
        """
        namespaces = prompts.namespaces.tolist()
        known = len(lmcache_namespaces)
        merged = [lmcache_namespaces[n] if n < known else n for n in namespaces]
        batch = replace(prompts, namespaces=np.array(merged, np.int32))
        requests = self._store.requests.of(batch, self._interner.intern(batch))
        cross = np.zeros(len(namespaces), np.int64)
        for i, request in enumerate(requests):
            if admitted[i]:
                asked = request._replace(own_tokens=own_tokens[i])
                cross[i] = self._serve(asked, namespaces[i], merged[i])
        return cross

    def _serve(self, request: ChunkRequest, namespace: int, only: int) -> int:
        """Serve a request; return what it read of others, whose namespace ``only`` was once."""
        visit = self._store.serve(request)
        size, own = self._store.chunk_size, request.own_tokens
        first = visit.first_chunk
        end = first + sum(visit.hit_chunks)
        cross = 0
        for number, chunk in enumerate(request.chunks[first:end], start=first):
            if self._computers.get(chunk.key, only) != namespace:
                cross += chunk.tokens - max(0, own - number * size)
        for chunk in (*request.chunks[end:], *request.decoded):
            self._computers[chunk.key] = namespace
        return cross
