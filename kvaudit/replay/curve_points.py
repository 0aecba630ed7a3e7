"""Hits of a pass as the points of a curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvaudit.core.curve import CurvePoint, Exactness
from kvaudit.core.summaries import Bounds
from kvaudit.replay.beginning import RANGE
from kvaudit.replay.curve_pass import Counted, CurvePass, Hits


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a block is, for capacities in other units."""

    block_tokens: int
    kv_bytes_per_token: int | None

    def tokens(self, blocks: int | None) -> int | None:
        """Return a capacity in tokens."""
        return None if blocks is None else blocks * self.block_tokens

    def bytes(self, blocks: int | None) -> int | None:
        """Return a capacity in bytes; None without a model."""
        if blocks is None or self.kv_bytes_per_token is None:
            return None
        return blocks * self.block_tokens * self.kv_bytes_per_token


@dataclass(frozen=True, slots=True)
class Pair:
    """A pass over prompts only, and one that also takes responses as they would be spelled."""

    own: CurvePass
    spelled: CurvePass | None
    counted: Counted
    sizes: Sizes

    @property
    def prompt_tokens(self) -> int:
        """Prompt tokens of the counted requests."""
        return int(self.own.prompt_tokens[self.counted.first :].sum())

    @property
    def blocks(self) -> int:
        """Blocks of the counted prompts."""
        return int(self.own.blocks[self.counted.first :].sum())

    def swept(self, capacities: Sequence[int | None]) -> tuple[list[Hits], list[CurvePoint]]:
        """Return what the first pass hits at each capacity, and the points of both."""
        own = self.own.hits(capacities, self.counted)
        if self.spelled is None:
            return own, [self.point(hits, None) for hits in own]
        both = zip(own, self.spelled.hits(capacities, self.counted), strict=True)
        return own, [self.point(*pair) for pair in both]

    def optimal(self, capacities: Sequence[int | None]) -> list[CurvePoint]:
        """Return the points of the cache that knows the future."""
        own = self.own.optimal_hits(capacities, self.counted)
        if self.spelled is None:
            return [self.point(hits, None) for hits in own]
        both = zip(own, self.spelled.optimal_hits(capacities, self.counted), strict=True)
        return [self.point(*pair) for pair in both]

    def point(self, hits: Hits, spelled: Hits | None) -> CurvePoint:
        """Return what both passes hit at one capacity as a point."""
        exactness = Exactness.REPLAYED if hits.replayed else Exactness.EXACT
        bounds = None
        if spelled is not None:
            bounds = self._bounds(hits.hit_tokens, spelled.hit_tokens)
        if bounds is not None and bounds.low < bounds.high:
            exactness = Exactness.BOUNDS
        return CurvePoint(
            capacity_blocks=hits.capacity_blocks,
            capacity_tokens=self.sizes.tokens(hits.capacity_blocks),
            capacity_bytes=self.sizes.bytes(hits.capacity_blocks),
            hit_tokens=hits.hit_tokens,
            hit_rate=self.rate(hits.hit_tokens),
            block_hit_rate=hits.hit_blocks / self.blocks if self.blocks else None,
            not_admitted=hits.not_admitted,
            exactness=exactness,
            bounds=bounds,
        )

    def possible(self) -> tuple[int, Bounds | None]:
        """Return the tokens of the longest prefixes seen before, and the ends of their rate."""
        first = self.counted.first
        own = int(self.own.shared_tokens[first:].sum())
        if self.spelled is None:
            return own, None
        return own, self._bounds(own, int(self.spelled.shared_tokens[first:].sum()))

    def _bounds(self, own: int, spelled: int) -> Bounds | None:
        rates = [hits / self.prompt_tokens for hits in (own, spelled) if self.prompt_tokens]
        return Bounds(low=min(rates), high=max(rates), definition=RANGE) if rates else None

    def rate(self, hit_tokens: int) -> float | None:
        """Return a share of the prompt tokens."""
        return hit_tokens / self.prompt_tokens if self.prompt_tokens else None
