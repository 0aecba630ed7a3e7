"""A provider's bill held against a log's own usage, class by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoiceLine:
    """One class of tokens by the log's usage and by the bill; None where either does not say."""

    token_class: str
    log_tokens: int | None
    bill_tokens: int | None
    log_usd: float | None
    """The log's tokens at list prices."""
    bill_usd: float | None
    agrees: bool | None
    """Within a hundredth of each other: tokens where both have them, else dollars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoice:
    """A bill, and what the log says it should be."""

    path: str
    form: str
    """How the file was understood."""
    requests: int
    """Requests of the log that reached the model, replayed or not."""
    with_usage: int
    """Those whose tokens the log counts; the sums are over these."""
    lines: Sequence[InvoiceLine]
    log_usd: float | None
    bill_usd: float | None
    findings: Sequence[str]
    """Which class differs, and what the likely reasons are."""
    definition: str = (
        "tokens of each class over all requests of the log that reached the model and carry "
        "usage, at list prices; a class agrees within a hundredth"
    )
