"""Options that only a provider's cache has."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.core.errors import UsageError

if TYPE_CHECKING:
    from kvaudit.cost.reconcile import InvoiceCheck
    from kvaudit.replay.plan import Plan

HOSTED = "Hosted cache"
"""Panel of the help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedOptions:
    """How long a provider keeps entries, and what it billed."""

    ttl: Annotated[
        str | None,
        typer.Option(
            metavar="5m,1h,keepalive",
            help="Lifetimes to compare on this log; one alone is also the one replayed.",
            rich_help_panel=HOSTED,
        ),
    ] = None

    invoice: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A bill to hold against the log's usage: class,tokens,usd or a provider's export.",
            rich_help_panel=HOSTED,
        ),
    ] = None

    def invoice_check(self, plan: "Plan") -> "InvoiceCheck | None":
        """Read the bill, if there is one. Raises where it is unreadable, or nobody's."""
        from kvaudit.cost.pricing import price_list
        from kvaudit.cost.reconcile import InvoiceCheck
        from kvaudit.replay.engine import find_engine

        if self.invoice is None:
            return None
        if plan.engine is None or find_engine(plan.engine).provider is None:
            raise UsageError(
                "--invoice is a provider's bill: say whose with --engine, such as --engine openai"
            )
        return InvoiceCheck(self.invoice, price_list(plan.engine), plan.model)

    def lifetimes(self) -> tuple[str, ...]:
        """Return the lifetimes by name, each once, in the order they were given."""
        named = (part.strip() for part in (self.ttl or "").split(","))
        return tuple(dict.fromkeys(part for part in named if part))
