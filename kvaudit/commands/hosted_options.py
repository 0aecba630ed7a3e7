"""Options that only a provider's cache has."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.commands.options import CACHE
from kvaudit.core.errors import UsageError

if TYPE_CHECKING:
    from kvaudit.cost.reconcile import InvoiceCheck
    from kvaudit.replay.plan import Plan

HOSTED = "Hosted cache"
"""Panel of the help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedOptions:
    """How long entries are kept, and what a provider billed."""

    retain: Annotated[
        str | None,
        typer.Option(
            metavar="session:SECONDS|0-1024:80:30s,decode:10",
            help="Hint to a cache of your own: keep a session's blocks so long after each use; "
            "trtllm: retention priorities of ranges of tokens, each with how long it lasts.",
            rich_help_panel=CACHE,
        ),
    ] = None

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

    def hinted(self, plan: "Plan") -> "Plan":
        """Return the plan with the hint, if there is one."""
        if self.retain is None:
            return plan
        if not self.retain.startswith(("decode", *"0123456789")):
            return replace(plan, retain_s=self._session_s())
        from kvaudit.replay.models.trtllm_retention import parse_retention

        retention = parse_retention(self.retain)
        return replace(plan, trtllm=replace(plan.trtllm, retention=retention))

    def _session_s(self) -> float:
        assert self.retain is not None
        who, _, seconds = self.retain.partition(":")
        try:
            retain_s = float(seconds)
        except ValueError:
            retain_s = -1.0
        if who != "session" or not 0 <= retain_s < float("inf"):
            raise UsageError(
                f"--retain {self.retain}: write it as session:SECONDS, such as session:600"
            )
        return retain_s

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
