"""From logged requests to batches of integers: what is replayed, in which namespace.

Decides which requests of a log can be replayed (the others are counted by reason), what one
unit is (a token, or one block of a log that carries block hashes only), and which requests
may share. Says nothing about order: see ``arrival``.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.batching import batched
from kvaudit.core.errors import UsageError
from kvaudit.core.hash_rows import HashRows
from kvaudit.core.prompts import Outline, PromptBatch, RequestFacts
from kvaudit.core.requests import NO_PROMPT, Request
from kvaudit.replay.batches import batch_of_rows, offsets_of, take
from kvaudit.replay.block_units import BlockUnits
from kvaudit.replay.facts import RowFacts, facts_of
from kvaudit.replay.namespaces import Namespaces

_MIXED = "block hashes and tokens cannot be mixed in one log"


class Counts(NamedTuple):
    """Token counts of requests whose prompts the log does not hold."""

    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    reported_hits: NDArray[np.int64]
    """-1 for a request that does not say."""


class Encoder(Protocol):
    """Text to token ids; see ``kvaudit.tokens.encode``."""

    def encode_turns(
        self, requests: Sequence[Request]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """Return each request's prompt and response ids, the offsets and the prompt lengths.

        Ids that the log gives are passed through; a response as text is spelled as the next
        turn would spell it.
        """

    def outline(self, request: Request, prompt_ids: NDArray[np.int32]) -> Outline | None:
        """Return where the blocks of a request end that was encoded; None where not known."""

    def start_over(self) -> None:
        """Forget what was counted, since the log is read again."""


HeadTokens = Callable[[Request, NDArray[np.int32]], int | None]
"""Returns the tokens of a prompt up to the end of its tools and first system messages."""


class Prompts:
    """The replayable requests of a log as batches, in file order.

    One pass over it reads the log once. Afterwards ``skipped`` holds the number of requests
    that were left out, by reason, and ``namespace_names`` the namespaces met.
    """

    def __init__(
        self,
        requests: Iterable[Request | HashRows],
        *,
        encoder: Callable[[], Encoder],
        namespace: Sequence[str] = (),
        shared_across: Container[str] = (),
        block_tokens: int | None = None,
        outlined: bool = False,
        head_tokens: HeadTokens | None = None,
        group_by: str | None = None,
    ) -> None:
        """Take the log and how to encode text.

        ``encoder`` is called when the first text is met, so a log of ids needs no tokenizer.
        ``namespace`` names the fields that separate requests, and ``shared_across`` those that the
        engine's keys leave out (`Namespaces`).
        ``block_tokens`` is the size of logged blocks where the log does not say it.
        ``outlined`` asks for where the content blocks of each prompt end, ``head_tokens`` finds
        where its tools and system messages do, and ``group_by`` names
        the field whose value each request's facts carry.
        """
        self._requests = requests
        self._make_encoder = encoder
        self._encoder: Encoder | None = None
        self._namespaces = Namespaces(namespace, shared_across)
        self._default_block_tokens = block_tokens
        self._outlined, self._head_tokens = outlined, head_tokens
        self._group_by = group_by
        self._block_units_of = BlockUnits().of
        self._awaited: deque[int] = deque()  # of the requests that wait for their batch
        self.holds_blocks: bool | None = None
        """Whether units are blocks; None until the first replayable request was met."""
        self.block_tokens: int | None = None
        """Tokens a block, where units are blocks and every request says the same."""
        self.outputs_reencoded = False
        """Whether a response was met that the log holds as text only: its units are then what
        the next turn would spell, which need not be what the model generated."""
        self.skipped: Counter[str] = Counter()
        self._counts = array("q")  # three in turn, as in `Counts`

    @property
    def namespace_names(self) -> Sequence[str]:
        """The namespaces met, by number."""
        return self._namespaces.names

    @property
    def lmcache_namespaces(self) -> Sequence[int]:
        """For each namespace the first one that differs from it in adapter or salt at most."""
        return self._namespaces.to_lmcache

    def __iter__(self) -> Iterator[PromptBatch]:
        """Read the log from its beginning."""
        self.skipped.clear()
        del self._counts[:]
        if self._encoder is not None:
            self._encoder.start_over()
        for kind, requests in groupby(self._fit(), type):
            if kind is HashRows:
                for rows in cast("Iterator[HashRows]", requests):
                    yield from self._filled(self._batch_of_rows(rows))
            else:
                for some in batched(cast("Iterator[Request]", requests)):
                    yield from self._filled(self._batch(some))

    def _fit(self) -> Iterator[Request | HashRows]:
        """Yield the requests that are replayed, and count the others."""
        self._awaited.clear()
        number = 0
        for request in self._requests:
            if isinstance(request, HashRows):
                if self._are_fit(request):
                    self._awaited.append(number)
                    yield request
                number += request.requests
                continue
            reason = self._unfit(request)
            number += 1
            if reason is None:
                self._awaited.append(number - 1)
                yield request
                continue
            self.skipped[reason] += 1
            if reason == NO_PROMPT and request.prompt_tokens is not None:
                cached = -1 if request.cached_tokens is None else request.cached_tokens
                self._counts.extend((request.prompt_tokens, request.output_tokens or 0, cached))

    def counts(self) -> Counts:
        """Return the token counts of the requests that say no more than these."""
        rows = np.array(self._counts, np.int64).reshape(-1, 3)
        return Counts(rows[:, 0], rows[:, 1], rows[:, 2])

    def _filled(self, batch: PromptBatch) -> Iterator[PromptBatch]:
        """Yield a batch less the requests that have no prompt token."""
        filled = np.flatnonzero(batch.prompt_tokens)
        if empty := len(batch.prompt_tokens) - len(filled):
            self.skipped["empty prompt"] += empty
            batch = take(batch, filled)
        if len(filled):
            yield batch

    def _unfit(self, request: Request) -> str | None:
        """Return why a request is not replayed, or None."""
        if request.unfit is not None:
            return request.unfit
        only_blocks = request.token_ids is None and request.block_ids is not None
        return None if self._goes_with_others(only_blocks) else _MIXED

    def _are_fit(self, rows: HashRows) -> bool:
        """Return whether these requests are replayed, and count them if not."""
        fit = self._goes_with_others(True)
        if not fit:
            self.skipped[_MIXED] += rows.requests
        return fit

    def _goes_with_others(self, only_blocks: bool) -> bool:
        if self.holds_blocks is None:
            self.holds_blocks = only_blocks
        return only_blocks == self.holds_blocks

    def _batch_of_rows(self, rows: HashRows) -> PromptBatch:
        namespace = self._namespaces.number(Request(id=""))
        size = rows.block_tokens
        self.block_tokens = size if self.block_tokens is None else max(self.block_tokens, size)
        facts = RowFacts(rows, self._awaited.popleft())
        units = self._block_units_of(rows.block_ids)
        return batch_of_rows(rows, facts, units, namespace, self.namespace_names)

    def _batch(self, requests: list[Request]) -> PromptBatch:
        namespaces = np.fromiter(
            (self._namespaces.number(r) for r in requests), np.int32, len(requests)
        )
        if self.holds_blocks:
            units, offsets, prompt_units, unit_tokens = self._block_units(requests)
            prompt_tokens = np.fromiter(
                (self._block_prompt_tokens(r) for r in requests), np.int64, len(requests)
            )
            known = np.zeros(len(requests), np.int64)
        else:
            units, offsets, prompt_units = self._token_units(requests)
            unit_tokens = np.ones(len(requests), np.int64)
            prompt_tokens = prompt_units
            known = np.diff(offsets) - prompt_units
        logged = np.fromiter((r.output_tokens or 0 for r in requests), np.int64, len(requests))
        return PromptBatch(
            requests=[
                self._facts(r, units[start : start + length])
                for r, start, length in zip(
                    requests, offsets.tolist(), prompt_units.tolist(), strict=False
                )
            ],
            units=units,
            offsets=offsets,
            prompt_units=prompt_units,
            unit_tokens=unit_tokens,
            prompt_tokens=prompt_tokens,
            output_tokens=np.maximum(known, logged),
            namespaces=namespaces,
            namespace_names=self.namespace_names,
        )

    def _facts(self, request: Request, prompt: NDArray[np.int32]) -> RequestFacts:
        outline = head = None
        if not self.holds_blocks and self._encoder is not None:
            outline = self._encoder.outline(request, prompt) if self._outlined else None
            head = None if self._head_tokens is None else self._head_tokens(request, prompt)
        return facts_of(request, outline, head, self._group_by, self._awaited.popleft())

    def _token_units(
        self, requests: list[Request]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        if any(r.token_ids is None for r in requests):
            if any(r.response and r.output_ids is None for r in requests):
                self.outputs_reencoded = True
            return self._text_encoder().encode_turns(requests)
        # Each by itself: what a column of integers gives is then never made into Python's.
        texts = [(r.token_ids or (), r.output_ids or ()) for r in requests]
        rows = [np.asarray(ids, np.int32) for text in texts for ids in text]
        lengths = np.fromiter(map(len, rows), np.int64).reshape(-1, 2)
        return np.concatenate(rows), offsets_of(lengths.sum(axis=1)), lengths[:, 0].copy()

    def _text_encoder(self) -> Encoder:
        if self._encoder is None:
            self._encoder = self._make_encoder()
        return self._encoder

    def _block_units(
        self, requests: list[Request]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        logged = chain.from_iterable(r.block_ids or () for r in requests)
        flat = self._block_units_of(np.fromiter(logged, np.int64))
        counts = np.fromiter((len(r.block_ids or ()) for r in requests), np.int64, len(requests))
        sizes = [self._block_size(r) for r in requests]
        for size in sizes:
            self.block_tokens = size if self.block_tokens is None else max(self.block_tokens, size)
        return (
            flat,
            offsets_of(counts),
            counts,
            np.array(sizes, np.int64),
        )

    def _block_size(self, request: Request) -> int:
        size = request.block_tokens or self._default_block_tokens
        if size is None:
            raise UsageError(
                f"request {request.id} has block hashes but no block size; "
                "add block_tokens to the log, or say --block-size"
            )
        return size

    def _block_prompt_tokens(self, request: Request) -> int:
        if request.prompt_tokens is not None:
            return request.prompt_tokens
        return len(request.block_ids or ()) * self._block_size(request)
