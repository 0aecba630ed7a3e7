"""Quantities a user types: counts (``20k``), bytes (``40GiB``) and cache capacities.

Counts follow vLLM's command line: a small letter is decimal, a capital one binary, so that
``20k`` is 20,000 and ``20K`` is 20,480. Everything is exact; what is not a whole number of
tokens, blocks or bytes is refused.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from kvaudit.core.errors import UsageError

MAX_BLOCK_TOKENS = 2**31 - 1
"""The largest block: more than any prompt, and what 32 bits hold."""

_NUMBER = r"(?P<number>\d[\d_]*(?:\.\d+)?)"
_COUNT = re.compile(rf"{_NUMBER}\s*(?P<scale>[kKmMgG]?)")
_BYTES = re.compile(rf"{_NUMBER}\s*(?P<scale>[kmgt]i?)?b(?:ytes?)?", re.IGNORECASE)
_UNITS = re.compile(r"(?P<count>.+?)\s*(?P<unit>blocks?|tokens?)")

_COUNT_SCALES = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "K": 2**10,
    "M": 2**20,
    "G": 2**30,
}
_BYTE_SCALES = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}


def parse_count(text: str) -> int:
    """Return the count that ``text`` states: ``512``, ``20k`` (20,000), ``20K`` (20,480)."""
    match = _COUNT.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is not a count; write 512, 20k (20,000) or 20K (20,480)")
    return _whole(text, match["number"], _COUNT_SCALES[match["scale"]])


def parse_bytes(text: str) -> int:
    """Return the bytes that ``text`` states: ``40GiB``, ``40GB``, ``512MiB``, ``1024B``."""
    match = _BYTES.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is not a number of bytes; write 40GiB, 40GB or 512MiB")
    return _whole(text, match["number"], _BYTE_SCALES[(match["scale"] or "").lower()])


def _whole(text: str, number: str, scale: int) -> int:
    value = Decimal(number.replace("_", "")) * scale
    if value != value.to_integral_value():
        raise UsageError(
            f"{text!r} is {value.normalize():f}, which is not a whole number; "
            f"the nearest is {max(1, round(value)):,}"
        )
    return int(value)


class CapacityUnit(StrEnum):
    """What a capacity counts."""

    BLOCKS = "blocks"
    TOKENS = "tokens"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class Capacity:
    """How much KV a cache holds; ``amount`` is None where it is unbounded."""

    amount: int | None
    unit: CapacityUnit = CapacityUnit.BLOCKS

    @classmethod
    def parse(cls, text: str, *, option: str | None = None) -> "Capacity":
        """Read ``600blocks``, ``9600tokens``, ``40GiB`` or ``inf``.

        Raises `UsageError`, which names ``option`` if it is given.
        """
        try:
            return cls._parse(text.strip())
        except UsageError as error:
            raise error if option is None else UsageError(f"{option}: {error}") from None

    @classmethod
    def _parse(cls, stripped: str) -> "Capacity":
        if stripped.lower() == "inf":
            return UNBOUNDED
        if re.match(r"-\d|[0_]+$", stripped):
            raise UsageError(f"capacity {stripped!r} holds nothing; write at least 1block")
        units = _UNITS.fullmatch(stripped)
        if units is not None and _COUNT.fullmatch(units["count"]):
            unit = CapacityUnit(units["unit"].rstrip("s") + "s")
            return cls(parse_count(units["count"]), unit)
        if _BYTES.fullmatch(stripped):
            return cls(parse_bytes(stripped), CapacityUnit.BYTES)
        if _COUNT.fullmatch(stripped):
            raise UsageError(
                f"capacity {stripped!r} has no unit; write {stripped}blocks, {stripped}tokens or "
                f"{stripped}GiB"
            )
        raise UsageError(
            f"capacity {stripped!r} is not understood; "
            "write 600blocks, 9600tokens, 40GiB, or inf for a cache without bounds"
        )

    def times(self, count: int) -> "Capacity":
        """Return the capacity of so many together."""
        return Capacity(None if self.amount is None else self.amount * count, self.unit)

    def to_blocks(self, *, block_size: int, kv_bytes_per_token: int | None) -> int | None:
        """Return the blocks of ``block_size`` tokens that fit, or None if it is unbounded.

        A capacity in bytes needs the KV bytes of one token, which a model's shape gives.
        """
        if self.amount is None:
            return None
        if self.unit is CapacityUnit.BLOCKS:
            blocks = self.amount
        elif self.unit is CapacityUnit.TOKENS:
            blocks = self.amount // block_size
        else:
            if kv_bytes_per_token is None:
                raise UsageError(
                    f"a capacity of {self} needs the model's KV size; add --model NAME or "
                    "--model path/to/config.json, or give the capacity in blocks or tokens"
                )
            blocks = self.amount // (block_size * kv_bytes_per_token)
        if blocks < 1:
            least, word = self._least(block_size, kv_bytes_per_token)
            size = f"{block_size:,} token" + "s" * (block_size > 1)
            if self.unit is CapacityUnit.BYTES:
                size += f", {least:,} bytes"
            raise UsageError(
                f"a capacity of {self} holds no block: one block is {size}; "
                f"the least is {least}{word}"
            )
        return blocks

    def _least(self, block_size: int, kv_bytes_per_token: int | None) -> tuple[int, str]:
        """Return the least capacity that holds a block, in this one's unit."""
        if self.unit is CapacityUnit.BLOCKS:
            return 1, "block"
        if self.unit is CapacityUnit.TOKENS:
            return block_size, "token" + "s" * (block_size > 1)
        return block_size * (kv_bytes_per_token or 1), "B"

    def __str__(self) -> str:
        """Return the capacity as a reader would write it."""
        if self.amount is None:
            return "inf"
        if self.unit is CapacityUnit.BYTES:
            return format_bytes(self.amount)
        return f"{self.amount:,} {self.unit}"


UNBOUNDED = Capacity(None)


def format_bytes(count: int) -> str:
    """Return ``count`` in the largest binary unit that leaves it at least 1, to one decimal."""
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:,.1f}".removesuffix(".0") + f" {unit}"
