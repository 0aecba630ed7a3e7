"""Options that only a provider's cache has."""

from dataclasses import dataclass
from typing import Annotated

import typer

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

    def lifetimes(self) -> tuple[str, ...]:
        """Return the lifetimes by name, each once, in the order they were given."""
        named = (part.strip() for part in (self.ttl or "").split(","))
        return tuple(dict.fromkeys(part for part in named if part))
