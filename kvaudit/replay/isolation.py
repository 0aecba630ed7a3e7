"""What it costs to keep tenants apart: the same cache again with more fields in the namespace.

Public prefixes may be shared even so. A block that lies wholly in one keeps the key that it has
in the run; all that follow have keys of their own for each party. No engine has such keys today:
a salt enters the first block, and parts all that follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import UsageError
from kvaudit.core.isolation import Apart, IsolationSummary
from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import NO_KEY, BlockBatch, Interner
from kvaudit.replay.key_runs import runs_of_keys
from kvaudit.replay.ledger import Column
from kvaudit.replay.origins import NOBODY, Origins
from kvaudit.replay.outcomes import CacheModel
from kvaudit.tokens.heads import shared_tokens

DEFINITION = (
    "hit tokens on KV that a request of another {field} computed / hit tokens of requests that "
    "name theirs"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationPlan:
    """What is to be kept apart, and what may be shared even so."""

    fields: tuple[str, ...]
    public_tokens: int | None = None
    """So many tokens at the beginning of every prompt."""
    public_texts: Callable[[], Sequence[NDArray[np.int32]]] | None = None
    """Gives the tokens of public beginnings; called once the first batch was read."""
    public_heads: bool = False
    """The tools and first system messages of every prompt, as far as several have them."""
    public_name: str | None = None
    """What is public, as a clause."""


class Isolated:
    """The cache of a run with more fields in the namespace, with and without public prefixes."""

    def __init__(
        self,
        plan: IsolationPlan,
        interner: Interner,
        make_cache: Callable[[], CacheModel],
    ) -> None:
        """Take an interner of the same blocks as the run's, and how to make its cache."""
        self.plan = plan
        self._interner = interner
        self._numbers: dict[tuple[int, ...], int] = {}
        self._values: dict[str | None, int] = {}
        self._cache = make_cache()
        self._public_cache = make_cache() if plan.public_name is not None else None
        self._texts: Sequence[NDArray[np.int32]] | None = None
        self._knows_heads = False
        self.hits, self.public_hits = Column(), Column()

    def feed(self, prompts: PromptBatch, blocks: BlockBatch) -> None:
        """Serve the batch; ``blocks`` are those of the run."""
        apart = replace(prompts, namespaces=self._parted(prompts))
        keys = self._interner.intern(apart)
        self.hits.extend(self._cache.replay(apart, keys).cached_tokens)
        if self._public_cache is not None:
            public = self._public_units(prompts)
            merged = _merged(blocks, keys, public)
            self.public_hits.extend(self._public_cache.replay(apart, merged).cached_tokens)

    def _parted(self, prompts: PromptBatch) -> NDArray[np.int32]:
        """Return namespaces that also part the requests by the plan's fields."""
        numbers, values = self._numbers, self._values
        keys = (
            (namespace, *(values.setdefault(getattr(f, n), len(values)) for n in self.plan.fields))
            for namespace, f in zip(prompts.namespaces.tolist(), prompts.requests, strict=True)
        )
        return np.fromiter((numbers.setdefault(key, len(numbers)) for key in keys), np.int32)

    def _public_units(self, prompts: PromptBatch) -> NDArray[np.int64]:
        """Return how many units at the beginning of each prompt are public."""
        public = np.zeros(len(prompts.prompt_units), np.int64)
        if self.plan.public_tokens is not None:
            public[:] = self.plan.public_tokens // prompts.unit_tokens
        if self.plan.public_texts is not None:
            public = np.maximum(public, self._text_units(prompts, self.plan.public_texts))
        if self.plan.public_heads:
            public = np.maximum(public, self._head_units(prompts))
        return np.minimum(public, prompts.prompt_units)

    def _text_units(
        self, prompts: PromptBatch, read: Callable[[], Sequence[NDArray[np.int32]]]
    ) -> list[int]:
        if self._texts is None:
            self._texts = read()
        ends = prompts.offsets[:-1] + prompts.prompt_units
        each = zip(prompts.offsets[:-1].tolist(), ends.tolist(), strict=True)
        return [
            max((shared_tokens(text, prompts.units[a:b]) for text in self._texts), default=0)
            for a, b in each
        ]

    def _head_units(self, prompts: PromptBatch) -> list[int]:
        # A block of a head that one party alone sends is hit by nobody else either way.
        heads = [facts.head_units for facts in prompts.requests]
        self._knows_heads = self._knows_heads or any(head is not None for head in heads)
        if not self._knows_heads:
            raise UsageError(
                "--share-prefix system needs a log of messages, and this one does not say where "
                "the system message of a prompt ends; say how many tokens are public instead"
            )
        return [head or 0 for head in heads]

    def apart(self, prompt_tokens: int, run_hits: int, counted: slice) -> Apart:
        """Return what keeping all apart gives."""
        return self._apart(self.hits, None, prompt_tokens, run_hits, counted)

    def apart_but_public(self, prompt_tokens: int, run_hits: int, counted: slice) -> Apart | None:
        """Return what keeping all but public prefixes apart gives; None where there are none."""
        if self._public_cache is None:
            return None
        name = self.plan.public_name
        return self._apart(self.public_hits, name, prompt_tokens, run_hits, counted)

    def _apart(
        self, hits: Column, public: str | None, prompt_tokens: int, run_hits: int, counted: slice
    ) -> Apart:
        hit = int(hits.values()[counted].sum())
        return Apart(
            fields=", ".join(self.plan.fields),
            public=public,
            hit_tokens=hit,
            hit_rate=hit / prompt_tokens if prompt_tokens else None,
            lost_tokens=run_hits - hit,
        )


def isolation_summary(
    origins: Origins | None,
    isolated: Isolated | None,
    *,
    prompt_tokens: int,
    run_hits: int,
    counted: slice,
) -> IsolationSummary | None:
    """Sum up; None for a log that names neither tenants nor users, and nothing was asked."""
    if origins is None or (origins.field is None and isolated is None):
        return None
    field = origins.field or "tenant"
    named = origins.parties.values()[counted] != NOBODY
    hits = int(origins.hit_tokens.values()[counted][named].sum())
    cross = origins.cross_tokens.values()[counted]
    total = int(cross.sum())
    return IsolationSummary(
        field=field,
        parties=origins.known,
        hit_tokens=hits,
        cross_hit_tokens=total,
        cross_share=total / hits if hits else None,
        cross_requests=int((cross > 0).sum()),
        apart=None if isolated is None else isolated.apart(prompt_tokens, run_hits, counted),
        apart_but_public=(
            None
            if isolated is None
            else isolated.apart_but_public(prompt_tokens, run_hits, counted)
        ),
        definition=DEFINITION.format(field=field),
    )


def _merged(shared: BlockBatch, apart: BlockBatch, public: NDArray[np.int64]) -> BlockBatch:
    """Return blocks with the run's keys where they are public, and keys apart behind."""
    lengths = np.diff(apart.key_offsets)
    place = np.arange(apart.key_offsets[-1]) - np.repeat(apart.key_offsets[:-1], lengths)
    is_public = place < np.repeat(public // apart.block_units, lengths)

    def own(keys: NDArray[np.int32] | None) -> NDArray[np.int32] | None:
        return None if keys is None else np.where(keys == NO_KEY, NO_KEY, 2 * keys + 1)

    keys = np.where(is_public, 2 * shared.keys, 2 * apart.keys + 1)
    return replace(
        apart,
        runs=runs_of_keys(keys, apart.key_offsets),
        shared_units=np.maximum(apart.shared_units, np.minimum(shared.shared_units, public)),
        known_before=2 * apart.known_before,
        prompt_tails=own(apart.prompt_tails),
        end_tails=own(apart.end_tails),
    )
