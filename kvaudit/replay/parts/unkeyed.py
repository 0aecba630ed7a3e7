"""The part about hits that the engine's keys should not have let happen.

A key that leaves out the adapter gives a request KV that other weights computed; one that leaves
out the salt gives it what was to be kept from it.
"""

from __future__ import annotations

from dataclasses import replace

from kvaudit.core.prompts import RequestFacts
from kvaudit.replay.origins import Origins
from kvaudit.replay.outcomes import CacheModel
from kvaudit.replay.parts.part import Ledgers, Part, Served
from kvaudit.replay.result import ReplayResult
from kvaudit.replay.setup import Setup

_WORDS = {"lora": "adapter", "salt": "cache salt"}


def unkeyed_part(setup: Setup, _cache: CacheModel) -> UnkeyedPart | None:
    """Return the part; None for an engine whose keys hold all that KV depends on."""
    fields = sorted(setup.engine.shared_across)
    return UnkeyedPart(fields, setup.block_units) if fields else None


class _ByFields(Origins):
    """Whose a block is, told by fields that the keys leave out."""

    def __init__(self, block_units: int, fields: list[str]) -> None:
        super().__init__(block_units)
        self.field = " or ".join(_WORDS[field] for field in fields)
        self._fields = fields

    def _party(self, facts: RequestFacts) -> int:
        # None counts too: the base model is not the adapter.
        name = repr([getattr(facts, field) for field in self._fields])
        return self._numbers.setdefault(name, len(self._numbers) + 1)


class UnkeyedPart(Part):
    """Follows by which adapter and under which salt every block was computed."""

    def __init__(self, fields: list[str], block_units: int) -> None:
        """Take the fields that the engine's keys leave out."""
        self._origins = _ByFields(block_units, fields)

    def feed(self, served: Served) -> None:
        """Take the next batch."""
        self._origins.follow(served.batch, served.keys, served.outcome)

    def add_to(self, result: ReplayResult, ledgers: Ledgers) -> ReplayResult:
        """Return the result with a remark where a hit was another's."""
        cross = self._origins.cross_tokens.values()[ledgers.counted]
        requests, tokens = int((cross > 0).sum()), int(cross.sum())
        if not requests:
            return result
        which = self._origins.field
        remark = (
            f"{requests:,} of {len(cross):,} requests hit {tokens:,} tokens that a request with "
            f"another {which} computed: the engine's keys leave that out, so KV of other weights, "
            "or of another's prompt, is reused"
        )
        return replace(result, remarks=(*result.remarks, remark))
