"""Reads the amounts of a bill as tables and exports spell them, and refuses unclear ones.

A comma or a space may group thousands and is no decimal sign: ``0,25`` is not read as 25.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kvaudit.core.errors import InputError

_GROUPED = re.compile(r"[-+]?\d{1,3}(?:([,\s_])\d{3})(?:\1\d{3})*(?:\.\d+)?")


class Amounts:
    """The amounts of one row of a bill. Raises `InputError`, which names file, row and column."""

    def __init__(self, path: Path, number: int, row: Mapping[str, Any]) -> None:
        """Take the row's number, from 1; refuse one in another currency than dollars."""
        self._place, self._row = f"--invoice {path}: row {number}", row
        amount = row.get("amount")
        nested = amount.get("currency") if isinstance(amount, dict) else None
        currency = row.get("currency") or nested or "usd"
        if str(currency).strip().lower() != "usd":
            raise InputError(
                f"{self._place}: is in {str(currency).upper()}, and prices here are in USD; "
                "convert it first"
            )

    def tokens(self, column: str) -> int | None:
        """Return a number of tokens; None for an empty cell."""
        count = self._number(column, self._row.get(column))
        if count is None:
            return None
        if count < 0 or count != int(count):
            raise InputError(
                f"{self._place}: {column} is no number of tokens: {self._row[column]!r}"
            )
        return int(count)

    def usd(self, column: str) -> float | None:
        """Return dollars, which a credit makes negative; None for an empty cell."""
        value = self._row.get(column)
        return self._number(column, value.get("value") if isinstance(value, dict) else value)

    def _number(self, column: str, value: Any) -> float | None:
        text = "" if value is None else str(value).strip()
        if not text:
            return None
        digits = text.removeprefix("$").strip()
        if _GROUPED.fullmatch(digits):
            digits = re.sub(r"[,\s_]", "", digits)
        try:
            amount = float(digits)
        except ValueError:
            amount = math.nan
        if not math.isfinite(amount):
            raise InputError(f"{self._place}: {column} is no number: {value!r}")
        return amount
