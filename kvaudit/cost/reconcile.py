"""Holds a bill against a log's usage, and says which class differs and what the cause may be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kvaudit.core.invoice import Invoice, InvoiceLine
from kvaudit.core.money import TokenClasses
from kvaudit.core.requests import Request
from kvaudit.cost.bills import CLASSES, BilledTotals, read_bill
from kvaudit.cost.pricing import PriceList
from kvaudit.cost.usage import LoggedUsage

TOLERANCE = 0.01
LABELS = {
    "input": "input",
    "cached_read": "cached read",
    "cache_write_5m": "cache write",
    "cache_write_1h": "cache write, longer",
    "output": "output",
}
# What a bill is of the list price where it is another one, and why.
_RATIOS = (
    (0.5, "half the list price: batch or flex processing"),
    (1.1, "a tenth above the list price: regional processing"),
    (2.0, "twice the list price: priority processing, or prompts beyond the long-prompt limit"),
)


class InvoiceCheck:
    """A bill, and the usage of the log that it is held against."""

    def __init__(self, path: Path, prices: PriceList, model: str | None) -> None:
        """Read the bill; raises `InputError`. ``model`` stands for those that requests name."""
        self._path, self._bill = path, read_bill(path)
        self._usage = LoggedUsage(prices, model)

    def watch(self, requests: Iterable[Request]) -> Iterable[Request]:
        """Return the log's requests; what was read of them by the end is compared."""
        return self._usage.watch(requests)

    def result(self) -> Invoice:
        """Compare class by class; the log must have been read to its end."""
        return reconcile(self._path, self._bill, self._usage)


def reconcile(path: Path, bill: BilledTotals, usage: LoggedUsage) -> Invoice:
    """Compare class by class; the log must have been read to its end."""
    log = usage.tokens() if usage.with_usage else None
    costs = usage.usd()
    nothing = [None] * len(CLASSES)
    tokens_by_class: Sequence[int | None] = nothing if log is None else log
    usd_by_class: Sequence[float | None] = nothing if costs is None else costs
    lines = [
        _line(name, tokens, usd, bill)
        for name, tokens, usd in zip(CLASSES, tokens_by_class, usd_by_class, strict=True)
    ]
    log_usd = None if costs is None else sum(costs)
    return Invoice(
        path=str(path),
        form=bill.form,
        requests=usage.requests,
        with_usage=usage.with_usage,
        lines=[line for line in lines if _says_anything(line)],
        log_usd=log_usd,
        bill_usd=bill.total_usd,
        findings=list(_findings(log, bill, lines, log_usd, usage)),
    )


def close(a: float, b: float) -> bool:
    """Whether two amounts agree within `TOLERANCE`."""
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b))


def _line(
    name: str, log_tokens: int | None, log_usd: float | None, bill: BilledTotals
) -> InvoiceLine:
    tokens, usd = bill.tokens.get(name), bill.usd.get(name)
    agrees = None
    if tokens is not None and log_tokens is not None:
        agrees = close(log_tokens, tokens)
    elif usd is not None and log_usd is not None:
        agrees = close(log_usd, usd)
    return InvoiceLine(
        token_class=name,
        log_tokens=log_tokens,
        bill_tokens=tokens,
        log_usd=log_usd,
        bill_usd=usd,
        agrees=agrees,
    )


def _says_anything(line: InvoiceLine) -> bool:
    return bool(line.log_tokens or line.bill_tokens or line.bill_usd)


def _findings(
    log: TokenClasses | None,
    bill: BilledTotals,
    lines: list[InvoiceLine],
    log_usd: float | None,
    usage: LoggedUsage,
) -> Iterator[str]:
    if log is None:
        yield "the log carries no usage, so there is nothing to hold the bill against"
        return
    if usage.with_usage < usage.requests:
        yield (
            f"{usage.requests - usage.with_usage:,} of {usage.requests:,} requests carry no usage "
            "and are missing from the log's side"
        )
    differing = [line for line in lines if line.agrees is False]
    common = _common_ratio(lines)
    if differing and common is not None:
        yield _period(common)
    else:
        yield from (_of_class(line, log, bill) for line in differing)
    silent = [line for line in lines if line.log_tokens and _is_silent(line)]
    if silent and len(silent) < len(lines):
        labels = ", ".join(LABELS[line.token_class] for line in silent)
        yield f"the bill says nothing of: {labels}"
    if not differing:
        yield from _of_price(lines, log_usd, bill)


def _common_ratio(lines: list[InvoiceLine]) -> float | None:
    """Return bill / log where it is the same in all classes, of which there are two at least."""
    ratios = [
        line.bill_tokens / line.log_tokens
        for line in lines
        if line.bill_tokens is not None and line.log_tokens
    ]
    if len(ratios) < 2 or not all(close(ratio, ratios[0]) for ratio in ratios):
        return None
    return ratios[0]


def _period(ratio: float) -> str:
    if ratio > 1:
        return (
            f"every class of the bill is {ratio:.2f} times the log's: the log misses "
            f"{100 * (1 - 1 / ratio):.0f} % of the traffic, or the bill covers a longer period or "
            "more keys"
        )
    return (
        f"every class of the bill is {ratio:.2f} times the log's: the log holds traffic of another "
        "period, account or key, or requests twice"
    )


def _of_class(line: InvoiceLine, log: TokenClasses, bill: BilledTotals) -> str:
    label = LABELS[line.token_class]
    if line.bill_tokens is None:
        return f"{label}: billed at {line.bill_usd:,.4f} USD, {line.log_usd:,.4f} by the log"
    text = f"{label}: the bill has {line.bill_tokens:,} tokens, the log {line.log_tokens:,}"
    reason = _reason(line, log, bill)
    return f"{text}; {reason}" if reason else text


def _reason(line: InvoiceLine, log: TokenClasses, bill: BilledTotals) -> str:
    name, tokens = line.token_class, bill.tokens
    if name in ("input", "cached_read"):
        if name == "input" and close(tokens["input"], log.input + log.cached_read):
            return "it counts cached tokens as input, or nothing was read at the reduced price"
        billed = tokens.get("input", 0) + tokens.get("cached_read", 0)
        if close(billed, log.input + log.cached_read):
            return (
                "with the other of input and cached read it agrees: reads that only one side "
                "took for cached"
            )
        if name == "input" and close(tokens["input"], log.input - log.cached_read):
            return "the log counts its cached tokens as input as well"
    if name.startswith("cache_write"):
        billed = tokens.get("cache_write_5m", 0) + tokens.get("cache_write_1h", 0)
        if close(billed, log.cache_write_5m + log.cache_write_1h):
            return "with the other lifetime it agrees: the log does not tell lifetimes apart"
        if not line.log_tokens:
            return "the log does not record writes"
    if name == "output" and (line.bill_tokens or 0) > (line.log_tokens or 0):
        return "reasoning that the log leaves out, or answers that were cut off, are billed too"
    return ""


def _is_silent(line: InvoiceLine) -> bool:
    return line.bill_tokens is None and line.bill_usd is None


def _of_price(lines: list[InvoiceLine], log_usd: float | None, bill: BilledTotals) -> Iterator[str]:
    if log_usd is None or bill.total_usd is None:
        return
    if bill.usd and close(sum(bill.usd.values()), bill.total_usd):
        # Every amount is of a class: the others are not in the bill, and not in the comparison.
        log_usd = sum(line.log_usd or 0.0 for line in lines if line.token_class in bill.usd)
    if not log_usd or close(log_usd, bill.total_usd):
        return
    ratio = bill.total_usd / log_usd
    known = next((why for factor, why in _RATIOS if close(ratio, factor)), None)
    held = any(line.agrees and line.bill_tokens is not None for line in lines)
    yield (
        f"{'the tokens agree and ' if held else ''}the bill is {ratio:.2f} times the list price: "
        f"{known or 'a discount, or prices that have changed'}"
    )
